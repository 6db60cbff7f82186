internal import CFFmpeg
internal import MediaCore

/// Brings decoded frames of any format to interleaved floats of one rate and layout with libswresample.
///
/// Output frame n lies exactly `n / rate` after the first input frame: the filter's own delay is not in the times.
final class Resampler {
    let output: PCMFormat
    private var context: OpaquePointer?
    private var source: Source?
    private var isEmpty = true

    /// What the present setting was made for.
    private struct Source: Equatable {
        var sampleFormat: Int32
        var rate: Int32
        var mask: UInt64
        var channels: Int32
        var mix: DownmixLevels
    }

    init(output: PCMFormat) { self.output = output }

    deinit { swr_free(&context) }

    /// Whether frames like this one can be added without a new setting.
    func accepts(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool { context != nil && source == Self.source(frame) }

    private static func source(_ frame: UnsafeMutablePointer<AVFrame>) -> Source {
        Source(
            sampleFormat: frame.pointee.format, rate: frame.pointee.sample_rate,
            mask: AudioLayouts.mask(of: frame.pointee.ch_layout), channels: frame.pointee.ch_layout.nb_channels,
            mix: DownmixLevels(frame))
    }

    /// Sets up for frames like this one and forgets what is inside.
    func configure(for frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        let wanted = Self.source(frame)
        isEmpty = true
        if wanted == source, let context {
            swr_close(context)
            if swr_init(context) >= 0 { return }
        }
        source = nil
        swr_free(&context)
        var from = AVChannelLayout()
        var to = AVChannelLayout()
        defer {
            av_channel_layout_uninit(&from)
            av_channel_layout_uninit(&to)
        }
        if wanted.mask != 0 {
            av_channel_layout_from_mask(&from, wanted.mask)
        } else {
            av_channel_layout_default(&from, wanted.channels)
        }
        let mask = output.layout.mask
        if mask.nonzeroBitCount == output.channels {
            av_channel_layout_from_mask(&to, mask)
        } else {
            av_channel_layout_default(&to, Int32(clamping: output.channels))
        }
        let code = swr_alloc_set_opts2(
            &context, &to, AV_SAMPLE_FMT_FLT, Int32(clamping: output.sampleRate), &from,
            AVSampleFormat(wanted.sampleFormat), wanted.rate, 0, nil)
        guard code >= 0, let context else { throw Self.refusal(wanted) }
        wanted.mix.apply(to: UnsafeMutableRawPointer(context))
        guard swr_init(context) >= 0 else {
            swr_free(&self.context)
            throw Self.refusal(wanted)
        }
        source = wanted
    }

    private static func refusal(_ source: Source) -> MediaError {
        MediaError(
            .unsupported,
            "cannot mix \(source.channels) channels at \(source.rate) Hz for this output; choose another sound track")
    }

    /// Puts in frames `skip ..< skip + count` and takes out up to `room` frames; returns how many came out.
    func convert(
        _ frame: UnsafeMutablePointer<AVFrame>, skip: Int, count: Int, into target: UnsafeMutablePointer<Float>,
        room: Int
    ) -> Int {
        guard let planes = frame.pointee.extended_data else { return 0 }
        let format = AVSampleFormat(frame.pointee.format)
        let channels = Int(frame.pointee.ch_layout.nb_channels)
        let isPlanar = av_sample_fmt_is_planar(format) != 0
        let step = Int(av_get_bytes_per_sample(format)) * (isPlanar ? 1 : channels)
        return withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: 64) { sources in
            sources.initialize(repeating: nil)
            for plane in 0..<(isPlanar ? channels : 1) {
                sources[plane] = planes[plane].map { UnsafePointer($0 + skip * step) }
            }
            return run(sources.baseAddress, count: count, into: target, room: room)
        }
    }

    /// Takes out what is waiting inside.
    func pull(into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        if isEmpty { return 0 }
        // No input at all would mean the end to libswresample; no frames of an input that exists means "go on".
        return withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: 64) { sources in
            sources.initialize(repeating: UnsafeRawPointer(target).assumingMemoryBound(to: UInt8.self))
            return run(sources.baseAddress, count: 0, into: target, room: room)
        }
    }

    /// Takes out what is waiting inside and in the filter, at the end; 0 when nothing is left.
    func drain(into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        run(nil, count: 0, into: target, room: room)
    }

    /// Puts in silence of so many input frames.
    func insertSilence(_ frames: Int) {
        guard let context, frames > 0 else { return }
        swr_inject_silence(context, Int32(clamping: frames))
        isEmpty = false
    }

    private func run(
        _ sources: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, count: Int, into target: UnsafeMutablePointer<Float>,
        room: Int
    ) -> Int {
        guard let context, room > 0 else { return 0 }
        var plane: UnsafeMutablePointer<UInt8>? = UnsafeMutableRawPointer(target).assumingMemoryBound(to: UInt8.self)
        let got = swr_convert(context, &plane, Int32(clamping: room), sources, Int32(clamping: count))
        isEmpty = got < room
        return Int(max(0, got))
    }
}
