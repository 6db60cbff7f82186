internal import MediaCore

/// The enqueued audio of a renderer: buffers that wait for the feeder, and taken ones that may be unplayed.
///
/// Guarded by the renderer's lock. Allocates no memory while its length is stable.
struct SoundQueue {
    /// Preroll that is decoded before the resume position to prime the codecs: an AAC frame overlaps the next, Opus
    /// requires 80 ms (RFC 7845, 4.6).
    private static let settling: Duration = .milliseconds(150)
    /// Retention time of played audio.
    private static let memory: Duration = .seconds(1)

    /// Buffers that the feeder has not taken, oldest first.
    private var waiting = CountedBuffers()
    /// Buffers that were taken and may be unplayed, oldest first.
    private var kept = CountedBuffers()
    /// The number of buffers enqueued since creation.
    private(set) var enqueueCount = 0
    /// The end of the last enqueued buffer since the last flush, in media time.
    private(set) var enqueuedUntil: MediaTime?
    /// The start of the first enqueued buffer since the last flush, in media time.
    private(set) var firstEnqueued: MediaTime?
    /// Whether requests were stopped: the queue plays out and suffices for a start.
    var isEnding = false
    /// Whether `finish` was called after the last buffer.
    private(set) var isFinished = false
    /// Whether the preceding buffer was dropped, so that the next one is discontinuous.
    private var followsDrop = false

    init() {
        waiting.reserveCapacity(64)
        kept.reserveCapacity(64)
    }

    /// Whether no buffer waits.
    var isEmpty: Bool { waiting.isEmpty }
    /// The number of waiting buffers.
    var count: Int { waiting.count }
    /// The last waiting buffer.
    var last: SampleBuffer? { waiting.last }
    /// The number of taken buffers that are retained.
    var keptCount: Int { kept.count }
    /// The size of the payloads of all buffers in bytes.
    var byteCount: Int { waiting.byteCount + kept.byteCount }

    // MARK: Enqueueing

    /// The result of `append`.
    struct Appended: Equatable {
        /// Whether the buffer ended before the playhead.
        var isLate = false
        /// Whether the buffer was dropped.
        var isDropped = false
    }

    /// Appends a buffer. While the timebase is stopped an output plays nothing, and one full of past audio would never
    /// accept the next: late audio is dropped then.
    ///
    /// - Parameters:
    ///   - timebase: The timebase that determines the playhead.
    ///   - master: The timebase that determines the time of a first buffer without one.
    mutating func append(_ buffer: SampleBuffer, timebase: Timebase, master: Timebase) -> Appended {
        var buffer = buffer
        let start = buffer.presentationTime ?? enqueuedUntil ?? master.currentTime
        buffer.presentationTime = start
        enqueueCount &+= 1
        isFinished = false
        let end = start + buffer.soundDuration
        enqueuedUntil = end
        let isLate = !buffer.flags.contains(.decodeOnly) && end < timebase.currentTime
        if isLate, timebase.snapshot.upcoming.rate == 0 {
            followsDrop = true
            return Appended(isLate: true, isDropped: true)
        }
        if followsDrop {
            followsDrop = false
            buffer.flags.insert(.discontinuity)
        }
        if firstEnqueued == nil { firstEnqueued = start }
        waiting.append(buffer)
        return Appended(isLate: isLate)
    }

    /// Marks the end of input.
    mutating func finish() { isFinished = true }

    /// Removes all audio. The next buffer starts afresh.
    mutating func flush() {
        waiting.removeAll()
        kept.removeAll()
        isEnding = false
        enqueuedUntil = nil
        firstEnqueued = nil
        isFinished = false
        followsDrop = false
    }

    // MARK: Delivery

    /// Returns the next buffer and retains it until it has played; nil if none waits.
    mutating func takeNext(timebase: Timebase) -> SampleBuffer? {
        guard !waiting.isEmpty else { return nil }
        let buffer = waiting[0]
        waiting.removeFirst(1)
        let heard = timebase.currentTime.advanced(by: .zero - Self.memory)
        let old = kept.all.prefix { kept in kept.soundEnd.map { $0 < heard } ?? true }.count
        if old > 0 { kept.removeFirst(old) }
        kept.append(buffer)
        return buffer
    }

    /// Drops the oldest waiting buffers that end before a media time.
    ///
    /// - Returns: Whether any buffer was dropped.
    @discardableResult
    mutating func skip(to time: MediaTime) -> Bool {
        let late = waiting.all.prefix { buffer in buffer.end.map { $0 < time } ?? false }.count
        guard late > 0 else { return false }
        waiting.removeFirst(late)
        if !waiting.isEmpty { waiting[0].flags.insert(.discontinuity) }
        return true
    }

    /// Moves retained audio from a media time on, with preroll for the codecs, back to the waiting buffers; returns
    /// false if none of it is retained.
    @discardableResult
    mutating func putBackKept(from moment: MediaTime) -> Bool {
        let needed = moment.advanced(by: .zero - Self.settling)
        let old = kept.all.prefix { buffer in buffer.soundEnd.map { $0 <= needed } ?? true }.count
        guard old < kept.count else {
            kept.removeAll()
            return false
        }
        kept.removeFirst(old)
        kept[0].flags.insert(.discontinuity)
        waiting.insert(atStart: kept[0...])
        kept.removeAll()
        return true
    }

    /// Moves taken audio from a media time on, with preroll for the codecs, back to the waiting buffers, for a new
    /// converter. Earlier audio remains retained, because the output may not have played it.
    mutating func putBackTaken(from moment: MediaTime) {
        let needed = moment.advanced(by: .zero - Self.settling)
        let count = kept.all.prefix { buffer in buffer.soundEnd.map { $0 <= needed } ?? true }.count
        waiting.insert(atStart: kept[count...])
        kept.removeLast(kept.count - count)
    }

    // MARK: Cutting

    /// Removes waiting buffers that start at or after a time. A buffer that spans the time is trimmed to it.
    ///
    /// - Parameters:
    ///   - takenUntil: The end of the audio taken by the feeder.
    ///   - isLast: Whether that audio already ends at the time.
    /// - Returns: Whether no buffer waits any more; nil if the audio ends before the time, and nothing was changed.
    mutating func cut(at time: MediaTime, takenUntil: MediaTime?, isLast: Bool) -> Bool? {
        if let end = enqueuedUntil, end <= time, !isLast { return nil }
        var end = takenUntil ?? time
        var count = 0
        for buffer in waiting.all {
            let start = buffer.presentationTime ?? end
            guard start < time, !isLast else { break }
            end = start + buffer.duration
            count += 1
        }
        waiting.removeLast(waiting.count - count)
        if count > 0 {
            let before = waiting[count - 1].heardUntil
            waiting[count - 1].heardUntil = min(before ?? time, time)
        }
        cutKept(at: time)
        moveEnd(to: time)
        return count == 0
    }

    /// Removes all waiting audio, and retained audio from a media time on.
    mutating func removeWaiting(keptUntil time: MediaTime) {
        waiting.removeAll()
        cutKept(at: time)
    }

    /// Sets the time at which the next buffer starts.
    mutating func moveEnd(to time: MediaTime) {
        enqueuedUntil = time
        isFinished = false
    }

    /// Removes retained audio from a media time on, so that it is not delivered again.
    private mutating func cutKept(at time: MediaTime) {
        let count = kept.all.count { buffer in buffer.presentationTime.map { $0 < time } ?? true }
        kept.removeLast(kept.count - count)
        guard count > 0, let end = kept[count - 1].soundEnd, end > time else { return }
        kept[count - 1].heardUntil = min(kept[count - 1].heardUntil ?? time, time)
    }
}

/// Buffers and the size of their payloads.
private struct CountedBuffers {
    private(set) var all: [SampleBuffer] = []
    private(set) var byteCount = 0

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }
    var last: SampleBuffer? { all.last }

    /// Only flags and limits are changed in place.
    subscript(index: Int) -> SampleBuffer {
        get { all[index] }
        _modify { yield &all[index] }
    }

    subscript(range: PartialRangeFrom<Int>) -> ArraySlice<SampleBuffer> { all[range] }

    mutating func reserveCapacity(_ count: Int) { all.reserveCapacity(count) }

    mutating func append(_ buffer: SampleBuffer) {
        byteCount += buffer.byteCount
        all.append(buffer)
    }

    mutating func insert(atStart buffers: ArraySlice<SampleBuffer>) {
        for buffer in buffers { byteCount += buffer.byteCount }
        all.insert(contentsOf: buffers, at: 0)
    }

    mutating func removeFirst(_ count: Int) {
        for buffer in all.prefix(count) { byteCount -= buffer.byteCount }
        all.removeFirst(count)
    }

    mutating func removeLast(_ count: Int) {
        for buffer in all.suffix(count) { byteCount -= buffer.byteCount }
        all.removeLast(count)
    }

    mutating func removeAll() {
        byteCount = 0
        all.removeAll(keepingCapacity: true)
    }
}
