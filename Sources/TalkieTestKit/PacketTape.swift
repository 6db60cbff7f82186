package import MediaCore
package import SyncRendering

/// An output that accepts packets of one codec unchanged and everything else in packets of 1024 frames.
///
/// Like a network speaker it plays packets without gaps or overlaps: an overlapping packet follows the previous
/// one and delays all later ones.
///
/// `@unchecked Sendable`: used by one thread of a test, except the context, which is guarded by its lock: the thread
/// that opens the output announces the timebase.
package final class PacketTape: PacketOutput, @unchecked Sendable {
    /// A played packet.
    package struct Slot {
        /// Frames on the timeline from media time 0.
        package var frames: Range<Int64>
        /// The frame of its own timestamp.
        package var due: Int64
        /// Whether the packet was passed through.
        package var isUntouched: Bool
        /// The contents as floats, as in test films (`FloatCodecs.meaning`).
        package var samples: [Float]
    }

    /// Frames of an encoded packet.
    package static let framesPerPacket = 1024
    /// Frames per second.
    package static let rate: Int32 = 48_000
    /// Returns a format of the codec that is passed through.
    ///
    /// - Parameter states: Whether it states its frames per packet; Matroska does not.
    package static func format(bitRate: Int64 = 0, codec: String = "aac", states: Bool = true) -> AudioFormat {
        AudioFormat(
            parameters: CodecParameters(
                codec: codec, bitRate: bitRate, framesPerPacket: states ? Int32(framesPerPacket) : 0),
            sampleRate: Int(rate), layout: .stereo)
    }

    package let name = "packets"
    package let kind = AudioRouteKind.bufferedSpeaker
    package let latency = OutputLatency(startLead: .milliseconds(50))
    package let desiredDepth: Duration
    private let codec: String
    /// The accepted packets since the last flush.
    package private(set) var slots: [Slot] = []
    /// The deliveries that were prepared.
    package private(set) var deliveries: [AudioDelivery] = []
    package private(set) var acceptedUntil: MediaTime?
    package private(set) var isFinished = false
    private let context = Lock<AudioOutputContext?>(nil)

    /// Creates an output that passes `codec` through.
    package init(codec: String = "aac", desiredDepth: Duration = .seconds(60)) {
        (self.codec, self.desiredDepth) = (codec, desiredDepth)
    }

    private var encoded: AudioDelivery {
        .encoded(
            FloatCodecs.format(sampleRate: Int(Self.rate)), from: PCMFormat(sampleRate: Int(Self.rate), layout: .stereo)
        )
    }

    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        guard !mustDecode, format.parameters.codec == codec else { return encoded }
        // Like a speaker's: the frames per packet are stated, also where the container does not.
        return .passThrough(codec == "aac" ? Self.format(bitRate: format.parameters.bitRate) : format)
    }

    package func continuation(
        of delivery: AudioDelivery, with format: AudioFormat, mustDecode: Bool
    ) -> AudioDelivery? {
        if case .passThrough = delivery { return self.delivery(for: format, mustDecode: mustDecode) }
        return encoded
    }

    package func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {
        self.context.withLock { $0 = context }
        deliveries.append(delivery)
    }

    package func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        isFinished = false
        let context = context.withLock { $0 }
        var taken = 0
        for packet in batch.packets.dropFirst(offset) {
            let time = packet.presentationTime ?? .zero
            if let context, (time - context.timebase.currentTime).duration > desiredDepth { break }
            let due = time.rescaled(to: Self.rate)
            // A real encoder's packets have any size.
            let samples = packet.count % 8 == 0 ? FloatCodecs.samples(of: packet, in: batch) : []
            let next = slots.last?.frames.upperBound ?? due
            // 144 frames, 3 ms, are rounding.
            let start = due - next > 144 ? due : next
            var isUntouched = false
            var count = Int64(samples.count)
            if case .passThrough(let format)? = deliveries.last {
                isUntouched = true
                if format.parameters.framesPerPacket > 0 { count = Int64(format.parameters.framesPerPacket) }
            }
            slots.append(Slot(frames: start..<start + count, due: due, isUntouched: isUntouched, samples: samples))
            acceptedUntil = time + packet.duration
            taken += 1
        }
        return taken
    }

    package func finish() { isFinished = true }
    package func flush() { (slots, acceptedUntil) = ([], nil) }
    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) { context.withLock { $0 }?.writable.raise() }
    package func setGain(_ gain: Float) {}
    package func close() {}

    // MARK: Played audio

    /// The largest distance of a packet from its timestamp in frames.
    package var maxError: Int64 { slots.map { abs($0.frames.lowerBound - $0.due) }.max() ?? 0 }

    /// The longest gap between packets in frames.
    package var longestHole: Int64 {
        zip(slots, slots.dropFirst()).map { $1.frames.lowerBound - $0.frames.upperBound }.max() ?? 0
    }

    /// Returns the sound per frame of a range; nil in gaps and silence.
    package func audio(in range: Range<Int64>) -> [(sound: Int, frame: Int64)?] {
        var heard = [(sound: Int, frame: Int64)?](repeating: nil, count: range.count)
        for slot in slots where slot.frames.overlaps(range) {
            for frame in slot.frames.clamped(to: range) {
                let index = Int(frame - slot.frames.lowerBound)
                guard index < slot.samples.count else { break }
                heard[Int(frame - range.lowerBound)] = FloatCodecs.meaning(of: slot.samples[index])
            }
        }
        return heard
    }
}
