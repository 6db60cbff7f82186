internal import CFFmpeg
internal import MediaCore

/// Encodes one frame as an image file with libavcodec.
enum ImageEncoder {
    /// Returns the contents of the file.
    ///
    /// - Parameters:
    ///   - name: The name of the format for messages.
    ///   - configure: Sets further properties of the encoder and of the frame.
    ///   - draw: Writes the pixels of the frame.
    /// - Throws: `unsupported` without an encoder, `exhausted` without memory.
    static func encode(
        _ codec: AVCodecID, _ name: String, size: PixelSize, format: AVPixelFormat,
        configure: (UnsafeMutablePointer<AVCodecContext>, UnsafeMutablePointer<AVFrame>) -> Void = { _, _ in },
        draw: (UnsafeMutablePointer<AVFrame>) -> Void
    ) throws(MediaError) -> [UInt8] {
        guard let encoder = avcodec_find_encoder(codec) else {
            throw MediaError(
                .unsupported, "images cannot be written as \(name); install an FFmpeg with a \(name) encoder")
        }
        var context = avcodec_alloc_context3(encoder)
        defer { avcodec_free_context(&context) }
        var frame = av_frame_alloc()
        defer { av_frame_free(&frame) }
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let context, let frame, let packet else { throw CodecContext.noMemory }
        (context.pointee.width, context.pointee.height) = (Int32(size.width), Int32(size.height))
        context.pointee.pix_fmt = format
        context.pointee.time_base = av_make_q(1, 25)
        (frame.pointee.width, frame.pointee.height) = (context.pointee.width, context.pointee.height)
        frame.pointee.format = format.rawValue
        // The encoder's threads would outlast the only frame.
        context.pointee.thread_count = 1
        configure(context, frame)
        guard avcodec_open2(context, encoder, nil) >= 0, av_frame_get_buffer(frame, 0) >= 0 else {
            throw CodecContext.noMemory
        }
        draw(frame)
        guard avcodec_send_frame(context, frame) >= 0, avcodec_send_frame(context, nil) >= 0,
            avcodec_receive_packet(context, packet) >= 0, let data = packet.pointee.data
        else { throw MediaError(.unsupported, "this image cannot be written as \(name)") }
        return Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
    }
}
