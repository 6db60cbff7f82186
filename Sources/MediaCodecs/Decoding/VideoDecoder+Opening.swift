internal import CFFmpeg
internal import Glibc
internal import MediaCore

extension VideoDecoder {
    /// Opens the decoder with hardware if possible, otherwise in software.
    static func open(
        _ format: VideoFormat, threads: Int?, _ acceleration: (any HardwareAcceleration)?
    ) throws(MediaError) -> (UnsafeMutablePointer<AVCodecContext>, (any HardwareAcceleration)?) {
        // The device has its own threads; frame threads would only add latency.
        // ignored: software decodes what a device does not; `DecoderReport` reports the decoder.
        if let acceleration, let context = try? openOnce(format, threads: 1, acceleration) {
            return (context, acceleration)
        }
        return (try open(format, threads: threads), nil)
    }

    /// Opens the software decoder.
    static func open(_ format: VideoFormat, threads: Int?) throws(MediaError)
        -> UnsafeMutablePointer<AVCodecContext>
    {
        let count = threads ?? defaultThreads(format.size)
        do throws(MediaError) {
            return try openOnce(format, threads: count)
        } catch {
            guard error.code == .exhausted, count > 1 else { throw error }
            // Out of threads: decode on the caller's thread.
            return try openOnce(format, threads: 1)
        }
    }

    private static func openOnce(
        _ format: VideoFormat, threads: Int, _ acceleration: (any HardwareAcceleration)? = nil
    ) throws(MediaError) -> UnsafeMutablePointer<AVCodecContext> {
        let context = try CodecContext.decoder(for: format.parameters, type: AVMEDIA_TYPE_VIDEO) { filled in
            filled.pointee.width = Int32(clamping: format.size.width)
            filled.pointee.height = Int32(clamping: format.size.height)
            filled.pointee.color_primaries = AVColorPrimaries(UInt32(format.color.primaries))
            filled.pointee.color_trc = AVColorTransferCharacteristic(UInt32(format.color.transfer))
            filled.pointee.color_space = AVColorSpace(UInt32(format.color.matrix))
            filled.pointee.color_range = format.color.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED
        }
        context.pointee.thread_count = Int32(clamping: threads)
        context.pointee.thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE
        if let acceleration, !acceleration.attach(to: context) {
            var refused: UnsafeMutablePointer<AVCodecContext>? = context
            avcodec_free_context(&refused)
            throw MediaError(.unsupported, "no device decodes \(format.parameters.codec)")
        }
        try CodecContext.open(context, named: format.parameters.codec)
        return context
    }

    /// Returns the thread count. Each frame thread delays the first frame by one; small frames need none.
    private static func defaultThreads(_ size: PixelSize) -> Int {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let area = size.width.multipliedReportingOverflow(by: size.height).partialValue
        if area <= 640 * 480 { return 1 }
        return min(cores, area > 2_100_000 ? 8 : 4)
    }
}
