import MediaCore

/// Selects the next repair of a stall, from a barely visible one to a restart of the program. A value; the caller
/// provides the time.
struct RepairLadder: Sendable {
    /// The repairs, in increasing order of disruption.
    enum Stage: Int, Sendable, CaseIterable, Comparable {
        /// Seeks to the current position, which refills all buffers.
        case anchor
        /// Reopens the item and the audio outputs.
        case route
        /// Plays the next item.
        case next
        /// Leaves the only item, and plays the test sound on the same outputs.
        case test
        /// Recreates the window.
        case window
        /// Ends the program; its supervisor restarts it.
        case exit

        package static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }

        /// The name in metrics and in the fields of the journal.
        package var name: String {
            switch self {
            case .anchor: "anchor"
            case .route: "route"
            case .next: "next"
            case .test: "test"
            case .window: "window"
            case .exit: "exit"
            }
        }

        /// The repair as text for the log.
        var logText: String {
            switch self {
            case .anchor: "playback is restarted at the current position"
            case .route: "the film and its audio output are reopened"
            case .next: "the next film is played"
            case .test: "the film is left, and the outputs are tested with silence"
            case .window: "the window is recreated"
            case .exit: "the program exits to be restarted"
            }
        }
    }

    /// The stalled item.
    struct Item: Sendable, Hashable {
        /// A path or web address.
        var address: String
        /// The item is read over a network.
        var isRemote = false
        /// Data has arrived within the last `RepairLadder.serverPause`.
        var isArriving = false
        /// Another item can be played instead.
        var hasOther = true
        /// The number of other items.
        var otherCount = 1
        /// The item was excluded before, or another one advanced after it stalled, and has not played since.
        var hasFailed = false
        /// The item was excluded, and is played because no other one is left.
        var wasExcluded = false
        /// The test sound can be played instead.
        var isTestable = false
        /// Nothing of the item can be decoded.
        var isUnplayable = false

        init(
            _ address: String, isRemote: Bool = false, isArriving: Bool = false, hasOther: Bool = true,
            otherCount: Int = 1, hasFailed: Bool = false, isTestable: Bool = false
        ) {
            (self.address, self.otherCount) = (address, otherCount)
            (self.isRemote, self.isArriving, self.hasOther) = (isRemote, isArriving, hasOther)
            (self.hasFailed, self.isTestable) = (hasFailed, isTestable)
        }
    }

    /// The time without a stall that proves a repair. Longer than `Liveness.timeout`, so that the next stall is
    /// detected within it.
    private static let recovery = Duration.seconds(10)
    /// The maximum number of consecutive skipped items; after them the fault is assumed to be elsewhere. Items that
    /// lack media of their own are all skipped once.
    private static let maxPassed = 2
    /// The interval at which the only item of a playlist is reopened while its server sends nothing.
    static let serverPause = Duration.seconds(60)

    /// The last repair.
    private var last: (stage: Stage, at: HostInstant, address: String)?
    /// The number of consecutive skipped items.
    private var passed = 0

    init() {}

    /// Records progress of playback.
    mutating func recordAlive(at now: HostInstant) {
        guard let last, now - last.at >= Self.recovery else { return }
        (self.last, passed) = (nil, 0)
    }

    /// Returns the repair that is due; nil while the item is waited for.
    ///
    /// - Parameter isOverdue: Whether the item has been stalled for its maximum time.
    mutating func next(
        for cause: Liveness.Cause, of item: Item, isOverdue: Bool = false, at now: HostInstant
    ) -> Stage? {
        let stage = choice(for: cause, of: item, isOverdue, at: now)
        guard let stage else { return nil }
        if stage == .next { passed += 1 }
        last = (stage, now, item.address)
        return stage
    }

    /// Returns true if another item can be played instead of a stalled one.
    func canPass(_ item: Item, for cause: Liveness.Cause) -> Bool {
        let isFaultOfItem = ItemExclusions.Reason(of: cause) != nil
        return item.hasOther
            && (passed < (isFaultOfItem ? max(Self.maxPassed, item.otherCount) : Self.maxPassed)
                || cause == .waiting && item.isRemote)
    }

    /// Returns true if the test sound can be played instead of a stalled item, because no other item can.
    func canTest(_ item: Item, for cause: Liveness.Cause) -> Bool {
        item.isTestable && !canPass(item, for: cause)
            && (ItemExclusions.Reason(of: cause) != nil || cause == .audio && !item.hasOther)
    }

    private func choice(
        for cause: Liveness.Cause, of item: Item, _ isOverdue: Bool, at now: HostInstant
    ) -> Stage? {
        // A blocked thread accepts no commands.
        if cause == .engine { return .exit }
        let canPass = canPass(item, for: cause)
        let before = last.flatMap { $0.address == item.address || $0.stage > .next ? $0.stage : nil }
        if cause == .waiting {
            if item.isRemote, !item.hasOther {
                // Reopening discards the data that has arrived.
                return item.isArriving || last.map { now - $0.at < Self.serverPause } ?? false ? nil : .anchor
            }
            if canPass { return .next }
        }
        let isFaultOfItem = ItemExclusions.Reason(of: cause) != nil
        if isOverdue || item.hasFailed && isFaultOfItem, canPass { return .next }
        let canTest = canTest(item, for: cause)
        // The test sound has no picture: a decoder that hangs in this process is not ruled out.
        if item.wasExcluded, isFaultOfItem, canTest { return .exit }
        if isOverdue || item.hasFailed || cause == .waiting, canTest { return .test }
        switch before {
        case nil, .next?: return .anchor
        case .anchor?: return .route
        case .route? where canPass: return .next
        case .route? where canTest: return .test
        case .test?: return canTest ? .test : .anchor
        // A new window does not repair audio.
        case .route?: return cause == .audio || cause == .silence ? .exit : .window
        case .window?, .exit?: return .exit
        }
    }
}
