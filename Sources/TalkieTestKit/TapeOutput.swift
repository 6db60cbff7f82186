package import MediaCore
package import SyncRendering

/// An output that writes each frame to its position on the timeline and counts overlaps and fractional positions.
///
/// It accepts audio up to `desiredDepth` ahead of the playhead and supports partial flushes.
///
/// `@unchecked Sendable`: used by one thread of a test.
package final class TapeOutput: StartReportingOutput, RecoveringOutput, PartialFlushing, @unchecked Sendable {
    package let name: String
    package let kind = AudioRouteKind.virtual
    package let latency = OutputLatency(startLead: .milliseconds(50))
    package let desiredDepth: Duration
    package let format: PCMFormat
    /// The left channel since the last flush.
    package private(set) var tape = Tape()
    /// The played audio before each flush.
    package private(set) var takes: [Tape] = []
    /// The number of frames written to an occupied position.
    package private(set) var doubled = 0
    /// The largest distance of a block from a whole frame, in frames.
    package private(set) var maxError = 0.0
    /// The number of successful partial flushes.
    package private(set) var partialFlushes = 0
    /// Minimum lead of a partial flush before the playhead; nil: always refused.
    package var recallLead: Duration? = .milliseconds(100)
    /// The context of the last `prepare`.
    package private(set) var context: AudioOutputContext?
    /// Whether the output accepts nothing, as a stalled device.
    package var isStalled = false
    /// Thrown by `prepare`.
    package var refusal: OutputError?
    package var failure: OutputError?
    /// Why the output is silent while it recovers without another `prepare`; nil: as `failure`.
    package var ownLoss: OutputError?
    /// Until when a start waits for the output's clock.
    package var clockIsReady: HostInstant?
    /// How often it was opened and closed.
    package private(set) var openings = 0
    package private(set) var closings = 0
    package private(set) var flushes = 0
    /// Called in each data call.
    package var onCall: () -> Void = {}
    private var isOpen = false
    package private(set) var partialFlushResult: PartialFlushResult?
    package private(set) var acceptedUntil: MediaTime?

    package init(name: String = "tape", sampleRate: Int = 48_000, desiredDepth: Duration = .seconds(1)) {
        self.name = name
        format = PCMFormat(sampleRate: sampleRate, layout: .stereo)
        self.desiredDepth = desiredDepth
    }

    private var rate: Int32 { Int32(format.sampleRate) }
    private var playhead: MediaTime { context?.timebase.currentTime ?? .zero }

    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .pcm(self.format) }

    package var loss: OutputError? { ownLoss ?? failure }

    package var isReadyToStart: Bool { true }

    package var wait: OutputWait? {
        guard let clockIsReady, let context, context.timebase.clock.now < clockIsReady else { return nil }
        return OutputWait(.clock, of: name, remaining: clockIsReady - context.timebase.clock.now)
    }

    package func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        onCall()
        if let refusal { throw refusal }
        self.context = context
        guard !isOpen else { return }
        if openings > 0 { flush() }
        openings += 1
        isOpen = true
    }

    package func accept(_ block: PCMBlock, from offset: Int) -> Int {
        onCall()
        guard !isStalled else { return 0 }
        let limit = playhead.advanced(by: desiredDepth)
        let room = max(0, Int(clamping: (limit - block.start).rescaled(to: rate)) - offset)
        let count = min(block.frames - offset, room)
        guard count > 0 else { return 0 }
        let first = block.start.rescaled(to: rate)
        maxError = max(maxError, abs((block.start - MediaTime(value: first, timescale: rate)).seconds * Double(rate)))
        let channels = block.format.channels
        doubled += tape.write(
            block.samples + offset * channels, channels: channels, count: count, at: first + Int64(offset))
        acceptedUntil = block.start + MediaTime(value: Int64(offset + count), timescale: rate)
        return count
    }

    package func finish() {}

    package func flush() {
        onCall()
        flushes += 1
        let heard = tape.prefix(before: playhead.rescaled(to: rate))
        if heard.first != nil { takes.append(heard) }
        tape = Tape()
        acceptedUntil = nil
    }

    package var partialFlushLead: Duration { recallLead ?? .seconds(3600) }

    package func beginPartialFlush(from time: MediaTime) {
        onCall()
        guard let recallLead, (time - playhead).duration >= recallLead else {
            return partialFlushResult = .refused(leadNeeded: partialFlushLead)
        }
        partialFlushes += 1
        tape = tape.prefix(before: time.rescaled(to: rate))
        acceptedUntil = acceptedUntil.map { min($0, time) }
        partialFlushResult = .flushed(from: acceptedUntil ?? time)
    }

    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) { onCall() }
    package func setGain(_ gain: Float) {}
    package func close() {
        onCall()
        if isOpen { closings += 1 }
        isOpen = false
    }

    /// The sound per position from the first to the last one; nil where it is blank or silent.
    package var content: [(sound: Int, frame: Int64)?] {
        guard let first = tape.first, let last = tape.last else { return [] }
        return (first...last).map { tape[$0].flatMap { FloatCodecs.meaning(of: $0) } }
    }

    /// The number of blank positions between the first and the last frame.
    package var blanks: Int { tape.span - tape.count }
}

/// The samples of a tape by timeline frame.
package struct Tape {
    /// From `start` on; NaN is blank. The first and the last one are not blank.
    private var samples: [Float] = []
    private var start: Int64 = 0

    /// The first written frame.
    package var first: Int64? { samples.isEmpty ? nil : start }
    /// The last written frame.
    package var last: Int64? { samples.isEmpty ? nil : start + Int64(samples.count) - 1 }
    /// The number of positions from the first to the last written frame.
    package var span: Int { samples.count }
    /// The number of written frames.
    package var count: Int { samples.withUnsafeBufferPointer { Self.written($0, 0..<$0.count) } }

    /// Returns the sample of a frame; nil if it is blank.
    package subscript(frame: Int64) -> Float? {
        guard frame >= start, frame < start + Int64(samples.count) else { return nil }
        let value = samples[Int(frame - start)]
        return value.isNaN ? nil : value
    }

    /// The written samples other than zero, by frame.
    package var sounding: [Int64: Float] {
        var sounding: [Int64: Float] = [:]
        samples.withUnsafeBufferPointer { samples in
            var index = 0
            while index < samples.count {
                // NaN equals nothing.
                if samples[index] < 0 || samples[index] > 0 { sounding[start + Int64(index)] = samples[index] }
                index += 1
            }
        }
        return sounding
    }

    /// Returns the frames before another one.
    package func prefix(before frame: Int64) -> Tape {
        var slice = self
        slice.samples = Array(samples.prefix(Int(min(max(0, frame - start), Int64(samples.count)))))
        while slice.samples.last?.isNaN == true { slice.samples.removeLast() }
        return slice
    }

    /// Returns the frames from one on.
    package func suffix(from frame: Int64) -> Tape {
        var slice = self
        slice.samples = Array(samples.dropFirst(Int(min(max(0, frame - start), Int64(samples.count)))))
        let blank = slice.samples.prefix { $0.isNaN }.count
        slice.samples.removeFirst(blank)
        slice.start = max(start, frame) + Int64(blank)
        return slice
    }

    /// Returns the first position, counted from the first frame, whose sample differs from these numbered sounds in
    /// sequence (`FloatCodecs.value`); nil if all common samples are equal.
    package func firstMismatch(with parts: [(sound: Int, frames: Range<Int64>)]) -> Int? {
        samples.withUnsafeBufferPointer { samples in
            var index = 0
            for (sound, frames) in parts {
                // Loops without iterators and closures, here and below: they run per frame, and debug builds do not
                // inline them.
                var wanted = FloatCodecs.value(sound, frames.lowerBound) * 8_388_608
                let end = min(samples.count, index + frames.count)
                while index < end {
                    let difference = samples[index] * 8_388_608 - wanted
                    // False for NaN as well.
                    guard difference > -0.5, difference < 0.5 else { return index }
                    wanted += 1
                    index += 1
                }
            }
            return nil
        }
    }

    /// Writes the first channel of interleaved samples. Returns the number of frames that were occupied.
    mutating func write(_ values: UnsafePointer<Float>, channels: Int, count: Int, at frame: Int64) -> Int {
        if samples.isEmpty { start = frame }
        if frame < start {
            samples.insert(contentsOf: [Float](repeating: .nan, count: Int(start - frame)), at: 0)
            start = frame
        }
        let offset = Int(frame - start)
        let missing = offset + count - samples.count
        if missing > 0 { samples += [Float](repeating: .nan, count: missing) }
        return samples.withUnsafeMutableBufferPointer { samples in
            let occupied = Self.written(UnsafeBufferPointer(samples), offset..<offset + count)
            var index = 0
            while index < count {
                samples[offset + index] = values[index * channels]
                index += 1
            }
            return occupied
        }
    }

    private static func written(_ samples: UnsafeBufferPointer<Float>, _ range: Range<Int>) -> Int {
        var count = 0
        var index = range.lowerBound
        while index < range.upperBound {
            // NaN differs from itself.
            if samples[index] == samples[index] { count += 1 }
            index += 1
        }
        return count
    }
}
