import MediaCore

/// The state of a kiosk, retained by the broker. A value; nil members are omitted.
package struct KioskStateMessage: Sendable, Hashable {
    /// The version of the program.
    var release = ""
    /// `playing`, `waiting`, `paused`, `slate`, `off` or `nothing`.
    package var phase = ""
    package var title: String?
    /// The playlist position, from 1, and the number of items.
    var item: Int?
    var items: Int?
    var position: MediaTime?
    var duration: MediaTime?
    /// The name of the day part.
    var dayPeriod: String?
    var speakers: [String] = []
    package var volume: Double?
    /// The source of the wall's time, and how far the film is ahead of the wall.
    var clock: String?
    var wallOffset: Duration?
    /// The time since the start, and the number of repairs since then.
    var uptime: Duration?
    var repairs: Int?
    /// Problems that need the user's attention, the most urgent first.
    var problems: [String] = []

    package init() {}

    /// Creates the message of a health, without the members that describe the player and the wall.
    init(_ health: KioskHealth) {
        let health = health.withoutFolders
        release = Release.version
        phase = health.shown.name
        speakers = health.outputs.map(\.name)
        uptime = health.uptime
        repairs = health.repairs.values.reduce(0, +)
        problems = [health.fault, health.configuration.refusal].compactMap { $0 } + health.degradations
    }

    private static let maxListItems = 20
    private static let longest = 300

    /// The message as JSON. Lists and texts are truncated.
    var json: String {
        var members: [(String, JSONValue)] = [
            ("release", .text(Self.bounded(release))), ("phase", .text(Self.bounded(phase))),
        ]
        func add(_ name: String, _ value: JSONValue?) { if let value { members.append((name, value)) } }
        add("title", title.map { .text(Self.bounded(PrintableText.withoutFolders($0))) })
        add("item", item.map { .integer($0) })
        add("items", items.map { .integer($0) })
        add("position", position.map { .real($0.seconds, decimals: 3) })
        add("duration", duration.map { .real($0.seconds, decimals: 3) })
        add("part", dayPeriod.map { .text(Self.bounded($0)) })
        add("speakers", .array(speakers.prefix(Self.maxListItems).map { .text(Self.bounded($0)) }))
        add("volume", volume.map { .real($0, decimals: 1) })
        add("clock", clock.map { .text(Self.bounded($0)) })
        add("wall_offset", wallOffset.map { .real($0.inSeconds, decimals: 6) })
        add("uptime", uptime.map { .real($0.inSeconds, decimals: 0) })
        add("repairs", repairs.map { .integer($0) })
        add("problems", .array(problems.prefix(Self.maxListItems).map { .text(Self.bounded($0)) }))
        return JSONValue.object(members).compact
    }

    private static func bounded(_ text: String) -> String { String(PrintableText.of(text).prefix(longest)) }
}
