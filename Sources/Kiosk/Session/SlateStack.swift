/// The shown slate, the one under the slate of a fleet command, and whether a fleet command has paused the kiosk. A
/// value; the mutating functions return true if another slate, or none, is to be shown.
struct SlateStack: Sendable {
    /// The slate to show; nil while a film is shown.
    private(set) var shown: Slate?
    /// The slate that the slate of a fleet command replaced.
    private var covered: Slate?
    /// True while paused by a fleet command.
    private(set) var isHeld = false

    /// Shows a slate. While the kiosk is paused, the slate of a fleet command stays in front.
    mutating func show(_ slate: Slate) -> Bool {
        guard slate != shown else { return false }
        if isCommandInFront, !slate.isCommanded {
            covered = slate
            return false
        }
        shown = slate
        return true
    }

    /// Removes the slate. While the kiosk is paused, the slate of a fleet command stays.
    mutating func hide() -> Bool {
        if isCommandInFront {
            covered = nil
            return false
        }
        defer { shown = nil }
        return shown != nil
    }

    /// Pauses the kiosk until `resume`.
    mutating func hold() { isHeld = true }

    /// Pauses the kiosk and shows the slate of a fleet command until `resume`.
    mutating func hold(showing text: String?) -> Bool {
        isHeld = true
        if shown?.isCommanded != true { covered = shown }
        return show(.asked(text))
    }

    /// Ends the pause. The slate of a fleet command is replaced by the one that it covered.
    mutating func resume() -> Bool {
        isHeld = false
        guard shown?.isCommanded == true else { return false }
        (shown, covered) = (covered, nil)
        return true
    }

    private var isCommandInFront: Bool { isHeld && shown?.isCommanded == true }
}

extension Slate {
    fileprivate var isCommanded: Bool { if case .asked = self { true } else { false } }
}
