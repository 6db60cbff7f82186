internal import CFFmpeg
internal import MediaCore

/// Converts decoded frames of any format to interleaved floats of one rate and layout, with libswresample.
///
/// The first stage converts format and layout without delay. The second changes the rate and is omitted if it is the
/// same. Audio of one rate thus passes the filter continuously, whatever its formats. Output frame n is exactly
/// `n / rate` after the first input frame: times do not include the filter delay. Owned and called by one thread.
final class Resampler {
    let output: PCMFormat
    /// Converts formats and channels.
    private var mixer: OpaquePointer?
    /// Converts the rate; nil if input and output have the same.
    private var filter: OpaquePointer?
    private var source: Source?
    private var isEmpty = true
    /// Gain in dB of the centre channel for the audio that follows.
    var dialogueLift = 0.0
    /// Mixed audio for the filter.
    private var mixed: UnsafeMutablePointer<Float>
    private var mixedCapacity: Int
    /// The last frames sent to the filter, and their number.
    private let recent: UnsafeMutablePointer<Float>
    private var recentCount = 0
    private var prediction = LinearPrediction()

    /// The configuration of the mixer.
    private struct Source: Equatable {
        var sampleFormat: Int32
        var rate: Int32
        var mask: UInt64
        var channels: Int32
        var mix: DownmixLevels
    }

    init(output: PCMFormat) {
        self.output = output
        mixedCapacity = 2048
        mixed = .allocate(capacity: mixedCapacity * output.channels)
        recent = .allocate(capacity: LinearPrediction.window * output.channels)
        recent.initialize(repeating: 0, count: LinearPrediction.window * output.channels)
    }

    deinit {
        recent.deallocate()
        swr_free(&mixer)
        swr_free(&filter)
        mixed.deallocate()
    }

    /// Whether frames like this one can continue without a seam; `adapt` may still be needed.
    func accepts(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        source?.rate == frame.pointee.sample_rate
    }

    private func source(_ frame: UnsafeMutablePointer<AVFrame>) -> Source {
        var mix = DownmixLevels(frame)
        mix.dialogueLift = dialogueLift
        return Source(
            sampleFormat: frame.pointee.format, rate: frame.pointee.sample_rate,
            mask: AudioLayouts.mask(of: frame.pointee.ch_layout), channels: frame.pointee.ch_layout.nb_channels,
            mix: mix)
    }

    /// Configures for frames like this one and discards buffered audio.
    ///
    /// - Throws: `unsupported`; the next call configures again.
    func configure(for frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        isEmpty = true
        recentCount = 0
        let rate = frame.pointee.sample_rate
        if source?.rate != rate {
            swr_free(&filter)
            source = nil
        }
        // The mixer keeps what did not fit of a long packet; that must be discarded too.
        if let mixer, swr_get_delay(mixer, Int64(rate)) > 0 { source = nil }
        try adapt(to: frame)
        guard rate != output.sampleRate else { return }
        if let filter {
            swr_close(filter)
            if swr_init(filter) >= 0 { return }
        }
        swr_free(&filter)
        var (from, to) = (outputLayout, outputLayout)
        defer {
            av_channel_layout_uninit(&from)
            av_channel_layout_uninit(&to)
        }
        let code = swr_alloc_set_opts2(
            &filter, &to, AV_SAMPLE_FMT_FLT, Int32(clamping: output.sampleRate), &from, AV_SAMPLE_FMT_FLT, rate, 0, nil)
        guard code >= 0, let filter, swr_init(filter) >= 0 else {
            swr_free(&self.filter)
            source = nil
            throw Self.refusal(source(frame))
        }
    }

    /// Configures for another format or layout of the same rate; the filter keeps its contents.
    func adapt(to frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        let wanted = source(frame)
        if wanted == source { return }
        source = nil
        swr_free(&mixer)
        var from = AVChannelLayout()
        var to = outputLayout
        defer {
            av_channel_layout_uninit(&from)
            av_channel_layout_uninit(&to)
        }
        if wanted.mask != 0 {
            av_channel_layout_from_mask(&from, wanted.mask)
        } else {
            av_channel_layout_default(&from, wanted.channels)
        }
        let code = swr_alloc_set_opts2(
            &mixer, &to, AV_SAMPLE_FMT_FLT, wanted.rate, &from, AVSampleFormat(wanted.sampleFormat), wanted.rate, 0, nil
        )
        guard code >= 0, let mixer else { throw Self.refusal(wanted) }
        wanted.mix.apply(to: mixer, from: &from, to: &to)
        guard swr_init(mixer) >= 0 else {
            swr_free(&self.mixer)
            throw Self.refusal(wanted)
        }
        source = wanted
    }

    /// The caller uninitialises the layout.
    private var outputLayout: AVChannelLayout {
        var layout = AVChannelLayout()
        let mask = output.layout.mask
        if mask.nonzeroBitCount == output.channels {
            av_channel_layout_from_mask(&layout, mask)
        } else {
            av_channel_layout_default(&layout, Int32(clamping: output.channels))
        }
        return layout
    }

    private static func refusal(_ source: Source) -> MediaError {
        MediaError(
            .unsupported,
            "cannot mix \(source.channels) channels at \(source.rate) Hz for this output; choose another sound track")
    }

    /// Sends frames `skip ..< skip + count` and receives up to `room` frames. Returns the number received.
    func convert(
        _ frame: UnsafeMutablePointer<AVFrame>, skip: Int, count: Int, into target: UnsafeMutablePointer<Float>,
        room: Int
    ) -> Int {
        withPlanes(of: frame, skip: skip) { sources in
            guard filter != nil else {
                return run(mixer, sources, count: count, into: target, room: room)
            }
            reserve(count)
            let got = Self.convert(mixer, sources, count: count, into: mixed, room: count)
            remember(got)
            return pushMixed(got, into: target, room: room)
        }
    }

    /// Stores the last frames of `mixed` for an extrapolation at the end.
    private func remember(_ count: Int) {
        let (window, channels) = (LinearPrediction.window, output.channels)
        let fresh = min(count, window)
        let kept = min(recentCount, window - fresh)
        recent.update(from: recent + (recentCount - kept) * channels, count: kept * channels)
        (recent + kept * channels).update(from: mixed + (count - fresh) * channels, count: fresh * channels)
        recentCount = kept + fresh
    }

    // MARK: Boundaries between rates

    /// Input frames of the filter's look-ahead and look-back plus a margin (libswresample's `filter_size` is
    /// 32 at the lower of both rates).
    private var reach: Int {
        let input = Double(source?.rate ?? 0)
        return Int(clamping: (32 * max(1, input / Double(output.sampleRate))).rounded(.up), in: 32...1 << 24) + 16
    }

    /// Ends the audio before a change of rate: the filter gets an extrapolation. `pull` then returns the rest.
    func extendEnd() {
        guard filter != nil, recentCount > 0 else { return }
        let count = reach
        reserve(count)
        prediction.extend(
            recent, frames: recentCount, channels: output.channels, isReversed: false, by: count, into: mixed)
        _ = pushMixed(count, into: mixed, room: 0)
        isEmpty = false
    }

    /// Starts the audio after a change of rate: the filter gets an extrapolation as lead-in.
    ///
    /// The first output frame is `offset` input frames after the first input frame.
    func extendStart(_ frame: UnsafeMutablePointer<AVFrame>, skip: Int, count: Int, offset: Double) {
        guard let filter, let source, count > 0 else { return }
        let (input, rate) = (Int(source.rate), output.sampleRate)
        let step = Double(input) / Double(rate)
        // Output frames fall on input frames in a periodic pattern; the length of the lead-in selects its phase.
        var (a, b) = (input, rate)
        while b != 0 { (a, b) = (b, a % b) }
        let candidates = min(rate / max(1, a), Self.maxExtraLeadIn)
        var (lead, drop, error) = (reach, 0, Double.infinity)
        for candidate in reach..<(reach + max(1, candidates)) {
            let frames = ((Double(candidate) + offset) / step).rounded()
            let away = abs(frames * step - Double(candidate) - offset)
            if away < error - 1e-9 { (lead, drop, error) = (candidate, Int(frames), away) }
        }
        let seen = min(count, LinearPrediction.window)
        reserve(seen + lead)
        guard mix(frame, skip: skip, count: seen) == seen, drop >= 0 else { return }
        let target = mixed + seen * output.channels
        prediction.extend(mixed, frames: seen, channels: output.channels, isReversed: true, by: lead, into: target)
        swr_drop_output(filter, Int32(clamping: drop))
        var plane: UnsafePointer<UInt8>? = UnsafeRawPointer(target).assumingMemoryBound(to: UInt8.self)
        swr_convert(filter, nil, 0, &plane, Int32(clamping: lead))
    }

    /// Maximum additional length of the lead-in, in input frames.
    private static let maxExtraLeadIn = 640

    /// Mixes frames into `mixed`. Returns their number.
    private func mix(_ frame: UnsafeMutablePointer<AVFrame>, skip: Int, count: Int) -> Int {
        withPlanes(of: frame, skip: skip) { Self.convert(mixer, $0, count: count, into: mixed, room: count) }
    }

    private func withPlanes(
        of frame: UnsafeMutablePointer<AVFrame>, skip: Int,
        _ body: (UnsafeMutablePointer<UnsafePointer<UInt8>?>?) -> Int
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
            return body(sources.baseAddress)
        }
    }

    private func pushMixed(_ count: Int, into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        var source: UnsafePointer<UInt8>? = UnsafeRawPointer(mixed).assumingMemoryBound(to: UInt8.self)
        return run(filter, &source, count: count, into: target, room: room)
    }

    private func reserve(_ frames: Int) {
        guard frames > mixedCapacity else { return }
        mixed.deallocate()
        mixedCapacity = frames
        mixed = .allocate(capacity: frames * output.channels)
    }

    /// Returns buffered audio: the number of frames written to `target`.
    func pull(into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        if isEmpty { return 0 }
        // A null input would end the stream in libswresample; an input of zero frames does not.
        return withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: 64) { sources in
            sources.initialize(repeating: UnsafeRawPointer(target).assumingMemoryBound(to: UInt8.self))
            return run(filter ?? mixer, sources.baseAddress, count: 0, into: target, room: room)
        }
    }

    /// Drains the filter at the end. Returns 0 when nothing is left.
    func drain(into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        run(filter ?? mixer, nil, count: 0, into: target, room: room)
    }

    /// Inserts silence of `frames` input frames.
    func insertSilence(_ frames: Int) {
        guard let context = filter ?? mixer, frames > 0 else { return }
        swr_inject_silence(context, Int32(clamping: frames))
        recentCount = 0
        isEmpty = false
    }

    private func run(
        _ context: OpaquePointer?, _ sources: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, count: Int,
        into target: UnsafeMutablePointer<Float>, room: Int
    ) -> Int {
        let got = Self.convert(context, sources, count: count, into: target, room: room)
        isEmpty = got < room
        return got
    }

    private static func convert(
        _ context: OpaquePointer?, _ sources: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, count: Int,
        into target: UnsafeMutablePointer<Float>, room: Int
    ) -> Int {
        guard let context, room > 0 || count > 0 else { return 0 }
        var plane: UnsafeMutablePointer<UInt8>? = UnsafeMutableRawPointer(target).assumingMemoryBound(to: UInt8.self)
        return Int(max(0, swr_convert(context, &plane, Int32(clamping: room), sources, Int32(clamping: count))))
    }
}
