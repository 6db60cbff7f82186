package import MediaCore
package import SyncRendering

/// An output that writes each frame to its position on the timeline and counts overlaps and fractional positions.
///
/// It accepts audio up to `desiredDepth` ahead of the playhead and supports partial flushes.
///
/// `@unchecked Sendable`: used by one thread of a test.
package final class TapeOutput: PartialFlushing, @unchecked Sendable {
    package let name = "tape"
    package let kind = AudioRouteKind.virtual
    package let latency = OutputLatency(startLead: .milliseconds(50))
    package let desiredDepth: Duration
    package let format: PCMFormat
    /// The left channel by timeline frame, since the last flush.
    package private(set) var tape: [Int64: Float] = [:]
    /// The played audio before each flush.
    package private(set) var takes: [[Int64: Float]] = []
    /// The number of frames written to an occupied position.
    package private(set) var doubled = 0
    /// The largest distance of a block from a whole frame, in frames.
    package private(set) var furthest = 0.0
    /// The number of successful partial flushes.
    package private(set) var partialFlushes = 0
    /// Minimum lead of a partial flush before the playhead; nil: always refused.
    package var recallLead: Duration? = .milliseconds(100)
    private var context: AudioOutputContext?
    package private(set) var partialFlushResult: PartialFlushResult?
    package private(set) var acceptedUntil: MediaTime?

    package init(sampleRate: Int = 48_000, desiredDepth: Duration = .seconds(1)) {
        format = PCMFormat(sampleRate: sampleRate, layout: .stereo)
        self.desiredDepth = desiredDepth
    }

    private var rate: Int32 { Int32(format.sampleRate) }
    private var playhead: MediaTime { context?.timebase.currentTime ?? .zero }

    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .pcm(self.format) }

    package func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        self.context = context
    }

    package func accept(_ block: PCMBlock, from offset: Int) -> Int {
        let limit = playhead.advanced(by: desiredDepth)
        let room = max(0, Int(clamping: (limit - block.start).rescaled(to: rate)) - offset)
        let count = min(block.frames - offset, room)
        guard count > 0 else { return 0 }
        let first = block.start.rescaled(to: rate)
        furthest = max(furthest, abs((block.start - MediaTime(value: first, timescale: rate)).seconds * Double(rate)))
        // Per frame, and debug builds do not inline an iterator.
        let (samples, channels) = (block.samples, block.format.channels)
        var index = offset
        while index < offset + count {
            if tape.updateValue(samples[index * channels], forKey: first + Int64(index)) != nil { doubled += 1 }
            index += 1
        }
        acceptedUntil = block.start + MediaTime(value: Int64(offset + count), timescale: rate)
        return count
    }

    package func finish() {}

    package func flush() {
        let now = playhead.rescaled(to: rate)
        let heard = tape.filter { $0.key < now }
        if !heard.isEmpty { takes.append(heard) }
        tape.removeAll()
        acceptedUntil = nil
    }

    package var partialFlushLead: Duration { recallLead ?? .seconds(3600) }

    package func beginPartialFlush(from time: MediaTime) {
        guard let recallLead, (time - playhead).duration >= recallLead else {
            return partialFlushResult = .refused(leadNeeded: partialFlushLead)
        }
        partialFlushes += 1
        let first = time.rescaled(to: rate)
        tape = tape.filter { $0.key < first }
        acceptedUntil = acceptedUntil.map { min($0, time) }
        partialFlushResult = .flushed(from: acceptedUntil ?? time)
    }

    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
    package func setGain(_ gain: Float) {}
    package func close() {}

    /// The sound per position from the first to the last one; nil where it is blank or silent.
    package var content: [(sound: Int, frame: Int64)?] {
        guard let first = tape.keys.min(), let last = tape.keys.max() else { return [] }
        return (first...last).map { tape[$0].flatMap { FloatCodecs.meaning(of: $0) } }
    }

    /// The number of blank positions between the first and the last frame.
    package var blanks: Int {
        guard let first = tape.keys.min(), let last = tape.keys.max() else { return 0 }
        return Int(last - first) + 1 - tape.count
    }
}
