package import MediaCore
package import SyncRendering

/// An output that stores audio up to a capacity and consumes it when the test says so. Callable from any thread.
package final class RecordingOutput: PacketOutput, PreopeningOutput, OwnerVolumeOutput, NowPlayingOutput,
    RecoveringOutput
{
    /// The stored calls and audio.
    package struct State: Sendable {
        package var samples: [Float] = []
        package var starts: [MediaTime] = []
        package var packets: [PacketBatch.Packet] = []
        package var queuedFrames = 0
        package var until: MediaTime?
        package var deliveries: [AudioDelivery] = []
        package var flushes = 0
        package var speeds: [Double] = []
        package var isFinished = false
        package var isClosed = false
        package var gain: Float = 1
        /// All gains that were set; nil for a restored one.
        package var gains: [Float?] = []
        /// The volume of the device's owner, 0…100.
        package var ownVolume: Double?
        /// False until it has reported that, which it does when it is prepared.
        package var isOwnVolumeKnown = true
        /// Thrown by `prepare`.
        package var refusal: OutputError?
        /// The output's own failure.
        package var failure: OutputError?
        /// Why it is silent while it recovers on its own.
        package var loss: OutputError?
        /// The number of calls of `open`.
        package var openings = 0
        /// The number of calls of `prepare`.
        package var preparations = 0
        /// The context of the last `prepare`.
        package var context: AudioOutputContext?
        /// The items that were to be displayed, and the number of them before the last `prepare`.
        package var nowPlaying: [NowPlaying?] = []
        package var shownAtPrepare = 0
        /// The timeline published last.
        package var timeline: TimebaseSnapshot?
    }

    package let name: String
    package let kind: AudioRouteKind
    package let latency: OutputLatency
    package let desiredDepth: Duration
    /// The state, for inspection and simulation of failures.
    package let state = Lock(State())
    private let capacity: Int
    private let format: PCMFormat
    private let passThroughCodec: String?

    /// Creates an output.
    ///
    /// - Parameter capacity: Maximum number of queued frames.
    package init(
        name: String = "recording", capacity: Int = 48_000, desiredDepth: Duration = .seconds(2),
        sampleRate: Int = 48_000,
        passThroughCodec: String? = nil, kind: AudioRouteKind = .virtual, shares: [LatencyShare] = []
    ) {
        latency = OutputLatency(startLead: .milliseconds(50), shares: shares)
        (self.name, self.kind) = (name, kind)
        self.capacity = capacity
        self.desiredDepth = desiredDepth
        self.passThroughCodec = passThroughCodec
        format = PCMFormat(sampleRate: sampleRate, layout: .stereo)
    }

    /// Consumes queued frames, which makes space for as many.
    package func play(frames: Int) { state.withLock { $0.queuedFrames = max(0, $0.queuedFrames - frames) } }

    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        !mustDecode && format.parameters.codec == passThroughCodec ? .passThrough(format) : .pcm(self.format)
    }

    package func open() { state.withLock { $0.openings += 1 } }
    package func setSpeed(_ speed: Double) { state.withLock { $0.speeds.append(speed) } }
    package var failure: OutputError? { state.withLock { $0.failure } }
    package var loss: OutputError? { state.withLock { $0.failure ?? $0.loss } }

    package func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        let refusal = state.withLock { state -> OutputError? in
            state.preparations += 1
            guard state.refusal == nil else { return state.refusal }
            state.deliveries.append(delivery)
            state.context = context
            state.shownAtPrepare = state.nowPlaying.count
            state.isOwnVolumeKnown = true
            return nil
        }
        if let refusal { throw refusal }
    }

    package func accept(_ block: PCMBlock, from offset: Int) -> Int {
        state.withLock { state in
            let count = min(block.frames - offset, capacity - state.queuedFrames)
            guard count > 0 else { return 0 }
            if offset == 0 { state.starts.append(block.start) }
            for index in offset..<(offset + count) {
                state.samples.append(block.samples[index * block.format.channels])
            }
            state.queuedFrames += count
            state.until =
                block.start + MediaTime(value: Int64(offset + count), timescale: Int32(block.format.sampleRate))
            return count
        }
    }

    package func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        state.withLock { state in
            state.packets += batch.packets[offset...]
            state.until = batch.packets.last.flatMap { packet in packet.presentationTime.map { $0 + packet.duration } }
            return batch.packets.count - offset
        }
    }

    package var acceptedUntil: MediaTime? { state.withLock { $0.until } }
    package func finish() { state.withLock { $0.isFinished = true } }
    package func flush() {
        state.withLock {
            $0.flushes += 1
            $0.queuedFrames = 0
            $0.until = nil
            $0.isFinished = false
        }
    }
    package func setNowPlaying(_ nowPlaying: NowPlaying?) { state.withLock { $0.nowPlaying.append(nowPlaying) } }
    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) { state.withLock { $0.timeline = snapshot } }
    package func setGain(_ gain: Float) {
        state.withLock {
            $0.gain = gain
            $0.gains.append(gain)
        }
    }
    package func restoreGain() { state.withLock { $0.gains.append(nil) } }
    package var ownVolume: Double? { state.withLock { $0.isOwnVolumeKnown ? $0.ownVolume : nil } }
    package var isOwnVolumeKnown: Bool { state.withLock { $0.isOwnVolumeKnown } }
    package func close() { state.withLock { $0.isClosed = true } }
}
