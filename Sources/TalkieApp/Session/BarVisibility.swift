internal import LocalOutput
internal import MediaCore

/// When the bar is shown: for a while after the pointer moved or somebody wound the film, and as long as the pointer rests on it.
struct BarVisibility {
    private var hidesAt: HostInstant?
    /// The part under the pointer.
    private(set) var part: ScreenBar.Part?

    /// How long it stays behind the last movement.
    private static let stay = Duration.seconds(2)
    /// A pointer that lies on the bar and is forgotten there.
    private static let longestStay = Duration.seconds(10)

    mutating func pointerMoved(at now: HostInstant, over part: ScreenBar.Part?) {
        self.part = part
        hidesAt = now.advanced(by: part != nil ? Self.longestStay : Self.stay)
    }

    /// The pointer has left the window: nothing rests on the bar any more.
    mutating func pointerLeft(at now: HostInstant) {
        part = nil
        hidesAt = hidesAt.map { min($0, now.advanced(by: Self.stay)) }
    }

    /// Something was asked for with it, or with a key that it answers.
    mutating func wasUsed(at now: HostInstant) {
        hidesAt = max(hidesAt ?? now, now.advanced(by: part != nil ? Self.longestStay : Self.stay))
    }

    func isShown(at now: HostInstant) -> Bool { hidesAt.map { now < $0 } ?? false }
}
