internal import MediaCore
internal import Storage

/// The items that were open when earlier processes of the kiosk crashed. A value; the caller provides the time.
///
/// An item that was open at two crashes in a row is skipped until its file changes or a day has passed. After the
/// first end it is a suspect: it is played with no other item open, so that a second end has one possible cause.
struct CrashHistory: Sendable, Equatable {
    /// An item that was open when a process ended.
    private struct Strike: Sendable, Equatable {
        var count: Int
        /// `FileEdition.text`; empty for an item that is not a file.
        var edition: String
        /// The time of the last of these ends, in seconds since 1970.
        var at: Int
        /// True if the item was opened ahead at that end, and was not the one that played.
        var wasAhead = false
    }

    /// An open item, by its key.
    private struct Opening: Sendable, Equatable {
        var key: String
        /// `FileEdition.text`; empty for an item that is not a file.
        var edition: String
        /// True if an item that was opened before it had begun; set in a history that was read.
        var isAhead = false
    }

    /// The number of consecutive ends after which an item is skipped.
    static let maxCrashes = 2
    /// The time until a skipped item is retried, in seconds.
    static let retryAfter = 86_400
    private static let maxOpen = 16
    private static let maxStrikes = 256
    /// The size of a record in bytes: a page. A process that is killed has written all of it or nothing.
    static let recordSize = 4096
    static let kind = "kiosk-items"
    static let version = 1

    /// The items open for playback, in the order of opening.
    private var open: [Opening] = []
    /// The items open for measuring; an item may be in both lists.
    private var measured: [Opening] = []
    private var strikes: [String: Strike] = [:]

    init() {}

    /// Returns the identifier of an item in the file: a hash of its address without credentials (FNV-1a, 64 bits).
    static func key(of address: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in PrintableText.withoutCredentials(address).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }

    // MARK: Events of a process

    /// Blames the items that were open when the previous process crashed. Returns the items that are skipped as a
    /// result.
    ///
    /// - Parameter afterCrash: False if the previous process was killed or stopped, or the computer was.
    mutating func begin(at now: WallTime, afterCrash: Bool) -> [String] {
        defer { open = [] }
        guard afterCrash else { return [] }
        let suspects = open.filter { strikes[$0.key]?.edition == $0.edition }
        // Only on a wall can several suspects be open. The one opened last is blamed; the others remain suspects.
        for suspect in suspects.dropLast() {
            strikes[suspect.key] = Strike(count: Self.maxCrashes - 1, edition: suspect.edition, at: now.seconds)
        }
        // No other item becomes a suspect then: the one that played before a suspect is recorded as open until the
        // suspect is perceived, and it was closed.
        for opening in suspects.isEmpty ? open : suspects.suffix(1) {
            strikes[opening.key] = Strike(
                count: suspects.isEmpty ? 1 : Self.maxCrashes, edition: opening.edition, at: now.seconds,
                wasAhead: suspects.isEmpty && opening.isAhead)
        }
        while strikes.count > Self.maxStrikes, let oldest = strikes.min(by: { $0.value.at < $1.value.at }) {
            strikes[oldest.key] = nil
        }
        return suspects.suffix(1).map(\.key)
    }

    /// Records that an item is about to be opened.
    mutating func recordOpening(_ key: String, edition: String) {
        open.removeAll { $0.key == key }
        open.append(Opening(key: key, edition: edition))
        if open.count > Self.maxOpen { open.removeFirst() }
        forgiveStrikes(of: key, unlessOf: edition)
    }

    /// Records that an item is about to be opened for measuring its duration.
    mutating func recordMeasuring(_ key: String, edition: String) {
        measured.append(Opening(key: key, edition: edition))
        forgiveStrikes(of: key, unlessOf: edition)
    }

    /// Records that a measured item was closed.
    mutating func recordMeasured(_ key: String) {
        if let index = measured.firstIndex(where: { $0.key == key }) { measured.remove(at: index) }
    }

    /// Clears the strikes of an item whose file has changed.
    private mutating func forgiveStrikes(of key: String, unlessOf edition: String) {
        if strikes[key].map({ $0.edition != edition }) ?? false { strikes[key] = nil }
    }

    /// Records that an item is perceived; those opened before it are closed.
    mutating func recordBegan(_ key: String) {
        guard let index = open.firstIndex(where: { $0.key == key }) else { return }
        open.removeFirst(index)
    }

    /// Clears the strikes of an item that was played to its end, or for long enough.
    mutating func clearStrikes(_ key: String) { strikes[key] = nil }

    /// Records that an item cannot be played; the process continues.
    mutating func recordFailed(_ key: String) {
        open.removeAll { $0.key == key }
        strikes[key] = nil
    }

    /// Records a normal end of the process.
    mutating func close() { (open, measured) = ([], []) }

    /// Permits another attempt for items that were skipped for a day. Returns true if there are any.
    mutating func expire(at now: WallTime) -> Bool {
        var hasExpired = false
        for (key, strike) in strikes where strike.count >= Self.maxCrashes {
            // The absolute difference, so that a clock that was set back does not extend the wait.
            guard abs(now.seconds - strike.at) >= Self.retryAfter else { continue }
            strikes[key]?.count = Self.maxCrashes - 1
            hasExpired = true
        }
        return hasExpired
    }

    // MARK: Queries

    /// Returns true if an item must be played with no other item open.
    func isSuspect(_ key: String) -> Bool { strikes[key] != nil }

    /// Returns true if a suspect was opened ahead at the end that made it one.
    func wasOpenedAhead(_ key: String) -> Bool { strikes[key]?.wasAhead ?? false }

    /// Returns true if this edition of an item is skipped.
    func isSkipped(_ key: String, edition: String) -> Bool {
        strikes[key].map { $0.count >= Self.maxCrashes && $0.edition == edition } ?? false
    }

    // MARK: File

    /// The record of `recordSize` bytes. The oldest strikes that do not fit are missing.
    var record: StateRecord {
        let strikes = strikes.sorted { ($1.value.at, $1.key) < ($0.value.at, $0.key) }
        var count = strikes.count
        while true {
            var record = record(of: strikes.prefix(count))
            // "padding", a space, and the end of the line.
            let missing = Self.recordSize - record.encoded().count - 9
            guard missing < 0, count > 0 else {
                record["padding"] = String(repeating: ".", count: max(0, missing))
                return record
            }
            count -= max(1, count / 8)
        }
    }

    private func record(of strikes: ArraySlice<(key: String, value: Strike)>) -> StateRecord {
        var record = StateRecord(kind: Self.kind, version: Self.version)
        let played = open.enumerated().map { Opening(key: $1.key, edition: $1.edition, isAhead: $0 > 0) }
            .filter { opening in !measured.contains { $0.key == opening.key } }
        for (number, opening) in (played + measured).suffix(Self.maxOpen).enumerated() {
            record["open-\(number)"] = "\(opening.key) \(opening.edition)"
            if opening.isAhead { record["next-\(number)"] = "1" }
        }
        for (key, strike) in strikes {
            record["crash-\(key)"] = "\(strike.count) \(strike.at) \(strike.edition)"
            if strike.wasAhead { record["ahead-\(key)"] = "1" }
        }
        return record
    }

    /// Restores a history; missing and invalid values are ignored.
    init(_ record: StateRecord) {
        for number in 0..<Self.maxOpen {
            guard let value = record["open-\(number)"] else { break }
            let fields = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            open.removeAll { $0.key == fields[0] }
            open.append(
                Opening(
                    key: fields[0], edition: fields.count > 1 ? fields[1] : "", isAhead: record["next-\(number)"] != nil
                ))
        }
        for (name, value) in record.values.sorted(by: { $0.key < $1.key }) where name.hasPrefix("crash-") {
            let fields = value.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            guard strikes.count < Self.maxStrikes, fields.count >= 2, let count = DecimalNumber.integer(fields[0]),
                let at = DecimalNumber.integer(fields[1]), (1...Self.maxCrashes).contains(count), at >= 0
            else { continue }
            let key = String(name.dropFirst(6))
            strikes[key] = Strike(
                count: count, edition: fields.count > 2 ? String(fields[2]) : "", at: at,
                wasAhead: record["ahead-\(key)"] != nil)
        }
    }
}
