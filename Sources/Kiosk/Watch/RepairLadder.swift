package import MediaCore

/// Which repair comes next: from the one that is hardly seen to the one that ends the program. A value.
package struct RepairLadder: Sendable {
    package enum Stage: Int, Sendable, CaseIterable, Comparable {
        /// The film goes to where it is, so that everything is collected anew.
        case anchor
        /// The film is opened anew, and the sound's outputs too.
        case route
        /// The next item is played.
        case next
        /// Another window.
        case window
        /// The program ends, and its supervisor starts it anew.
        case exit

        package static func < (left: Stage, right: Stage) -> Bool { left.rawValue < right.rawValue }

        /// For people and the record.
        package var words: String {
            switch self {
            case .anchor: "the film is taken up anew where it is"
            case .route: "the film and its sound are opened anew"
            case .next: "the next film is played"
            case .window: "the window is made anew"
            case .exit: "the program ends, so that it is started anew"
            }
        }
    }

    /// The item whose playback stalls.
    package struct Item: Sendable, Hashable {
        package var address: String
        /// It comes over a network.
        package var isRemote = false
        /// Data of it has arrived within the last `RepairLadder.serverPause`.
        package var isArriving = false
        /// Another item can be played in its place.
        package var hasOther = true

        package init(_ address: String, isRemote: Bool = false, isArriving: Bool = false, hasOther: Bool = true) {
            self.address = address
            (self.isRemote, self.isArriving, self.hasOther) = (isRemote, isArriving, hasOther)
        }
    }

    /// Playback that ran for so long after a repair was repaired by it. More than `Liveness.timeout`: the next stall is seen before.
    private static let recovery = Duration.seconds(10)
    /// So many items may be passed over in a row before the fault is looked for elsewhere.
    private static let maxPassed = 2
    /// The only item of a list is opened again so often while its server sends nothing.
    static let serverPause = Duration.seconds(60)

    private var last: (stage: Stage, at: HostInstant, address: String)?
    private var passed = 0

    package init() {}

    /// Playback makes progress.
    package mutating func noteAlive(at now: HostInstant) {
        guard let last, now - last.at >= Self.recovery else { return }
        (self.last, passed) = (nil, 0)
    }

    /// Returns the stage that is due; nil while the item is waited for.
    ///
    /// - Parameter isOverdue: the item has held the screen for as long as it may.
    package mutating func next(
        for cause: Liveness.Cause, of item: Item, isOverdue: Bool = false, at now: HostInstant
    ) -> Stage? {
        let stage = choice(for: cause, of: item, isOverdue, at: now)
        guard let stage else { return nil }
        if stage == .next { passed += 1 }
        last = (stage, now, item.address)
        return stage
    }

    private func choice(
        for cause: Liveness.Cause, of item: Item, _ isOverdue: Bool, at now: HostInstant
    ) -> Stage? {
        // A thread that does not run takes no commands.
        if cause == .engine { return .exit }
        let canPass = item.hasOther && (passed < Self.maxPassed || cause == .waiting && item.isRemote)
        let before = last.flatMap { $0.address == item.address || $0.stage > .next ? $0.stage : nil }
        if cause == .waiting {
            if item.isRemote, !item.hasOther {
                // Opening it again throws away what has arrived.
                return item.isArriving || last.map { now - $0.at < Self.serverPause } ?? false ? nil : .anchor
            }
            if canPass { return .next }
        }
        if isOverdue, canPass { return .next }
        switch before {
        case nil, .next?: return .anchor
        case .anchor?: return .route
        case .route? where canPass: return .next
        // Another window brings no sound.
        case .route?: return cause == .sound ? .exit : .window
        case .window?, .exit?: return .exit
        }
    }
}
