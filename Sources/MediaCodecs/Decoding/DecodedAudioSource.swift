public import MediaCore
internal import SyncRendering

/// Reads an audio track as decoded samples, like an asset reader's track output with linear PCM settings.
///
///     let sound = try DecodedAudioSource(film.reader(for: track), as: PCMFormat(sampleRate: 48_000, layout: .stereo))
///     while let buffer = try sound.read() { … }
///
/// One thread at a time reads and seeks; `cancel` may be called from any thread. Seeks are exact to the frame.
public final class DecodedAudioSource: SampleSource {
    private struct State {
        var converter: any PCMConverter
        var isAtEnd = false
        /// Audio before this time is decoded for convergence only and dropped.
        var from: MediaTime?
        var isDiscontinuous = false
    }

    /// The source track as stored; buffers are in `format`.
    public var track: Track { source.track }
    /// The format of the returned buffers.
    public let format: PCMFormat
    /// Maximum number of frames per buffer.
    package let bufferLength: Int
    private let source: any SampleSource
    // Only one thread reads at a time; with the lock the compiler verifies this.
    private let state: Lock<State>

    /// Opens a decoder for an audio track.
    ///
    /// - Parameters:
    ///   - source: The packets of an audio track.
    ///   - format: The output format; nil: the track's rate and channels.
    ///   - bufferLength: The maximum number of frames per buffer.
    /// - Throws: `unsupported` if the track is not audio or there is no decoder.
    public init(_ source: any SampleSource, as format: PCMFormat? = nil, bufferLength: Int = 4096) throws(MediaError) {
        guard let stored = source.track.audioFormat else {
            throw MediaError(.unsupported, "track \(source.track.id) is not an audio track; choose another one")
        }
        let format = format ?? PCMFormat(sampleRate: stored.sampleRate, layout: stored.layout)
        self.source = source
        self.format = format
        self.bufferLength = max(1, bufferLength)
        state = Lock(State(converter: try FilmAudioConverter(from: stored, to: format)))
    }

    /// Returns the next buffer, or nil at the end of the track. May block on the source.
    ///
    /// - Throws: Errors of the source and the decoder.
    public func read() throws(MediaError) -> SampleBuffer? {
        let block = PCMBlock(format: format, capacity: bufferLength)
        while true {
            if let buffer = try state.withLock({ (state) throws(MediaError) in try Self.receive(block, &state) }) {
                return buffer
            }
            if state.withLock({ $0.isAtEnd }) { return nil }
            // Outside the lock: reading can block, and `cancel` must not wait for it.
            let packets = try source.read()
            try state.withLock { (state) throws(MediaError) in
                if let packets {
                    try state.converter.send(packets)
                } else {
                    state.isAtEnd = true
                    state.converter.finish()
                }
            }
        }
    }

    private static func receive(_ block: PCMBlock, _ state: inout State) throws(MediaError) -> SampleBuffer? {
        while try state.converter.receive(into: block) {
            if let from = state.from { block.dropFirst(block.frames(before: from)) }
            guard block.frames > 0 else { continue }
            state.from = nil
            defer { state.isDiscontinuous = false }
            return SampleBuffer(
                payload: .pcm(block), presentationTime: block.start, duration: block.end - block.start,
                flags: state.isDiscontinuous ? [.sync, .discontinuity] : .sync)
        }
        return nil
    }

    /// Seeks the source and resets the decoder. Returns the time of the next buffer, or nil if unknown.
    ///
    /// In mode `exact` audio before `time` is decoded and dropped.
    @discardableResult
    public func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        let landed = try source.seek(to: time, mode: mode)
        state.withLock { state in
            state.converter.reset()
            (state.isAtEnd, state.isDiscontinuous) = (false, true)
            state.from = mode == .exact ? time : nil
        }
        return mode == .exact ? time : landed
    }

    /// Cancels a blocked read of the source. Callable from any thread.
    public func cancel() { source.cancel() }
}
