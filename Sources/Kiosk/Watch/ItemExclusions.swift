internal import MediaCore
internal import Playback
internal import Storage

/// The items of a playlist that are not played at present, with their reasons. Used on the kiosk's thread only.
struct ItemExclusions {
    typealias Item = PlaylistLoader.Item

    enum Reason: Sendable, Hashable {
        /// The item ended the program twice in a row.
        case crashed
        /// Neither video nor audio arrived, and repairs did not help.
        case stuck
        /// The server or the disk is slower than the item's data rate.
        case slow

        /// The reason to exclude an item that stalls; nil if the outputs may be the cause.
        init?(of cause: Liveness.Cause) {
            switch cause {
            case .waiting, .silence: self = .slow
            case .frozen, .hole, .decoder: self = .stuck
            case .engine, .video, .audio: return nil
            }
        }
    }

    /// An item that was left because it made no progress.
    private struct Stall {
        var item: Item
        /// Nil if the outputs may be the cause.
        var reason: Reason?
        /// Whether its audio was missing: only another item with audio shows that the outputs accept some.
        var lacksAudio: Bool
    }

    private struct Entry {
        var reason: Reason
        /// The end of the exclusion.
        var until: HostInstant
        /// The number of consecutive exclusions as `slow`.
        var count = 1
    }

    /// The time until a stuck item is retried, unless its file changes earlier.
    static let stuckPause = Duration.seconds(86_400)
    /// The time until a slow item is retried, doubled for each consecutive exclusion.
    static let slowPause = Duration.seconds(60)
    static let maxSlowPause = Duration.seconds(900)
    /// The delay before items that ended the program are played because nothing else is left.
    static let crashedPause = Duration.seconds(60)
    /// The same for stuck items.
    static let onlyStuckPause = Duration.seconds(900)
    /// The playing time after which an item that was excluded is not considered failed any more.
    private static let recoveryTime = Duration.seconds(15)
    private static let maxEntries = 1024
    /// The playing time after which an item is no longer a suspect.
    static let provingTime = Duration.seconds(600)
    /// The same for a file that was only opened ahead: it is opened and read ahead again within a second or two.
    static let provingTimeOfOpening = Duration.seconds(5)

    /// The number of stalls, with causes that may be outside the item, after which it is excluded: each time another
    /// one has played on the same outputs.
    private static let maxStalls = 2

    private let crashes: CrashRecord
    private var stalls: [Stall] = []
    /// Whether two items in a row lacked progress for causes that may be in the outputs, and none has advanced since.
    private var areOutputsAtFault = false
    /// Whether audio was among these causes: only another item with audio shows that the outputs accept some.
    private var lacksAudioOutput = false
    /// The number of consecutive stalls whose cause may be outside the item, by item.
    private var stallCounts: [Item: Int] = [:]
    private var entries: [Item: Entry] = [:]
    private var excluded: [(item: Item, reason: Reason)] = []
    /// When stuck items, or those that ended the program, are played because nothing is left; nil while others are.
    private var playsExcludedFrom: HostInstant? {
        didSet { if playsExcludedFrom == nil { hasAdmittedExcluded = false } }
    }
    /// Whether they were returned by `admit`.
    private var hasAdmittedExcluded = false
    private var playing: (item: Item, since: HostInstant)?

    init(_ crashes: CrashRecord) { self.crashes = crashes }

    // MARK: Playlist

    /// Returns the items to play. If all others are excluded, slow items are returned; if only stuck items are left,
    /// these are returned after `onlyStuckPause`, and items that ended the program after `crashedPause`.
    ///
    /// - Returns: Also the items that were not excluded at the last call, with their reasons.
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
            admitted = excluded.filter { $0.reason == .slow }.map(\.item)
            excluded.removeAll { $0.reason == .slow }
        }
        if admitted.isEmpty, !items.isEmpty {
            let due = playsExcludedFrom ?? now.advanced(by: runnable.isEmpty ? Self.crashedPause : Self.onlyStuckPause)
            playsExcludedFrom = due
            if due <= now {
                hasAdmittedExcluded = true
                admitted = runnable.isEmpty ? items : runnable
                excluded.removeAll { runnable.isEmpty || $0.reason != .crashed }
            }
        } else {
            playsExcludedFrom = nil
        }
        return (admitted, excluded.filter { !known.contains(Exclusion($0.item, $0.reason)) })
    }

    private struct Exclusion: Equatable {
        let item: Item
        let reason: Reason
        init(_ item: Item, _ reason: Reason) { (self.item, self.reason) = (item, reason) }
    }

    /// Records that an item is left because it makes no progress. It is excluded once another one has played.
    ///
    /// If two items in a row are left for causes that may be in the outputs, these are the cause.
    ///
    /// - Parameter isDamaged: Whether its media cannot be decoded.
    mutating func recordStalled(_ item: Item, for cause: Liveness.Cause, isDamaged: Bool) {
        // A film of which nothing can be decoded waits for data before it plays.
        let isUndecodable = isDamaged && (cause == .silence || cause == .waiting)
        let reason = isUndecodable ? .stuck : Reason(of: cause)
        let lacksAudio = cause == .audio || cause == .silence || isUndecodable
        if reason == nil {
            let others = stalls.filter { $0.reason == nil && $0.item != item }
            if !others.isEmpty { areOutputsAtFault = true }
            if areOutputsAtFault, lacksAudio || others.contains(where: \.lacksAudio) { lacksAudioOutput = true }
        }
        stalls.removeAll { $0.item == item || areOutputsAtFault && $0.reason == nil }
        guard reason != nil || !areOutputsAtFault, stalls.count < Self.maxEntries else { return }
        stalls.append(Stall(item: item, reason: reason, lacksAudio: lacksAudio))
    }

    /// Excludes the items that were left before one that advances. Returns true if there are any.
    mutating func recordAdvancing(_ item: Item, hasAudio: Bool, at now: HostInstant) -> Bool {
        if hasAudio || !lacksAudioOutput { (areOutputsAtFault, lacksAudioOutput) = (false, false) }
        guard !stalls.isEmpty else { return false }
        var isExcluding = false
        for stall in stalls where stall.item != item && (hasAudio || !stall.lacksAudio) {
            if stall.reason == nil || isShared(stall) {
                if stallCounts.count >= Self.maxEntries { stallCounts.removeAll() }
                stallCounts[stall.item, default: 0] += 1
                guard stallCounts[stall.item, default: 0] >= Self.maxStalls else { continue }
            }
            exclude(stall.item, for: stall.reason ?? .stuck, at: now)
            stallCounts[stall.item] = nil
            isExcluding = true
        }
        stalls.removeAll { $0.item == item || hasAudio || !$0.lacksAudio }
        return isExcluding
    }

    /// Whether several items were left for causes that a decoder which they share may have. That the test sound
    /// advances proves nothing then.
    var suspectsSharedDecoder: Bool {
        stalls.contains { stall in
            stall.reason == .stuck && !stall.lacksAudio && stallCounts.keys.contains { $0 != stall.item }
        }
    }

    /// Returns true if other items were left in a row with this one: a decoder or a clock that they share may be the
    /// cause. The audio of `silence` is the item's own.
    private func isShared(_ stall: Stall) -> Bool {
        func isCandidate(_ stall: Stall) -> Bool { stall.reason == .stuck && !stall.lacksAudio }
        return isCandidate(stall) && stalls.contains { $0.item != stall.item && isCandidate($0) }
    }

    mutating func exclude(_ item: Item, for reason: Reason, at now: HostInstant) {
        var count = 1
        if reason == .slow, let before = entries[item], before.reason == .slow { count = before.count + 1 }
        let pause =
            reason == .slow ? min(Self.maxSlowPause, Self.slowPause * (1 << min(count - 1, 8))) : Self.stuckPause
        if entries.count >= Self.maxEntries { entries.removeAll() }
        playsExcludedFrom = nil
        entries[item] = Entry(reason: reason, until: now.advanced(by: pause), count: count)
    }

    /// Returns true if an item may be played again since the last call of `admit`.
    mutating func expire(at now: HostInstant, wall: WallTime) -> Bool {
        var hasExpired = false
        crashes.update { if $0.expire(at: wall) { hasExpired = true } }
        if let due = playsExcludedFrom, due <= now, !hasAdmittedExcluded, !excluded.isEmpty { return true }
        return hasExpired || excluded.contains { $0.reason != .crashed && (entries[$0.item]?.until ?? now) <= now }
    }

    /// When items are retried of which no other one is left.
    var retryText: String {
        excluded.allSatisfy { $0.reason == .crashed } ? "after a minute" : "after a quarter of an hour"
    }

    /// Sentences about the excluded items, for health and MQTT.
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

    /// Returns true if a file outside the playlist, such as the slate image, ended the program twice in a row.
    func isSkipped(_ path: String) -> Bool {
        crashes.history.isSkipped(CrashHistory.key(of: path), edition: FileEdition(of: path)?.text ?? "")
    }

    // MARK: Current item

    /// Returns true if an item must be played with no other item open.
    func isSuspect(_ address: String) -> Bool { crashes.history.isSuspect(CrashHistory.key(of: address)) }

    /// Returns true if an item was excluded because it stalled, and has not played since.
    func hasFailed(_ item: Item) -> Bool { entries[item] != nil || stallCounts[item] != nil }

    /// Returns true if an item was excluded, and has not played since.
    func wasExcluded(_ item: Item) -> Bool { entries[item] != nil }

    /// Records that an item is perceived; the previous one was played to its end, unless it was left.
    mutating func recordBegan(_ item: Item, at now: HostInstant) {
        recordEnded(at: now)
        playing = (item, now)
        recordClosed(before: item)
    }

    /// Records that an item is perceived, as `recordBegan`; the end of the previous one was recorded when it was
    /// opened.
    func recordClosed(before item: Item) {
        let key = CrashHistory.key(of: item.address)
        crashes.update { $0.recordBegan(key) }
    }

    /// Records that an item plays: opened without a predecessor, or after a pause.
    mutating func recordPlaying(_ item: Item, at now: HostInstant) {
        if playing?.item.address != item.address { playing = (item, now) }
    }

    /// Records that the current item is left before its end.
    mutating func recordLeft() { playing = nil }

    /// Permits stuck items again, and does not exclude those that were left: the fault was not in the items.
    mutating func forgiveStuck() {
        for (item, entry) in entries where entry.reason == .stuck { entries[item] = nil }
        stalls = []
        stallCounts = [:]
    }

    /// Records that the current item presents video or audio. Returns true if it is no longer a suspect.
    @discardableResult
    mutating func recordProgress(of item: Item, at now: HostInstant) -> Bool {
        guard let playing else { return false }
        let (address, time) = (playing.item.address, now - playing.since)
        if address == item.address, time >= Self.recoveryTime { readmit(item, at: now) }
        guard time >= Self.provingTimeOfOpening else { return false }
        let (key, history) = (CrashHistory.key(of: address), crashes.history)
        let isProved =
            time >= Self.provingTime || history.wasOpenedAhead(key) && !InputCheck.isAddress(address)
        guard isProved, history.isSuspect(key) else { return false }
        crashes.update { $0.clearStrikes(key) }
        return true
    }

    /// Forgets an exclusion whose time is over, and the stalls of an item that has recovered since.
    private mutating func readmit(_ item: Item, at now: HostInstant) {
        if !stalls.contains(where: { $0.item == item }) { stallCounts[item] = nil }
        if let entry = entries[item], entry.until <= now { entries[item] = nil }
    }

    /// Records that nothing of an item could be played; the process continues. A stall of an item that has stalled
    /// before, unless its file is missing: it or its server may be away for a while.
    mutating func recordFailed(_ item: Item, isPresent: Bool = true) {
        let key = CrashHistory.key(of: item.address)
        crashes.update { $0.recordFailed(key) }
        if stallCounts[item] != nil, isPresent { recordStalled(item, for: .decoder, isDamaged: true) }
        if playing?.item == item { playing = nil }
    }

    /// Records the end of the current item.
    mutating func recordEnded(at now: HostInstant) {
        guard let item = playing?.item else { return }
        playing = nil
        readmit(item, at: now)
        let key = CrashHistory.key(of: item.address)
        crashes.update { $0.clearStrikes(key) }
    }

    /// Records a normal end of the process.
    func close() { crashes.close() }
}
