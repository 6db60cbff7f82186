internal import MediaCore
internal import ScreenOutput

/// The visibility of the bar: shown for some seconds after pointer movement or a seek, and while the pointer is on it.
struct BarVisibility {
    private var hidesAt: HostInstant?
    /// The part under the pointer.
    private(set) var control: ScreenBar.Control?

    /// How long it remains after the last movement.
    private static let stay = Duration.seconds(2)
    /// How long it remains under a motionless pointer.
    private static let longestStay = Duration.seconds(10)

    mutating func pointerMoved(at now: HostInstant, over part: ScreenBar.Control?) {
        self.control = part
        hidesAt = now.advanced(by: part != nil ? Self.longestStay : Self.stay)
    }

    /// The pointer has left the window: only the usual delay remains.
    mutating func pointerLeft(at now: HostInstant) {
        control = nil
        hidesAt = hidesAt.map { min($0, now.advanced(by: Self.stay)) }
    }

    /// Shows the bar after a use of it or of an equivalent key.
    mutating func wasUsed(at now: HostInstant) {
        hidesAt = max(hidesAt ?? now, now.advanced(by: control != nil ? Self.longestStay : Self.stay))
    }

    func isShown(at now: HostInstant) -> Bool { hidesAt.map { now < $0 } ?? false }
}
