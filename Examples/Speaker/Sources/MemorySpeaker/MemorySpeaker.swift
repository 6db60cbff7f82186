import MediaCore
import SyncRendering
import Synchronization

/// A speaker that plays into memory, 48,000 samples per second. A thread, or a test, calls `play(until:)`.
public final class MemorySpeaker: PartialFlushing {
    public let name = "Memory"
    public let kind = AudioRouteKind(rawValue: "memory", isRemote: false)
    public let latency = OutputLatency(startLead: .milliseconds(50))
    public let desiredDepth = Duration.seconds(1)
    public let partialFlushLead = Duration.milliseconds(100)
    private let format = PCMFormat(sampleRate: 48_000, layout: .stereo)
    private let state = Mutex(State())

    /// One channel of an accepted block.
    private struct Block {
        var start: MediaTime
        var end: MediaTime
        var mediaPerSample: Double
        var samples: [Float]
    }

    private struct State {
        var context: AudioOutputContext?
        var blocks: [Block] = []
        var acceptedUntil: MediaTime?
        var flushResult: PartialFlushResult?
        var gain: Float = 1
        /// The instant of the first sample, and all samples that were played.
        var start: HostInstant?
        var played: [Float] = []

        /// Returns the accepted sample of a media time; silence if there is none.
        func sample(at time: MediaTime) -> Float {
            guard let block = blocks.first(where: { $0.start <= time && time < $0.end }) else { return 0 }
            let index = Int(((time - block.start).seconds / block.mediaPerSample).rounded())
            return block.samples[min(index, block.samples.count - 1)] * gain
        }
    }

    public init() {}

    /// The samples that were played, and the instant of the first one.
    public var recording: (samples: [Float], start: HostInstant?) { state.withLock { ($0.played, $0.start) } }

    /// Plays all samples that are due until an instant.
    public func play(until end: HostInstant) {
        let writable = state.withLock { state -> Signal? in
            guard let timebase = state.context?.timebase else { return nil }
            let (start, snapshot) = (state.start ?? end, timebase.snapshot)
            state.start = start
            while true {
                let instant = start.advanced(by: .nanoseconds(Int64(state.played.count) * 1_000_000_000 / 48_000))
                guard instant < end else { break }
                let segment = snapshot.segment(at: instant)
                state.played.append(segment.rate > 0 ? state.sample(at: segment.mediaTime(at: instant)) : 0)
            }
            state.blocks.removeAll { $0.end <= snapshot.mediaTime(at: end) }
            return state.context?.writable
        }
        writable?.raise()
    }

    // MARK: AudioOutput

    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .pcm(self.format) }

    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {
        state.withLock { $0.context = context }
    }

    public func accept(_ block: PCMBlock, from offset: Int) -> Int {
        state.withLock { state in
            guard let timebase = state.context?.timebase,
                (block.start - timebase.currentTime).duration < desiredDepth
            else { return 0 }
            let samples = (0..<block.frames).map { block.samples[$0 * block.format.channels] }
            let mediaPerSample = block.speed / Double(block.format.sampleRate)
            state.blocks.append(
                Block(start: block.start, end: block.end, mediaPerSample: mediaPerSample, samples: samples))
            state.acceptedUntil = block.end
            return block.frames - offset
        }
    }

    public var acceptedUntil: MediaTime? { state.withLock { $0.acceptedUntil } }
    public func finish() {}
    public func flush() { state.withLock { ($0.blocks, $0.acceptedUntil) = ([], nil) } }
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
    public func setGain(_ gain: Float) { state.withLock { $0.gain = gain } }
    public func close() { state.withLock { ($0.context, $0.blocks, $0.acceptedUntil) = (nil, [], nil) } }

    // MARK: PartialFlushing

    public func beginPartialFlush(from time: MediaTime) {
        state.withLock { state in
            guard let timebase = state.context?.timebase,
                (time - timebase.currentTime).duration >= partialFlushLead
            else { return state.flushResult = .refused(leadNeeded: partialFlushLead) }
            state.blocks.removeAll { $0.start >= time }
            if let last = state.blocks.indices.last { state.blocks[last].end = min(state.blocks[last].end, time) }
            state.acceptedUntil = state.blocks.last?.end
            state.flushResult = .flushed(from: state.acceptedUntil ?? time)
        }
    }

    public var partialFlushResult: PartialFlushResult? { state.withLock { $0.flushResult } }
}
