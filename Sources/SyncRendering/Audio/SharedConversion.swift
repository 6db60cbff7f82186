internal import MediaCore
internal import Synchronization

/// A conversion of audio to packets for several outputs: each buffer is decoded and encoded once. The reasons are in
/// docs/decisions/0030-shared-conversion.md.
///
/// Each output reads the same sequence of steps through a `Cursor`: an input, the packets that result from it, the next
/// input. The first output that needs a step performs it; the others read it from a buffer of limited size. An output
/// whose input differs, or that is too far behind, converts its audio itself.
///
/// Feeder threads only.
final class SharedConversion: Sendable {
    /// What outputs must have in common to receive the same packets.
    typealias Key = ConversionRun.Setup

    /// An input of the codecs.
    enum Input {
        case audio(SampleBuffer)
        /// The end of the audio, after which more may follow.
        case end
    }

    /// An input, or the result of a part of the conversion.
    struct Step {
        var input: Input?
        /// The packets; nil if there are none.
        var packets: PacketBatch?
        /// The number of undecodable packets and their audio, if the number has changed.
        var damage: (count: Int, sound: UndecodableAudio?)?
        /// The error that ended the conversion.
        var error: MediaError?

        /// The memory that the step retains, in bytes.
        fileprivate var byteCount: Int {
            var count = packets.map { max(SharedConversion.batchBytes, $0.byteCount) } ?? 0
            if case .audio(let buffer)? = input { count += buffer.byteCount }
            return count
        }
    }

    /// What an output has to process next.
    enum Next {
        case step(Step)
        case inputNeeded
        /// The step is no longer stored: the output was too slow.
        case evicted
    }

    /// The memory for stored steps, in bytes.
    struct Limits {
        /// For steps that an output has not read; more than a minute of lossless stereo.
        var unread = 16 << 20
        /// For steps that all outputs have read, from which another output can start.
        var read = 4 << 20
    }

    /// The reserved size of a batch of packets, and the size from which it is not extended.
    private static let batchBytes = 16 << 10
    private static let fullBatchBytes = 8 << 10

    let key: Key
    /// Held while audio is decoded and encoded. Outputs wait for it only for a step that they need next. Taken before
    /// `ring`.
    private let codecs: Lock<Codecs>
    /// The steps and the positions of the outputs.
    private let ring: Lock<Ring>

    /// Creates a conversion with its first input.
    ///
    /// - Throws: If the format cannot be decoded or encoded.
    fileprivate init(
        _ key: Key, first: SampleBuffer, codecs: any AudioCodecs, limits: Limits
    ) throws(MediaError) {
        self.key = key
        self.codecs = Lock(try Codecs(key, codecs: codecs))
        ring = Lock(Ring(first: .audio(first), limits))
    }

    /// The memory that the steps retain, in bytes.
    var byteCount: Int { ring.withLock { $0.byteCount } }

    /// Returns a cursor after the first input; nil if that differs or is no longer stored.
    fileprivate func cursor(after buffer: SampleBuffer) -> Cursor? {
        ring.withLock { $0.addCursor(after: .audio(buffer)) }.map { Cursor(self, $0, start: buffer.presentationTime) }
    }

    private func next(of cursor: Int) -> Next {
        if let known = ring.withLock({ $0.read(cursor) }) { return known }
        return codecs.withLock { codecs in
            // Another output may have performed the step meanwhile.
            if let known = ring.withLock({ $0.read(cursor) }) { return known }
            let (input, batch) = ring.withLock { ($0.consumeInput(), $0.acquireBatch()) }
            let (step, isExhausted) = codecs.convert(input, into: batch)
            return ring.withLock { ring in
                ring.append(step, isExhausted: isExhausted)
                if step.packets == nil { ring.recycle(batch) }
                return ring.read(cursor) ?? .inputNeeded
            }
        }
    }

    /// The position of one output. Confined to its feeder thread.
    final class Cursor {
        let conversion: SharedConversion
        private let index: Int
        /// The media time of the first input.
        let start: MediaTime?
        /// The end of the packets read, in media time; nil before the first.
        private(set) var end: MediaTime?

        fileprivate init(_ conversion: SharedConversion, _ index: Int, start: MediaTime?) {
            (self.conversion, self.index, self.start) = (conversion, index, start)
        }

        deinit { conversion.ring.withLock { $0.positions[index] = nil } }

        /// Returns the next step, which the call performs if no other output has.
        func next() -> Next {
            let next = conversion.next(of: index)
            if case .step(let step) = next, let last = step.packets?.packets.last, let time = last.presentationTime {
                end = time + last.duration
            }
            return next
        }

        /// Adds an input after `next` has returned `inputNeeded`. Returns false if another output has added a different
        /// one; the conversion is then of no further use to this output.
        func send(_ input: Input) -> Bool { conversion.ring.withLock { $0.send(input, by: index) } }
    }

    // MARK: State

    /// The decoder and the encoder.
    private struct Codecs {
        private var run = ConversionRun()
        private var decodeErrorCount = 0
        /// Whether the last input was the end.
        private var isAtEnd = false

        init(_ key: Key, codecs: any AudioCodecs) throws(MediaError) {
            try run.begin(key, codecs: codecs)
        }

        /// Converts until a batch is full.
        ///
        /// - Parameters:
        ///   - input: The next input; nil continues with the last one.
        ///   - batch: An empty batch for the packets.
        /// - Returns: The result, and whether no audio of the input remains.
        mutating func convert(_ input: Input?, into batch: PacketBatch) -> (step: Step, isExhausted: Bool) {
            var (step, isExhausted) = (Step(), true)
            do {
                if let input { try send(input) }
                isExhausted = try !fill(batch)
            } catch {
                step.error = error
            }
            if !batch.packets.isEmpty { step.packets = batch }
            if run.decodeErrorCount != decodeErrorCount {
                decodeErrorCount = run.decodeErrorCount
                step.damage = (decodeErrorCount, run.converter?.consumeUndecodableAudio())
            }
            return (step, isExhausted)
        }

        private mutating func send(_ input: Input) throws(MediaError) {
            switch input {
            case .audio(let buffer):
                if isAtEnd {
                    run.restart()
                    run.encoder.endFinish()
                    isAtEnd = false
                }
                try run.converter?.send(buffer)
            case .end:
                run.converter?.finish()
                isAtEnd = true
            }
        }

        /// Appends packets until the batch is full. Returns false if no audio remains.
        private mutating func fill(_ batch: PacketBatch) throws(MediaError) -> Bool {
            var resume = ResumePoint()
            while batch.byteCount < SharedConversion.fullBatchBytes {
                if try run.receive(into: batch, until: nil, from: &resume) != nil { continue }
                guard isAtEnd, run.encoder.finish() else { return false }
            }
            return true
        }
    }

    /// The stored steps. Allocates nothing while the number of steps is stable.
    private struct Ring {
        /// The minimum number of steps removed at once.
        private static let minRemoved = 8
        private static let maxSpares = 8

        private let limits: Limits
        private var steps: [Step]
        /// The index of the oldest stored step in `steps`, and the number of steps before `steps[0]`.
        private var head = 0
        private var base = 0
        /// The input that was not converted yet.
        private var input: Input?
        /// Whether no audio of the inputs remains in the codecs.
        private var isExhausted = false
        /// The number of the next step of each cursor; nil if the cursor has ended or was too slow.
        var positions: [Int?] = []
        private(set) var byteCount = 0
        /// Batches of evicted steps.
        private var spares: [PacketBatch] = []

        init(first: Input, _ limits: Limits) {
            self.limits = limits
            steps = [Step(input: first)]
            input = first
            byteCount = steps[0].byteCount
        }

        private var first: Int { base + head }
        private var end: Int { base + steps.count }

        mutating func addCursor(after input: Input) -> Int? {
            guard first == 0, steps[0].input?.isSame(as: input) ?? false else { return nil }
            positions.append(1)
            return positions.count - 1
        }

        /// Returns what a cursor has to process next; nil if that was not converted yet.
        mutating func read(_ cursor: Int) -> Next? {
            guard let position = positions[cursor] else { return .evicted }
            guard position < end else { return isExhausted ? .inputNeeded : nil }
            let step = steps[position - base]
            guard step.input == nil else { return .inputNeeded }
            positions[cursor] = position + 1
            return .step(step)
        }

        mutating func send(_ input: Input, by cursor: Int) -> Bool {
            guard let position = positions[cursor] else { return false }
            if position < end {
                guard steps[position - base].input?.isSame(as: input) ?? false else { return false }
            } else {
                guard isExhausted else { return false }
                (self.input, isExhausted) = (input, false)
                add(Step(input: input))
            }
            positions[cursor] = position + 1
            return true
        }

        mutating func consumeInput() -> Input? { input.take() }

        /// Returns an empty batch, an evicted one if no output uses it.
        mutating func acquireBatch() -> PacketBatch {
            while var batch = spares.popLast() {
                guard isKnownUniquelyReferenced(&batch) else { continue }
                // Pairs with the release in the reference count's decrement on the thread that released the batch.
                atomicMemoryFence(ordering: .acquiring)
                batch.removeAll()
                return batch
            }
            return PacketBatch(reservingBytes: SharedConversion.batchBytes, packets: 16)
        }

        /// Stores a batch that `acquireBatch` may return again.
        mutating func recycle(_ batch: PacketBatch) { if spares.count < Self.maxSpares { spares.append(batch) } }

        /// Adds the result of a conversion; one without packets, damage and error only ends the wait for it.
        mutating func append(_ step: Step, isExhausted: Bool) {
            self.isExhausted = isExhausted
            if step.packets != nil || step.damage != nil || step.error != nil { add(step) }
        }

        private mutating func add(_ step: Step) {
            steps.append(step)
            byteCount += step.byteCount
            var slowest = end
            for case let position? in positions { slowest = min(slowest, position) }
            while head < steps.count - 1,
                byteCount > (first < slowest ? limits.read : limits.unread)
            {
                byteCount -= steps[head].byteCount
                if let batch = steps[head].packets { recycle(batch) }
                steps[head] = Step()
                head += 1
            }
            for index in positions.indices where positions[index].map({ $0 < first }) ?? false {
                positions[index] = nil
            }
            if head >= Self.minRemoved + (steps.count - head) / Self.minRemoved {
                steps.removeFirst(head)
                (base, head) = (base + head, 0)
            }
        }
    }
}

extension SharedConversion.Input {
    /// Whether the codecs process both inputs alike: the same samples with the same times and flags.
    fileprivate func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.end, .end): true
        case (.audio(let one), .audio(let other)): one.isSame(as: other)
        case (.audio, .end), (.end, .audio): false
        }
    }
}

extension SampleBuffer {
    fileprivate func isSame(as other: SampleBuffer) -> Bool {
        guard presentationTime == other.presentationTime, duration == other.duration, flags == other.flags,
            heardUntil == other.heardUntil, gain == other.gain
        else { return false }
        switch (payload, other.payload) {
        case (.encodedAudio(let format, let batch), .encodedAudio(let otherFormat, let otherBatch)):
            return batch === otherBatch && format == otherFormat
        case (.pcm(let block), .pcm(let otherBlock)): return block === otherBlock
        default: return false
        }
    }
}

/// The shared conversions of a group. Any thread.
final class SharedConversions: Sendable {
    private struct Known { weak var conversion: SharedConversion? }

    /// Released with their last cursor. Held while codecs are created, so that two outputs do not create them twice.
    private let known = Lock<[Known]>([])
    private let limits: SharedConversion.Limits

    init(_ limits: SharedConversion.Limits = SharedConversion.Limits()) { self.limits = limits }

    /// Returns a cursor after an output's first input. If no conversion has the key and began with the same input, one
    /// is created.
    ///
    /// - Throws: If the format cannot be decoded or encoded.
    func cursor(
        _ key: SharedConversion.Key, after buffer: SampleBuffer, codecs: any AudioCodecs
    ) throws(MediaError) -> SharedConversion.Cursor? {
        try known.withLock { (known) throws(MediaError) in
            known.removeAll { $0.conversion == nil }
            for case let conversion? in known.lazy.map(\.conversion) where conversion.key == key {
                if let cursor = conversion.cursor(after: buffer) { return cursor }
            }
            let conversion = try SharedConversion(key, first: buffer, codecs: codecs, limits: limits)
            known.append(Known(conversion: conversion))
            return conversion.cursor(after: buffer)
        }
    }
}

extension GroupSharedContext {
    /// The conversions that members of the group share.
    var conversions: SharedConversions { shared { SharedConversions() } }
}
