public import MediaCore
internal import SyncRendering

/// The sound of a track as decoded samples: what an asset reader's output with linear PCM settings is.
///
///     let sound = try DecodedAudioSource(film.reader(for: track), as: PCMFormat(sampleRate: 48_000, layout: .stereo))
///     while let buffer = try sound.read() { … }
///
/// One thread at a time reads and seeks; `cancel` may come from any thread. A jump lands on the frame, wherever packets begin.
public final class DecodedAudioSource: SampleSource {
    private struct State {
        var converter: any PCMConverter
        var isAtEnd = false
        /// What lies before this is there for the decoder to settle.
        var from: MediaTime?
        var isDiscontinuous = false
    }

    /// The track as it is stored; buffers are of `format`.
    public var track: Track { source.track }
    public let format: PCMFormat
    /// Frames in a buffer at most.
    public let bufferLength: Int
    private let source: any SampleSource
    // One thread at a time reads; the lock is there to have that checked rather than believed.
    private let state: Lock<State>

    /// - Parameters:
    ///   - source: of a track of sound.
    ///   - format: what is wanted; nil is the track's own rate and channels.
    ///   - bufferLength: frames in a buffer.
    /// - Throws: `unsupported` for pictures, and where no decoder fits.
    public init(_ source: any SampleSource, as format: PCMFormat? = nil, bufferLength: Int = 4096) throws(MediaError) {
        guard let stored = source.track.audioFormat else {
            throw MediaError(.unsupported, "track \(source.track.id) has no sound; choose one that has")
        }
        let format = format ?? PCMFormat(sampleRate: stored.sampleRate, layout: stored.layout)
        self.source = source
        self.format = format
        self.bufferLength = max(1, bufferLength)
        state = Lock(State(converter: try FilmAudioConverter(from: stored, to: format)))
    }

    /// The next decoded sound, or nil at the end of the track.
    public func read() throws(MediaError) -> SampleBuffer? {
        let block = PCMBlock(format: format, capacity: bufferLength)
        while true {
            if let buffer = try state.withLock({ (state) throws(MediaError) in try Self.receive(block, &state) }) {
                return buffer
            }
            if state.withLock({ $0.isAtEnd }) { return nil }
            // Outside the lock: a disk may keep it waiting, and `cancel` must get through.
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

    public func cancel() { source.cancel() }
}
