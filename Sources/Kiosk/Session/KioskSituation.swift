/// What a kiosk shows at present, as a value, and its descriptions for status line and health.
struct KioskSituation: Sendable {
    /// An item with its place in the playlist.
    struct Playing: Sendable {
        var item: ItemProgress.Item
        var number: Int
        var count: Int
    }

    /// The end of the quiet hours, as " until 07:00"; nil outside of them.
    var quietEnd: String?
    /// The time of the configured start; nil once it has passed.
    var start: String?
    var slate: Slate?
    /// The last failure; nil once an item plays.
    var failure: String?
    /// True while paused by a fleet command.
    var isHeld = false
    /// The item that plays; nil while none does.
    var playing: Playing?
    /// The source that playback waits for; nil while it does not wait.
    var awaitedSource: String?

    private static let nothingFound = "no films have been found yet"
    private var nothing: String { failure ?? Self.nothingFound }

    /// One line for the user, with items named by `name`.
    func summary(naming name: (ItemProgress.Item) -> String = ItemProgress.name) -> String {
        if let quietEnd { return "Quiet hours: screen and sound are off\(quietEnd)" }
        if let start { return "Starts at \(start)" }
        if case .nothing(let reason)? = slate { return "Nothing is shown: \(reason ?? nothing)" }
        guard let playing else { return "Searching for films" }
        let what = awaitedSource.map { "Waiting for \($0):" } ?? "Plays"
        return "\(what) '\(name(playing.item))' (\(playing.number) of \(playing.count))"
    }

    /// The same for health, metrics and MQTT.
    var shown: KioskHealth.Shown {
        if let quietEnd { return .off("quiet hours\(quietEnd)") }
        if let start { return .off("starts at \(start)") }
        if case .asked? = slate { return .slate }
        if case .nothing(let reason)? = slate { return .nothing(reason ?? nothing) }
        if isHeld { return .paused }
        guard let playing else { return .nothing(nothing) }
        return awaitedSource.map { .waiting("\($0): '\(ItemProgress.name(of: playing.item))'") } ?? .playing
    }
}
