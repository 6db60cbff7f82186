internal import MediaCore

/// When the bar is shown: for a while after the pointer moved, and as long as it rests on the bar.
struct BarVisibility {
    private var hidesAt: HostInstant?
    private var isOverBar = false

    /// How long it stays behind the last movement.
    private static let stay = Duration.seconds(2)
    /// A pointer that lies on the bar and is forgotten there.
    private static let longestStay = Duration.seconds(10)

    mutating func pointerMoved(at now: HostInstant, isOverBar: Bool) {
        self.isOverBar = isOverBar
        hidesAt = now.advanced(by: isOverBar ? Self.longestStay : Self.stay)
    }

    /// Something was asked for with it, or with a key that it answers.
    mutating func wasUsed(at now: HostInstant) {
        hidesAt = max(hidesAt ?? now, now.advanced(by: isOverBar ? Self.longestStay : Self.stay))
    }

    func isShown(at now: HostInstant) -> Bool { hidesAt.map { now < $0 } ?? false }
}
