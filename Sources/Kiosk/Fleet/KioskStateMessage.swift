package import MediaCore

/// What a fleet is told of a kiosk, retained by the broker. A value; what is nil is left out.
package struct KioskStateMessage: Sendable, Hashable {
    /// The program's release.
    package var release = ""
    /// `playing`, `paused`, `slate`, `quiet`, `waiting`: the session's own word.
    package var phase = ""
    package var title: String?
    /// Of the list, from 1, and how many there are.
    package var item: Int?
    package var items: Int?
    package var position: MediaTime?
    package var duration: MediaTime?
    /// The part of the day.
    package var part: String?
    package var speakers: [String] = []
    package var volume: Double?
    /// How the wall's time is known, and how far the film is ahead of the wall.
    package var clock: String?
    package var wallOffset: Duration?
    /// Since the kiosk was started, and how often its repair had to begin anew.
    package var uptime: Duration?
    package var repairs: Int?
    /// What a person should see to, the most urgent first.
    package var problems: [String] = []

    package init() {}

    private static let mostWords = 20
    private static let longest = 300

    package var json: String {
        var members: [(String, JSONValue)] = [
            ("release", .text(Self.bounded(release))), ("phase", .text(Self.bounded(phase))),
        ]
        func add(_ name: String, _ value: JSONValue?) { if let value { members.append((name, value)) } }
        add("title", title.map { .text(Self.bounded($0)) })
        add("item", item.map { .whole($0) })
        add("items", items.map { .whole($0) })
        add("position", position.map { .real($0.seconds, decimals: 3) })
        add("duration", duration.map { .real($0.seconds, decimals: 3) })
        add("part", part.map { .text(Self.bounded($0)) })
        add("speakers", .array(speakers.prefix(Self.mostWords).map { .text(Self.bounded($0)) }))
        add("volume", volume.map { .real($0, decimals: 1) })
        add("clock", clock.map { .text(Self.bounded($0)) })
        add("wall_offset", wallOffset.map { .real($0.inSeconds, decimals: 6) })
        add("uptime", uptime.map { .real($0.inSeconds, decimals: 0) })
        add("repairs", repairs.map { .whole($0) })
        add("problems", .array(problems.prefix(Self.mostWords).map { .text(Self.bounded($0)) }))
        return JSONValue.object(members).compact
    }

    private static func bounded(_ text: String) -> String { String(PrintableText.of(text).prefix(longest)) }
}
