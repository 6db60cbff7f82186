internal import MediaCore
internal import Storage

/// Which items were open when earlier processes of the kiosk ended without a farewell. A value; the caller provides the time.
///
/// An item that was open at two such ends in a row is skipped until its file changes or a day has passed. After the first end an item is a
/// suspect: it is played with no other item open, so that a second end has one possible cause.
struct CrashHistory: Sendable, Equatable {
    /// An item that was open at the end of a process.
    private struct Strike: Sendable, Equatable {
        var count: Int
        /// `FileEdition.text`; empty for what is no file.
        var edition: String
        /// The last of these ends, in seconds since 1970.
        var at: Int
    }

    /// An item that is open, by its key.
    private struct Opening: Sendable, Equatable {
        var key: String
        /// `FileEdition.text`; empty for what is no file.
        var edition: String
    }

    /// The number of ends in a row after which an item is skipped.
    static let maxCrashes = 2
    /// Until an item that is skipped is tried again, in seconds.
    static let retryAfter = 86_400
    private static let maxOpen = 64
    private static let maxStrikes = 256
    static let kind = "kiosk-items"
    static let version = 1

    /// The items that are open to be played, the one that was opened last at the end.
    private var open: [Opening] = []
    /// Those that are open to be measured; an item may be in both.
    private var measured: [Opening] = []
    private var strikes: [String: Strike] = [:]

    init() {}

    /// Identifies an item in the file without the credentials of its address (FNV-1a, 64 bits).
    static func key(of address: String) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in PrintableText.withoutCredentials(address).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }

    // MARK: Events of a process

    /// Blames what was open when the process before ended. Returns the items that are skipped from now on.
    mutating func begin(at now: WallTime) -> [String] {
        defer { open = [] }
        var guilty: [String] = []
        for opening in open {
            let before = strikes[opening.key].flatMap { $0.edition == opening.edition ? $0.count : nil } ?? 0
            let count = min(Self.maxCrashes, before + 1)
            strikes[opening.key] = Strike(count: count, edition: opening.edition, at: now.seconds)
            if count == Self.maxCrashes { guilty.append(opening.key) }
        }
        // Several suspects can be open on a wall only: the one that was opened last is blamed, the others stay suspects.
        for key in guilty.dropLast() { strikes[key]?.count = Self.maxCrashes - 1 }
        while strikes.count > Self.maxStrikes, let oldest = strikes.min(by: { $0.value.at < $1.value.at }) {
            strikes[oldest.key] = nil
        }
        return guilty.suffix(1)
    }

    /// An item is about to be opened.
    mutating func noteOpening(_ key: String, edition: String) {
        open.removeAll { $0.key == key }
        open.append(Opening(key: key, edition: edition))
        if open.count > Self.maxOpen { open.removeFirst() }
        forgiveStrikes(of: key, unlessOf: edition)
    }

    /// An item is about to be opened for a look at its length.
    mutating func noteMeasuring(_ key: String, edition: String) {
        measured.append(Opening(key: key, edition: edition))
        forgiveStrikes(of: key, unlessOf: edition)
    }

    /// An item was measured, and is closed again.
    mutating func noteMeasured(_ key: String) {
        if let index = measured.firstIndex(where: { $0.key == key }) { measured.remove(at: index) }
    }

    /// The file is another one now.
    private mutating func forgiveStrikes(of key: String, unlessOf edition: String) {
        if strikes[key].map({ $0.edition != edition }) ?? false { strikes[key] = nil }
    }

    /// An item is perceived: those that were opened before it are closed.
    mutating func noteBegan(_ key: String) {
        guard let index = open.firstIndex(where: { $0.key == key }) else { return }
        open.removeFirst(index)
    }

    /// An item was played to its end, or for long enough.
    mutating func notePlayed(_ key: String) { strikes[key] = nil }

    /// An item could not be played, which ended nothing but itself.
    mutating func noteFailed(_ key: String) {
        open.removeAll { $0.key == key }
        strikes[key] = nil
    }

    /// The process ends as it should.
    mutating func close() { (open, measured) = ([], []) }

    /// Gives items another chance whose day has passed; true when there was one.
    mutating func expire(at now: WallTime) -> Bool {
        var hasExpired = false
        for (key, strike) in strikes where strike.count >= Self.maxCrashes {
            // A clock that was set back is no reason to wait longer.
            guard abs(now.seconds - strike.at) >= Self.retryAfter else { continue }
            strikes[key]?.count = Self.maxCrashes - 1
            hasExpired = true
        }
        return hasExpired
    }

    // MARK: Questions

    /// Returns true for an item that is played with no other item open.
    func isSuspect(_ key: String) -> Bool { strikes[key] != nil }

    func isSkipped(_ key: String, edition: String) -> Bool {
        strikes[key].map { $0.count >= Self.maxCrashes && $0.edition == edition } ?? false
    }

    // MARK: The file

    var record: StateRecord {
        var record = StateRecord(kind: Self.kind, version: Self.version)
        let played = open.filter { opening in !measured.contains { $0.key == opening.key } }
        for (number, opening) in (played + measured).suffix(Self.maxOpen).enumerated() {
            record["open-\(number)"] = "\(opening.key) \(opening.edition)"
        }
        for (key, strike) in strikes.sorted(by: { $0.key < $1.key }) {
            record["crash-\(key)"] = "\(strike.count) \(strike.at) \(strike.edition)"
        }
        return record
    }

    /// What a record does not say, or says wrong, is absent.
    init(_ record: StateRecord) {
        for number in 0..<Self.maxOpen {
            guard let value = record["open-\(number)"] else { break }
            let parts = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            open.removeAll { $0.key == parts[0] }
            open.append(Opening(key: parts[0], edition: parts.count > 1 ? parts[1] : ""))
        }
        for (name, value) in record.values.sorted(by: { $0.key < $1.key }) where name.hasPrefix("crash-") {
            let parts = value.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            guard strikes.count < Self.maxStrikes, parts.count >= 2, let count = DecimalNumber.whole(parts[0]),
                let at = DecimalNumber.whole(parts[1]), (1...Self.maxCrashes).contains(count), at >= 0
            else { continue }
            strikes[String(name.dropFirst(6))] = Strike(
                count: count, edition: parts.count > 2 ? String(parts[2]) : "", at: at)
        }
    }
}
