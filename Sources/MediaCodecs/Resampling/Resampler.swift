internal import CFFmpeg
internal import MediaCore

/// Brings decoded frames of any format to interleaved floats of one rate and layout with libswresample.
///
/// Two stages: the first makes floats of the output's layout, frame by frame, and holds nothing back; the second changes the
/// rate, and is left out where there is nothing to change. Pieces of one rate thus pass the filter as one, whatever their
/// formats. Output frame n lies exactly `n / rate` after the first input frame: the filter's own delay is not in the times.
final class Resampler {
    let output: PCMFormat
    /// Formats and channels.
    private var mixer: OpaquePointer?
    /// Rates; nil where input and output have the same.
    private var filter: OpaquePointer?
    private var source: Source?
    private var isEmpty = true
    /// Decibels by which the centre channel of what follows is mixed louder.
    var dialogueLift = 0.0
    /// Mixed sound on its way to the filter.
    private var mixed: UnsafeMutablePointer<Float>
    private var mixedCapacity: Int
    /// The last frames that went into the filter, and how many are known.
    private let recent: UnsafeMutablePointer<Float>
    private var recentCount = 0
    private var prediction = LinearPrediction()

    /// What the mixer was made for.
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

    /// Whether frames like this one can follow on without an edge; it may still need `adapt`.
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

    /// Sets up for frames like this one and forgets what is inside.
    func configure(for frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        isEmpty = true
        recentCount = 0
        let rate = frame.pointee.sample_rate
        if source?.rate != rate {
            swr_free(&filter)
            source = nil
        }
        // Of a long packet the mixer keeps what there was no room for; that belongs to what is forgotten.
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

    /// Gets ready for another format or layout of the same rate; what is in the filter stays.
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

    /// The caller uninitialises it.
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

    /// Puts in frames `skip ..< skip + count` and takes out up to `room` frames; returns how many came out.
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

    /// Keeps the last frames of `mixed`, for when nothing follows that the filter could see.
    private func remember(_ count: Int) {
        let (window, channels) = (LinearPrediction.window, output.channels)
        let fresh = min(count, window)
        let kept = min(recentCount, window - fresh)
        recent.update(from: recent + (recentCount - kept) * channels, count: kept * channels)
        (recent + kept * channels).update(from: mixed + (count - fresh) * channels, count: fresh * channels)
        recentCount = kept + fresh
    }

    // MARK: Joints of rates

    /// Input frames that the filter looks ahead and back, and some more (libswresample's `filter_size` is 32 at the lower of
    /// both rates).
    private var reach: Int {
        let input = Double(source?.rate ?? 0)
        return Int(clamping: (32 * max(1, input / Double(output.sampleRate))).rounded(.up), in: 32...1 << 24) + 16
    }

    /// A piece ends here and another of a different rate follows: the filter sees the sound go on as it was. What belongs to
    /// the piece then comes out of `pull`.
    func extendEnd() {
        guard filter != nil, recentCount > 0 else { return }
        let count = reach
        reserve(count)
        prediction.extend(
            recent, frames: recentCount, channels: output.channels, isReversed: false, by: count, into: mixed)
        _ = pushMixed(count, into: mixed, room: 0)
        isEmpty = false
    }

    /// The first frames of a piece that follows another of a different rate: the filter sees the sound as it would have been
    /// before, and the first output frame lies `offset` input frames behind the piece's first.
    func extendStart(_ frame: UnsafeMutablePointer<AVFrame>, skip: Int, count: Int, offset: Double) {
        guard let filter, let source, count > 0 else { return }
        let (input, rate) = (Int(source.rate), output.sampleRate)
        let step = Double(input) / Double(rate)
        // Output frames fall on a piece's frames in a pattern; the length of the lead-in chooses where it begins.
        var (a, b) = (input, rate)
        while b != 0 { (a, b) = (b, a % b) }
        let places = min(rate / max(1, a), Self.mostPlaces)
        var (lead, drop, error) = (reach, 0, Double.infinity)
        for candidate in reach..<(reach + max(1, places)) {
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

    /// A lead-in is at most this much longer than it need be.
    private static let mostPlaces = 640

    /// Mixes frames into `mixed`.
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

    /// Takes out what is waiting inside.
    func pull(into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        if isEmpty { return 0 }
        // No input at all would mean the end to libswresample; no frames of an input that exists means "go on".
        return withUnsafeTemporaryAllocation(of: UnsafePointer<UInt8>?.self, capacity: 64) { sources in
            sources.initialize(repeating: UnsafeRawPointer(target).assumingMemoryBound(to: UInt8.self))
            return run(filter ?? mixer, sources.baseAddress, count: 0, into: target, room: room)
        }
    }

    /// Takes out what is waiting inside and in the filter, at the end; 0 when nothing is left.
    func drain(into target: UnsafeMutablePointer<Float>, room: Int) -> Int {
        run(filter ?? mixer, nil, count: 0, into: target, room: room)
    }

    /// Puts in silence of so many input frames.
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
