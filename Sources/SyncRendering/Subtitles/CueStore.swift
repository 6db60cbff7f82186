internal import MediaCore

/// The cues of a track near the playhead, ordered by start time. A value type, bounded in number and bytes.
struct CueStore {
    private struct Entry {
        var cue: SubtitleCue
        var start: MediaTime
        /// Nil until the next cue starts.
        var end: MediaTime?
        var number: UInt64
    }

    /// The bounds of a store.
    enum Limit {
        /// The maximum number of cues; the earliest are removed first, once they have ended.
        static let cues = 10_000
        /// The maximum size of bitmaps and scripts in bytes. Ten seconds of full-screen bitmaps at ten a second do not
        /// fit; ordinary films fit many times.
        static let bytes = 48 << 20
        /// The maximum number of cues shown at once. Layout libraries take time quadratic in their number.
        static let active = 100
    }

    /// Ordered by start time.
    private var entries: [Entry] = []
    private var bytes = 0
    private var lastNumber: UInt64 = 0
    /// The longest duration of a cue: the range to search before a time.
    private var longest = MediaTime.zero
    /// The number of cues dropped for lack of space or because too many were active.
    private(set) var leftOut = 0

    var isEmpty: Bool { entries.isEmpty }

    /// Returns the start of the cue that is `count` cues after the last one that has started at a time; a cue that has
    /// ended counts as the first one before it. Cues that start together count as one. Nil if there is none.
    func start(_ count: Int, from time: MediaTime) -> MediaTime? {
        var starts: [MediaTime] = []
        for entry in entries where entry.start != starts.last { starts.append(entry.start) }
        let shown = (starts.lastIndex { $0 <= time }) ?? -1
        let isOver = shown >= 0 && !entries.contains { $0.start <= time && $0.end.map { time < $0 } ?? true }
        let index = shown + count + (isOver && count < 0 ? 1 : 0)
        return starts.indices.contains(index) ? starts[index] : nil
    }

    /// - Parameters:
    ///   - duration: zero lasts until the next one begins; bitmaps last until the next bitmaps at most.
    ///   - time: what has ended before gives its room.
    /// - Returns: false where there was none.
    @discardableResult
    mutating func insert(_ cue: SubtitleCue, start: MediaTime, duration: MediaTime, at time: MediaTime) -> Bool {
        while entries.count >= Limit.cues || bytes + cue.byteCount > Limit.bytes {
            guard let first = entries.first, let end = first.end, end <= time else {
                leftOut += 1
                return false
            }
            bytes -= first.cue.byteCount
            entries.removeFirst()
        }
        lastNumber += 1
        var index = entries.count
        while index > 0, entries[index - 1].start > start { index -= 1 }
        var end: MediaTime? = duration > .zero ? start + duration : nil
        if end == nil, index < entries.count { end = entries[index].start }
        if cue.isBitmap, let next = entries[index...].first(where: \.cue.isBitmap)?.start {
            end = min(end ?? next, next)
        }
        entries.insert(Entry(cue: cue, start: start, end: end, number: lastNumber), at: index)
        bytes += cue.byteCount
        if let end { longest = max(longest, end - start) }
        // What had no end of its own ends here. So do bitmaps: a display set replaces the one before, whose length may
        // be no more than a time-out (`page_time_out`, EN 300 743, 7.2.2).
        // Only the last one can have no end. Of bitmaps, none that started earlier than `longest` ago is still active.
        let last = max(0, index - 1)
        let active = cue.isBitmap ? min(firstIndex(after: start - longest), last) : last
        for before in active..<index
        where entries[before].end.map({ cue.isBitmap && entries[before].cue.isBitmap && $0 > start }) ?? true {
            entries[before].end = start
            longest = max(longest, start - entries[before].start)
        }
        return true
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        (bytes, longest) = (0, .zero)
    }

    /// Removes cues that start at a time or later, and ends those that are active then.
    mutating func cut(at time: MediaTime) {
        let kept = entries.firstIndex { $0.start >= time } ?? entries.count
        for entry in entries[kept...] { bytes -= entry.cue.byteCount }
        entries.removeSubrange(kept...)
        for index in entries.indices where entries[index].end.map({ $0 > time }) ?? true {
            entries[index].end = time
        }
    }

    /// Returns the cues active at a time in order of their start; at most `Limit.active`, the newest.
    mutating func active(at time: MediaTime) -> [ActiveCue] {
        var active: [ActiveCue] = []
        for entry in entries[reach(of: time)] where entry.end.map({ $0 > time }) ?? true {
            guard !entry.cue.isEmpty else { continue }
            active.append(ActiveCue(cue: entry.cue, start: entry.start, end: entry.end, number: entry.number))
        }
        if active.count > Limit.active {
            leftOut += active.count - Limit.active
            active.removeFirst(active.count - Limit.active)
        }
        return active
    }

    /// Returns when a cue starts or ends next; nil if none does.
    func nextChange(after time: MediaTime) -> MediaTime? {
        var next: MediaTime?
        let seen = reach(of: time)
        for entry in entries[seen] {
            if let end = entry.end, end > time { next = min(next ?? end, end) }
        }
        if seen.upperBound < entries.count {
            let start = entries[seen.upperBound].start
            next = min(next ?? start, start)
        }
        return next
    }

    /// Returns the range of cues that have started and may not have ended.
    private func reach(of time: MediaTime) -> Range<Int> {
        let end = firstIndex(after: time)
        // A cue that starts exactly `longest` earlier ends now; only the last cue can have no end.
        return min(firstIndex(after: time - longest), max(0, end - 1))..<end
    }

    /// Returns the index of the first cue that starts later than a time.
    private func firstIndex(after time: MediaTime) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].start <= time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension SubtitleCue {
    fileprivate var isBitmap: Bool {
        if case .images = content { true } else { false }
    }

    fileprivate var byteCount: Int {
        switch content {
        case .script(let event, _): event.count + 64
        case .images(let images, _): images.reduce(64) { $0 + $1.pixels.count }
        }
    }
}
