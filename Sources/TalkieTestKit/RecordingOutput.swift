public import MediaCore
public import SyncRendering

/// An output that keeps what it is handed, up to a capacity, and plays it when the test says.
public final class RecordingOutput: AudioOutput {
    public struct State: Sendable {
        public var samples: [Float] = []
        public var starts: [MediaTime] = []
        public var packets: [PacketBatch.Packet] = []
        public var queuedFrames = 0
        public var until: MediaTime?
        public var deliveries: [AudioDelivery] = []
        public var flushes = 0
        public var isFinished = false
        public var isClosed = false
        public var gain: Float = 1
        /// Every loudness that was set; nil where the owner's was restored.
        public var gains: [Float?] = []
        /// What the owner left, 0…100.
        public var ownVolume: Double?
        public var refusal: OutputError?
        /// What it was lent last.
        public var context: AudioOutputContext?
    }

    public let name: String
    public let kind = AudioRouteKind.virtual
    public let latency = OutputLatency(startLead: .milliseconds(50))
    public let desiredDepth: Duration
    public let state = Lock(State())
    private let capacity: Int
    private let format: PCMFormat
    private let passThroughCodec: String?

    public init(
        name: String = "recording", capacity: Int = 48_000, desiredDepth: Duration = .seconds(2),
        sampleRate: Int = 48_000,
        passThroughCodec: String? = nil
    ) {
        self.name = name
        self.capacity = capacity
        self.desiredDepth = desiredDepth
        self.passThroughCodec = passThroughCodec
        format = PCMFormat(sampleRate: sampleRate, layout: .stereo)
    }

    /// What was queued is heard: makes room for as many frames.
    public func play(frames: Int) { state.withLock { $0.queuedFrames = max(0, $0.queuedFrames - frames) } }

    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        !mustDecode && format.parameters.codec == passThroughCodec ? .passThrough(format) : .pcm(self.format)
    }

    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        let refusal = state.withLock { state -> OutputError? in
            guard state.refusal == nil else { return state.refusal }
            state.deliveries.append(delivery)
            state.context = context
            return nil
        }
        if let refusal { throw refusal }
    }

    public func accept(_ block: PCMBlock, from offset: Int) -> Int {
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

    public func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        state.withLock { state in
            state.packets += batch.packets[offset...]
            state.until = batch.packets.last.flatMap { packet in packet.presentationTime.map { $0 + packet.duration } }
            return batch.packets.count - offset
        }
    }

    public var acceptedUntil: MediaTime? { state.withLock { $0.until } }
    public func finish() { state.withLock { $0.isFinished = true } }
    public func flush() {
        state.withLock {
            $0.flushes += 1
            $0.queuedFrames = 0
            $0.until = nil
            $0.isFinished = false
        }
    }
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
    public func setGain(_ gain: Float) {
        state.withLock {
            $0.gain = gain
            $0.gains.append(gain)
        }
    }
    public func restoreGain() { state.withLock { $0.gains.append(nil) } }
    public var ownVolume: Double? { state.withLock { $0.ownVolume } }
    public func close() { state.withLock { $0.isClosed = true } }
}
