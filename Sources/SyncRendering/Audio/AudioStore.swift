internal import MediaCore

/// The position of a reader in a `AudioStore`. A value of the reader, which calls the store with it.
struct AudioCursor: Sendable {
    /// The number of the next buffer. Numbers are never assigned again, so that a cut or a flush leaves it valid.
    fileprivate(set) var number = 0
    /// The flushes of the store at the last move. After another flush the reader receives nothing until it moves.
    fileprivate var flushes = 0
    /// Whether the next buffer does not continue the last one.
    fileprivate var isDiscontinuous = false
    /// Earlier audio is only input for the decoder; nil: all is played.
    fileprivate var start: MediaTime?
    /// The part from `start` on of the last buffer, if that spans it.
    fileprivate var rest: SampleBuffer?

    /// Removes audio from a media time on that the reader holds, as `AudioStore.cut` does with the stored audio.
    mutating func cut(at time: MediaTime) { rest = rest?.cut(at: time) }
}

extension SampleBuffer {
    /// Returns the buffer trimmed to a media time; nil if it does not start before it.
    fileprivate func cut(at time: MediaTime) -> SampleBuffer? {
        guard presentationTime.map({ $0 < time }) ?? true else { return nil }
        var slice = self
        if let end = audioEnd, end > time { slice.heardUntil = min(heardUntil ?? time, time) }
        return slice
    }
}

/// The audio of a renderer: from two seconds before the playhead, or from what was not read, to the last enqueued
/// buffer. Outputs read it with a `AudioCursor` each; nothing is copied for them.
///
/// Any thread. The lock is taken once per buffer; no other lock is taken under it. Allocates no memory while the number
/// of buffers is stable.
final class AudioStore: Sendable {
    /// How long audio is retained after it was played. A reader that is later than this is moved.
    static let retention: Duration = .seconds(2)
    /// Preroll that is decoded before the position to which a cursor moves, to prime the codecs: an AAC frame overlaps
    /// the next, Opus requires 80 ms (RFC 7845, 4.6).
    private static let settling: Duration = .milliseconds(150)
    /// Preroll before the start of an output that joins: an MP3 frame may refer to 511 bytes before it (ISO 11172-3,
    /// 2.4.2.7), and Opus requires 80 ms.
    private static let runIn: Duration = .milliseconds(200)

    /// What a renderer needs to know of its store, as one consistent reading.
    struct Level {
        /// The end of the last enqueued buffer since the last flush, or the time of a cut, in media time.
        var enqueuedUntil: MediaTime?
        /// The start of the first enqueued buffer since the last flush, in media time.
        var firstEnqueued: MediaTime?
        /// The number of buffers enqueued since creation.
        var enqueueCount = 0
        /// The number of buffers enqueued, ends of input, cuts and flushes: readers that wait look again after each.
        fileprivate(set) var changeCount = 0
        /// Whether requests were stopped: the stored audio plays out and suffices for a start.
        var isEnding = false
        /// Whether the end of input follows the last buffer.
        var isFinished = false
        /// Whether the outputs have read all stored audio; see `setRead`.
        fileprivate(set) var isAllRead = true
        /// The number of stored buffers, and the size of their payloads in bytes.
        fileprivate(set) var count = 0
        fileprivate(set) var byteCount = 0
    }

    /// The result of `append`.
    struct Appended: Equatable {
        /// Whether the buffer ended before the playhead.
        var isLate = false
        /// Whether the buffer was dropped.
        var isDropped = false
    }

    private let content = Lock(Content())

    var level: Level {
        content.withLock { content in
            var level = content.level
            level.isAllRead = content.isRead(until: content.readNumber)
            return level
        }
    }

    // MARK: Enqueueing

    /// Appends a buffer. While the timebase is stopped an output plays nothing, and one full of past audio would never
    /// accept the next: late audio is dropped then.
    ///
    /// - Parameters:
    ///   - timebase: The timebase that determines the playhead.
    ///   - master: The timebase that determines the time of a first buffer without one.
    func append(_ buffer: SampleBuffer, timebase: Timebase, master: Timebase) -> Appended {
        content.withLock { $0.append(buffer, timebase: timebase, master: master) }
    }

    /// Marks the end of input.
    func finish() {
        content.withLock { content in
            content.level.isFinished = true
            content.level.changeCount &+= 1
        }
    }

    /// Records whether requests were stopped.
    func setEnding(_ isEnding: Bool) {
        content.withLock { content in
            content.level.isEnding = isEnding
            content.level.changeCount &+= 1
        }
    }

    /// Removes all audio. The next buffer starts afresh. Readers receive nothing until they move.
    func flush() { content.withLock { $0.flush() } }

    /// Records the position of the output that has read least.
    func setRead(until reader: AudioCursor) {
        content.withLock { $0.readNumber = reader.number - (reader.rest == nil ? 0 : 1) }
    }

    /// Removes audio that ended more than `retention` ago. While the timebase is stopped, no audio becomes late: only
    /// what the outputs have read is removed.
    func trim(at timebase: Timebase) {
        let retainedFrom = timebase.currentTime.advanced(by: .zero - Self.retention)
        let isRunning = timebase.rate > 0
        content.withLock { $0.trim(before: retainedFrom, until: isRunning ? .max : $0.readNumber) }
    }

    /// Removes audio that starts at or after a media time. A buffer that spans the time is trimmed to it.
    ///
    /// - Returns: False if the audio ends before the time, and nothing was changed.
    func cut(at time: MediaTime) -> Bool { content.withLock { $0.cut(at: time) } }

    // MARK: Reading

    /// Returns the next buffer of a reader; nil if there is none, or if the reader has to move after a flush.
    func next(_ cursor: inout AudioCursor) -> SampleBuffer? {
        if let rest = cursor.rest {
            cursor.rest = nil
            return rest
        }
        while var buffer = content.withLock({ $0.next(&cursor) }) {
            if let start = cursor.start {
                guard let slice = Self.begin(buffer, at: start, &cursor) else { continue }
                buffer = slice
            }
            if cursor.isDiscontinuous {
                buffer.flags.insert(.discontinuity)
                cursor.isDiscontinuous = false
            }
            return buffer
        }
        return nil
    }

    /// Returns the part of a buffer that a reader which starts at a media time receives first; nil: none.
    private static func begin(_ buffer: SampleBuffer, at start: MediaTime, _ cursor: inout AudioCursor) -> SampleBuffer?
    {
        guard let first = buffer.presentationTime, let end = buffer.end, first < start else {
            cursor.start = nil
            return buffer
        }
        if end <= start {
            return end > start.advanced(by: .zero - runIn) ? buffer.forDecodersOnly : nil
        }
        cursor.start = nil
        let (head, tail) = buffer.parted(at: start)
        guard let only = head?.forDecodersOnly else { return tail }
        cursor.rest = tail
        return only
    }

    /// Whether a reader has received all audio.
    func isRead(by cursor: AudioCursor) -> Bool {
        cursor.rest == nil && content.withLock { $0.isRead(until: cursor.number) }
    }

    /// Whether audio that starts before a media time remains to be read.
    func hasUnread(_ cursor: AudioCursor, before time: MediaTime) -> Bool {
        let next =
            cursor.rest
            ?? content.withLock { content in
                let index = content.index(of: cursor.number)
                return index < content.level.count ? content[index] : nil
            }
        return next?.presentationTime.map { $0 < time } ?? false
    }

    /// Returns the cursor that is further behind.
    static func slower(_ one: AudioCursor?, _ other: AudioCursor?) -> AudioCursor? {
        guard let one, let other else { return one ?? other }
        return other.number < one.number ? other : one
    }

    /// Returns a cursor behind all stored audio.
    var end: AudioCursor {
        content.withLock { content in
            var cursor = AudioCursor()
            (cursor.number, cursor.flushes) = (content.nextNumber, content.flushes)
            return cursor
        }
    }

    /// Returns a cursor at the oldest stored audio.
    var start: AudioCursor {
        content.withLock { content in
            var cursor = AudioCursor()
            (cursor.number, cursor.flushes) = (content.firstNumber, content.flushes)
            return cursor
        }
    }

    /// Moves a reader to the audio at a media time, with preroll for the codecs.
    ///
    /// - Parameter isDiscontinuous: Whether the next buffer is marked for the decoder.
    /// - Returns: Whether the audio there starts before the time.
    @discardableResult
    func move(_ cursor: inout AudioCursor, to retainedFrom: MediaTime, isDiscontinuous: Bool = true) -> Bool {
        let needed = retainedFrom.advanced(by: .zero - Self.settling)
        let first = content.withLock { content in
            content.move(&cursor) { $0.audioEnd.map { $0 > needed } ?? false }
        }
        cursor.isDiscontinuous = isDiscontinuous
        return first.map { $0 < retainedFrom } ?? false
    }

    /// Returns a cursor for an output that starts at a media time, preferably a packet boundary. It receives the audio
    /// shortly before it as input for its decoder.
    func cursor(startingAt retainedFrom: MediaTime) -> AudioCursor {
        let begin = retainedFrom.advanced(by: .zero - Self.runIn)
        var cursor = AudioCursor()
        _ = content.withLock { content in content.move(&cursor) { $0.end.map { $0 > begin } ?? false } }
        cursor.start = retainedFrom
        cursor.isDiscontinuous = true
        return cursor
    }

    /// Returns the format of the audio at a media time, or of the last stored audio; nil without any.
    func format(at retainedFrom: MediaTime) -> AudioFormat? {
        let buffer = content.withLock { content -> SampleBuffer? in
            let count = content.level.count
            guard count > 0 else { return nil }
            return content[(0..<count).first { content[$0].audioEnd.map { $0 > retainedFrom } ?? false } ?? count - 1]
        }
        return buffer?.audioFormat(after: nil)
    }

    /// Returns the first packet boundary at or after a media time. Audio can start there on every output, also on those
    /// that play whole packets. Returns the time itself if its audio is not known or not in packets.
    func boundary(from retainedFrom: MediaTime) -> MediaTime {
        let buffer = content.withLock { content in
            (0..<content.level.count).first { content[$0].end.map { $0 > retainedFrom } ?? false }.map { content[$0] }
        }
        guard let buffer, case .encodedAudio(_, let batch) = buffer.payload, var end = buffer.presentationTime else {
            return retainedFrom
        }
        for packet in batch.packets {
            let start = packet.presentationTime ?? end
            if start >= retainedFrom { return start }
            end = start + packet.duration
        }
        return max(retainedFrom, buffer.end ?? retainedFrom)
    }
}

extension AudioStore {
    /// The buffers in a ring, each with its number.
    private struct Content {
        private struct Slot {
            var number: Int
            var buffer: SampleBuffer
        }

        private var slots = [Slot?](repeating: nil, count: 64)
        private var head = 0
        var level = Level()
        /// The number of the next buffer.
        private(set) var nextNumber = 0
        /// The number of the next buffer of the output that has read least.
        var readNumber = 0
        /// The first number that was not removed by `trim`.
        private var firstUntrimmed = 0
        private(set) var flushes = 0
        /// Whether the preceding buffer was dropped, so that the next one is discontinuous.
        private var followsDrop = false

        private var count: Int { level.count }
        var firstNumber: Int { count > 0 ? number(0) : nextNumber }

        private func slot(_ index: Int) -> Int { (head + index) & (slots.count - 1) }
        private func number(_ index: Int) -> Int { slots[slot(index)]!.number }

        /// Only flags and limits are changed in place.
        subscript(index: Int) -> SampleBuffer {
            get { slots[slot(index)]!.buffer }
            _modify { yield &slots[slot(index)]!.buffer }
        }

        /// Returns the index of the first buffer with a number or a later one.
        func index(of wanted: Int) -> Int {
            guard count > 0, wanted > number(0) else { return 0 }
            var (low, high) = (0, count)
            while low < high {
                let middle = (low + high) / 2
                if number(middle) < wanted { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// Whether all buffers have lower numbers than this.
        func isRead(until next: Int) -> Bool { count == 0 || number(count - 1) < next }

        // MARK: Changes

        mutating func append(_ buffer: SampleBuffer, timebase: Timebase, master: Timebase) -> Appended {
            var buffer = buffer
            let start = buffer.presentationTime ?? level.enqueuedUntil ?? master.currentTime
            buffer.presentationTime = start
            level.enqueueCount &+= 1
            level.changeCount &+= 1
            level.isFinished = false
            let end = start + buffer.audioDuration
            level.enqueuedUntil = end
            let isLate = !buffer.flags.contains(.decodeOnly) && end < timebase.currentTime
            if isLate, timebase.snapshot.upcoming.rate == 0 {
                followsDrop = true
                return Appended(isLate: true, isDropped: true)
            }
            if followsDrop {
                followsDrop = false
                buffer.flags.insert(.discontinuity)
            }
            if level.firstEnqueued == nil { level.firstEnqueued = start }
            if count == slots.count { grow() }
            slots[slot(count)] = Slot(number: nextNumber, buffer: buffer)
            nextNumber += 1
            level.count += 1
            level.byteCount += buffer.byteCount
            return Appended(isLate: isLate)
        }

        private mutating func grow() {
            var larger = [Slot?](repeating: nil, count: 2 * slots.count)
            for index in 0..<count { larger[index] = slots[slot(index)] }
            (slots, head) = (larger, 0)
        }

        private mutating func removeFirst() {
            level.byteCount -= self[0].byteCount
            slots[head] = nil
            head = slot(1)
            level.count -= 1
        }

        private mutating func removeLast() {
            level.byteCount -= self[count - 1].byteCount
            slots[slot(count - 1)] = nil
            level.count -= 1
        }

        mutating func flush() {
            level.changeCount &+= 1
            while count > 0 { removeLast() }
            (level.isEnding, level.isFinished, followsDrop) = (false, false, false)
            (level.enqueuedUntil, level.firstEnqueued) = (nil, nil)
            flushes &+= 1
        }

        mutating func trim(before retainedFrom: MediaTime, until limit: Int) {
            while count > 0, number(0) < limit, self[0].audioEnd.map({ $0 < retainedFrom }) ?? true {
                firstUntrimmed = number(0) + 1
                removeFirst()
            }
        }

        mutating func cut(at time: MediaTime) -> Bool {
            level.changeCount &+= 1
            guard let end = level.enqueuedUntil, end > time else { return false }
            while count > 0 {
                if let slice = self[count - 1].cut(at: time) {
                    self[count - 1] = slice
                    break
                }
                removeLast()
            }
            level.enqueuedUntil = time
            level.isFinished = false
            return true
        }

        // MARK: Cursors

        mutating func next(_ cursor: inout AudioCursor) -> SampleBuffer? {
            guard cursor.flushes == flushes else { return nil }
            let index = index(of: cursor.number)
            guard index < count else { return nil }
            if cursor.number < firstUntrimmed { cursor.isDiscontinuous = true }
            cursor.number = number(index) + 1
            return self[index]
        }

        /// Moves a cursor to the first buffer that meets a condition, or behind all; returns the start of the buffer.
        func move(_ cursor: inout AudioCursor, to isWanted: (SampleBuffer) -> Bool) -> MediaTime? {
            let index = (0..<count).first { isWanted(self[$0]) }
            cursor = AudioCursor()
            (cursor.number, cursor.flushes) = (index.map { number($0) } ?? nextNumber, flushes)
            return index.flatMap { self[$0].presentationTime }
        }
    }
}
