internal import MediaCore
internal import SyncRendering

/// An output without a device: it accepts a second of audio and drops it. It takes the place of all others while
/// something else uses them, since a group always has a member. Any thread.
final class SilentOutput: AudioOutput {
    let name = "none"
    let kind = AudioRouteKind.virtual
    let latency = OutputLatency(startLead: .zero)
    let desiredDepth = Duration.seconds(1)
    private let format = PCMFormat(sampleRate: 48_000, layout: .stereo)
    private let until = Lock<(until: MediaTime?, timebase: Timebase?)>((nil, nil))

    func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .pcm(self.format) }

    func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        until.withLock { $0 = (nil, context.timebase) }
    }

    func accept(_ block: PCMBlock, from offset: Int) -> Int {
        until.withLock { state in
            // Otherwise it would accept a film as fast as it can be read.
            if let timebase = state.timebase, let until = state.until {
                let playhead = timebase.snapshot.mediaTime(at: timebase.clock.now)
                guard (until - playhead).duration < desiredDepth else { return 0 }
            }
            state.until =
                block.start + MediaTime(value: Int64(block.frames), timescale: Int32(block.format.sampleRate))
            return block.frames - offset
        }
    }

    var acceptedUntil: MediaTime? { until.withLock { $0.until } }
    func finish() {}
    func flush() { until.withLock { $0.until = nil } }
    func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
    func setGain(_ gain: Float) {}
    func close() {}
}
