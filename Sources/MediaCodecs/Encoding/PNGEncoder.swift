internal import CFFmpeg
package import MediaCore

/// Encodes an image as PNG (ISO/IEC 15948) with libavcodec.
package enum PNGEncoder {
    /// Returns the contents of a PNG file.
    ///
    /// - Parameters:
    ///   - pixels: B, G, R, A per pixel, full range, rows without gaps. Alpha is dropped.
    ///   - size: No side exceeds 16384.
    /// - Throws: `unsupported` without an encoder, `limitExceeded` if size and pixels
    ///   disagree, `exhausted` without memory.
    package static func encode(bgra pixels: [UInt8], size: PixelSize) throws(MediaError) -> [UInt8] {
        guard (1...16384).contains(size.width), (1...16384).contains(size.height),
            pixels.count == size.width * size.height * 4
        else { throw MediaError(.limitExceeded, "this picture cannot be writtenbecause its size is out of range") }
        guard let codec = avcodec_find_encoder(AV_CODEC_ID_PNG) else {
            throw MediaError(.unsupported, "pictures cannot be written as PNG; install an FFmpeg with a PNG encoder")
        }
        var context = avcodec_alloc_context3(codec)
        defer { avcodec_free_context(&context) }
        var frame = av_frame_alloc()
        defer { av_frame_free(&frame) }
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let context, let frame, let packet else { throw CodecContext.noMemory }
        context.pointee.width = Int32(size.width)
        context.pointee.height = Int32(size.height)
        context.pointee.pix_fmt = AV_PIX_FMT_RGB24
        context.pointee.time_base = av_make_q(1, 25)
        frame.pointee.width = context.pointee.width
        frame.pointee.height = context.pointee.height
        frame.pointee.format = AV_PIX_FMT_RGB24.rawValue
        guard avcodec_open2(context, codec, nil) >= 0, av_frame_get_buffer(frame, 0) >= 0 else {
            throw CodecContext.noMemory
        }
        let stride = Int(frame.pointee.linesize.0)
        for row in 0..<size.height {
            let line = frame.pointee.data.0! + row * stride
            var source = row * size.width * 4
            for column in 0..<size.width {
                line[column * 3] = pixels[source + 2]
                line[column * 3 + 1] = pixels[source + 1]
                line[column * 3 + 2] = pixels[source]
                source += 4
            }
        }
        guard avcodec_send_frame(context, frame) >= 0, avcodec_send_frame(context, nil) >= 0,
            avcodec_receive_packet(context, packet) >= 0, let data = packet.pointee.data
        else { throw MediaError(.unsupported, "this picture cannot be written as PNG; try another position") }
        return Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
    }
}
