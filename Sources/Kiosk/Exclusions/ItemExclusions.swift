internal import MediaCore
internal import Playback

/// Which items of a list are not played at present, and why. The kiosk's thread only.
struct ItemExclusions {
    typealias Item = PlaylistLoader.Item

    enum Reason: Sendable, Hashable {
        /// It ended the program twice in a row.
        case crashed
        /// Neither picture nor sound came, and repairs did not help.
        case stuck
        /// Its server, or its disk, is slower than the film.
        case slow
    }

    private struct Entry {
        var reason: Reason
        /// Excluded until then.
        var until: HostInstant
        /// How often in a row it was too slow.
        var count = 1
    }

    /// A film that got stuck is tried again after so long, if its file does not change before.
    static let stuckPause = Duration.seconds(86_400)
    /// A film that was too slow is tried again after so long, doubled each time in a row.
    static let slowPause = Duration.seconds(60)
    static let maxSlowPause = Duration.seconds(900)
    /// Films that ended the program are played all the same after so long, where nothing else is left to play.
    static let crashedPause = Duration.seconds(60)
    private static let maxEntries = 1024
    /// An item that plays for so long is no suspect any more.
    static let provingTime = Duration.seconds(600)

    private let crashes: CrashRecord
    private var entries: [Item: Entry] = [:]
    private var excluded: [(item: Item, reason: Reason)] = []
    /// When items that ended the program are played because nothing else is left; nil while something is.
    private var playsCrashedFrom: HostInstant?
    private var playing: (address: String, since: HostInstant)?

    init(_ crashes: CrashRecord) { self.crashes = crashes }

    // MARK: The list

    /// Returns the items that are to be played. Where only slow or stuck ones are left, these; where only those are left
    /// that ended the program, these after `crashedPause`.
    ///
    /// - Returns: also the items that were not excluded at the last call, with their reasons.
    mutating func admit(_ items: [Item], at now: HostInstant) -> (items: [Item], new: [(item: Item, reason: Reason)]) {
        let history = crashes.history
        let known = excluded.map { Exclusion($0.item, $0.reason) }
        var runnable: [Item] = []
        var admitted: [Item] = []
        excluded = []
        for item in items {
            if history.isSkipped(CrashHistory.key(of: item.address), edition: item.edition?.text ?? "") {
                excluded.append((item, .crashed))
                continue
            }
            runnable.append(item)
            if let entry = entries[item], entry.until > now {
                excluded.append((item, entry.reason))
            } else {
                admitted.append(item)
            }
        }
        if admitted.isEmpty {
            admitted = runnable
            excluded.removeAll { $0.reason != .crashed }
        }
        if admitted.isEmpty, !items.isEmpty {
            let due = playsCrashedFrom ?? now.advanced(by: Self.crashedPause)
            playsCrashedFrom = due
            if due <= now { (admitted, excluded) = (items, []) }
        } else {
            playsCrashedFrom = nil
        }
        return (admitted, excluded.filter { !known.contains(Exclusion($0.item, $0.reason)) })
    }

    private struct Exclusion: Equatable {
        let item: Item
        let reason: Reason
        init(_ item: Item, _ reason: Reason) { (self.item, self.reason) = (item, reason) }
    }

    mutating func exclude(_ item: Item, for reason: Reason, at now: HostInstant) {
        var count = 1
        if reason == .slow, let before = entries[item], before.reason == .slow { count = before.count + 1 }
        let pause =
            reason == .slow ? min(Self.maxSlowPause, Self.slowPause * (1 << min(count - 1, 8))) : Self.stuckPause
        if entries.count >= Self.maxEntries { entries.removeAll() }
        entries[item] = Entry(reason: reason, until: now.advanced(by: pause), count: count)
    }

    /// Returns true when an item may be played again since the last call of `admit`.
    mutating func expire(at now: HostInstant, wall: WallTime) -> Bool {
        var hasExpired = false
        crashes.update { if $0.expire(at: wall) { hasExpired = true } }
        if let due = playsCrashedFrom, due <= now, !excluded.isEmpty { return true }
        return hasExpired || excluded.contains { $0.reason != .crashed && (entries[$0.item]?.until ?? now) <= now }
    }

    /// Sentences about the items that are excluded, for health and MQTT.
    var sentences: [String] { excluded.map { Self.sentence($0.item, $0.reason) } }

    static func sentence(_ item: Item, _ reason: Reason) -> String {
        let name = "'\(item.title ?? PrintableText.withoutCredentials(item.address))'"
        switch reason {
        case .crashed:
            return "\(name) is skipped for a day, or until its file changes: it ended the program twice in a row"
        case .stuck:
            return "\(name) is skipped for a day, or until its file changes: it showed neither picture nor sound"
        case .slow: return "\(name) is played later: it arrives too slowly"
        }
    }

    /// Returns true for a file beside the list that ended the program twice in a row: the picture of the slate.
    func isSkipped(_ path: String) -> Bool {
        crashes.history.isSkipped(CrashHistory.key(of: path), edition: FileEdition(of: path)?.text ?? "")
    }

    // MARK: The item that plays

    /// Returns true for an item that is played with no other item open.
    func isSuspect(_ address: String) -> Bool { crashes.history.isSuspect(CrashHistory.key(of: address)) }

    /// An item is perceived; the one before it was played to its end.
    mutating func noteBegan(_ item: Item, at now: HostInstant) {
        noteEnded()
        playing = (item.address, now)
        let key = CrashHistory.key(of: item.address)
        crashes.update { $0.noteBegan(key) }
    }

    /// An item plays: after it was opened without an item before it, or after a pause.
    mutating func notePlaying(_ item: Item, at now: HostInstant) {
        if playing?.address != item.address { playing = (item.address, now) }
    }

    /// The fault is not in the items: those that got stuck are played again.
    mutating func forgiveStuck() { for (item, entry) in entries where entry.reason == .stuck { entries[item] = nil } }

    /// The item that plays shows pictures, or is heard.
    mutating func noteProgress(of item: Item, at now: HostInstant) {
        if let entry = entries[item], entry.until <= now { entries[item] = nil }
        guard let playing, now - playing.since >= Self.provingTime, isSuspect(playing.address) else { return }
        let key = CrashHistory.key(of: playing.address)
        crashes.update { $0.notePlayed(key) }
    }

    /// An item could not be played, which ended nothing but itself.
    func noteFailed(_ address: String) {
        let key = CrashHistory.key(of: address)
        crashes.update { $0.noteFailed(key) }
    }

    /// The item that plays has ended.
    mutating func noteEnded() {
        guard let address = playing?.address else { return }
        playing = nil
        let key = CrashHistory.key(of: address)
        crashes.update { $0.notePlayed(key) }
    }

    /// The process ends as it should.
    func close() { crashes.close() }
}
