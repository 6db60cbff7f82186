package import MediaCore

/// Which repair comes next: from the one that is hardly seen to the one that ends the program. A value.
package struct RepairLadder: Sendable {
    package enum Stage: Int, Sendable, CaseIterable, Comparable {
        /// The film goes to where it is, so that everything is collected anew.
        case anchor
        /// The film is opened anew, and the sound's outputs too.
        case route
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
            case .window: "the window is made anew"
            case .exit: "the program ends, so that it is started anew"
            }
        }
    }

    /// What was repaired needs so long to show that it helped.
    private static let pause = Duration.seconds(10)
    /// Who was well for so long begins from below.
    private static let recovery = Duration.seconds(120)

    private var last: (stage: Stage, at: HostInstant)?

    package init() {}

    /// The stage that is due; nil while the one before may still help.
    package mutating func next(for cause: Liveness.Cause, at now: HostInstant) -> Stage? {
        guard let last, now - last.at < Self.recovery else {
            // A thread that stands still takes no commands.
            let first = cause == .engine ? Stage.exit : .anchor
            self.last = (first, now)
            return first
        }
        guard now - last.at >= Self.pause else { return nil }
        var stage = Stage(rawValue: last.stage.rawValue + 1) ?? .exit
        // Another window brings no sound.
        if stage == .window, cause == .sound { stage = .exit }
        self.last = (stage, now)
        return stage
    }
}
