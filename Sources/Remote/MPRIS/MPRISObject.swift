internal import MediaCore
internal import Playback

/// The object of an MPRIS 2 service: the replies to its calls, and the signals for changes. A value; `MPRISService`
/// executes commands and sends.
struct MPRISObject {
    /// What a call requires: commands in this order, then the reply.
    struct Action {
        /// The arguments of the reply.
        var results: [BusValue] = []
        var commands: [ControlRequest] = []
        /// Whether a command that is impossible now succeeds without an effect, as the specification demands of most.
        var ignoresUnavailable = true
        var sequel: Sequel?
    }

    /// What follows the commands of a call.
    enum Sequel: Equatable {
        case stopped
        /// A track was loaded. It belongs after the one with this ID; nil: it is not moved.
        case added(after: Int?, becomesCurrent: Bool)
    }

    static let path = "/org/mpris/MediaPlayer2"
    /// The schemes of `OpenUri`.
    static let schemes = ["file", "http", "https", "rtsp", "rtmp", "srt", "ftp"]
    /// The types of talkie.desktop.
    static let types = [
        "video/mp4", "video/x-m4v", "video/quicktime", "video/x-matroska", "video/webm", "video/mp2t", "video/mpeg",
        "video/x-msvideo", "video/vnd.avi", "video/ogg", "video/x-theora+ogg", "video/x-flv", "video/3gpp",
        "video/3gpp2", "video/x-ms-wmv", "video/x-ms-asf", "video/dv", "audio/mpeg", "audio/mp4", "audio/x-m4a",
        "audio/aac", "audio/flac", "audio/x-flac", "audio/ogg", "audio/x-vorbis+ogg", "audio/x-opus+ogg", "audio/opus",
        "audio/x-wav", "audio/vnd.wave", "audio/x-aiff", "audio/x-matroska", "audio/webm", "audio/ac3", "audio/eac3",
        "audio/vnd.dts", "audio/x-ms-wma", "audio/x-mpegurl", "audio/mpegurl", "application/vnd.apple.mpegurl",
        "application/x-mpegurl",
        "audio/x-scpls", "application/xspf+xml", "application/dash+xml",
    ]

    private let control: PlayerControl
    private let identity: String
    private let desktopEntry: String?
    /// The address of the cover's file; nil: none.
    var artwork: String?
    private var isStopped = false
    /// The state that clients know; nil before `begin`.
    private var announced: MPRISState?

    init(_ control: PlayerControl, identity: String, desktopEntry: String?) {
        (self.control, self.identity, self.desktopEntry) = (control, identity, desktopEntry)
    }

    private var state: MPRISState { MPRISState(control, isStopped: isStopped, artwork: artwork) }

    /// The position in microseconds.
    private var position: Int64 { control.present("time-pos")?.number.map(MPRISState.microseconds) ?? 0 }

    // MARK: Properties

    /// Returns the properties of an interface.
    private func properties(of interface: String) throws(BusError) -> [(String, BusValue)] {
        switch interface {
        case MPRISInterface.root.name:
            var properties: [(String, BusValue)] = [
                ("CanQuit", .flag(has("quit"))), ("CanRaise", .flag(has("raise"))), ("HasTrackList", .flag(true)),
                ("Identity", .text(identity)),
                ("SupportedUriSchemes", .array(of: "s", Self.schemes.map { .text($0) })),
                ("SupportedMimeTypes", .array(of: "s", Self.types.map { .text($0) })),
            ]
            if let desktopEntry { properties.append(("DesktopEntry", .text(desktopEntry))) }
            return properties + state.root
        case MPRISInterface.player.name:
            var rates = 1.0...1.0
            if case .number(let range, _)? = control.table.properties["speed"]?.type { rates = range }
            return state.player + [
                ("Position", .int64(position)), ("MinimumRate", .double(rates.lowerBound)),
                ("MaximumRate", .double(rates.upperBound)), ("CanControl", .flag(true)),
            ]
        case MPRISInterface.trackList.name:
            return [("Tracks", Self.paths(state.tracks)), ("CanEditTracks", .flag(true))]
        case MPRISInterface.propertyAccess, MPRISInterface.introspectable: return []
        default: throw .unknown("Interface", interface)
        }
    }

    private func has(_ command: String) -> Bool { control.table.commands[command] != nil }

    private static func paths(_ tracks: [MPRISState.Track]) -> BusValue {
        .array(of: "o", tracks.map { .path($0.path) })
    }

    /// Returns the commands that set a property.
    private func setting(_ name: String, of interface: String, to value: BusValue) throws(BusError) -> Action {
        guard let declared = MPRISInterface.all.first(where: { $0.name == interface }) else {
            throw .unknown("Interface", interface)
        }
        guard let property = declared.properties.first(where: { $0.name == name }) else {
            throw .unknown("Property", name)
        }
        guard property.isWritable else { throw .readOnly(name) }
        guard value.signature == property.type else { throw .invalidArguments("\(name): expected '\(property.type)'") }
        func set(_ name: String, _ value: JSONValue) throws(BusError) -> ControlRequest {
            try request([.text("set"), .text(name), value])
        }
        let commands: [ControlRequest]
        switch (name, value) {
        case ("Fullscreen", .flag(let flag)): commands = [try set("fullscreen", .flag(flag))]
        case ("Shuffle", .flag(let flag)): commands = [try set("shuffle", .flag(flag))]
        // "Clients should not set 0; if they do, the player should act as though Pause was called."
        case ("Rate", .double(0)): commands = [try set("pause", .flag(true))]
        case ("Rate", .double(let rate)): commands = [try set("speed", Self.number(rate))]
        case ("Volume", .double(let volume)):
            guard volume.isFinite else { throw .invalidArguments("Volume: expected a number") }
            commands = [try set("volume", Self.number(min(max(0, volume), state.maxVolume) * 100))]
        case ("LoopStatus", .text("None")):
            commands = [try set("loop-file", .flag(false)), try set("loop-playlist", .flag(false))]
        case ("LoopStatus", .text("Track")): commands = [try set("loop-file", .text("inf"))]
        case ("LoopStatus", .text("Playlist")):
            commands = [try set("loop-file", .flag(false)), try set("loop-playlist", .text("inf"))]
        default: throw .invalidArguments("\(name): the value is not supported")
        }
        return Action(commands: commands, ignoresUnavailable: false)
    }

    /// Returns a command of the table with checked arguments.
    private func request(_ words: [JSONValue]) throws(BusError) -> ControlRequest {
        do throws(ControlError) { return try control.table.request(words) } catch { throw error.busError }
    }

    /// Returns a request to open an address, which a client has from anywhere.
    private func load(_ arguments: [JSONValue]) throws(BusError) -> ControlRequest {
        var request = try request([.text("loadfile")] + arguments)
        request.isListed = true
        return request
    }

    private static func number(_ number: Double) -> JSONValue { .real(number, decimals: ControlType.decimals) }

    // MARK: Calls

    /// Returns what a call requires.
    func action(for call: BusMessage) throws(BusError) -> Action {
        let (interface, arguments) = try MPRISInterface.method(of: call)
        switch interface {
        case MPRISInterface.introspectable: return Action(results: [.text(MPRISInterface.description)])
        case MPRISInterface.propertyAccess: return try access(call.member, arguments)
        default: return try perform(call.member, arguments)
        }
    }

    private func access(_ method: String, _ arguments: [BusValue]) throws(BusError) -> Action {
        let interface = arguments[0].text ?? ""
        let properties = try properties(of: interface)
        guard method != "GetAll" else { return Action(results: [.dictionary(properties)]) }
        let name = arguments[1].text ?? ""
        if method == "Set" {
            guard let value = arguments[2].content else { throw .invalidArguments("\(name): expected a value") }
            return try setting(name, of: interface, to: value)
        }
        if let value = properties.first(where: { $0.0 == name })?.1 { return Action(results: [.variant(value)]) }
        let isKnown = MPRISInterface.all.contains {
            $0.name == interface && $0.properties.contains { $0.name == name }
        }
        throw isKnown ? .failed("the property '\(name)' is unavailable") : .unknown("Property", name)
    }

    private func perform(_ method: String, _ arguments: [BusValue]) throws(BusError) -> Action {
        func command(_ words: JSONValue...) throws(BusError) -> Action { Action(commands: [try request(words)]) }
        let state = state
        switch method {
        case "Raise": return has("raise") ? try command(.text("raise")) : Action()
        case "Quit": return has("quit") ? try command(.text("quit")) : Action()
        case "Next": return try command(.text("playlist-next"))
        case "Previous": return try command(.text("playlist-prev"))
        case "Play": return try command(.text("set"), .text("pause"), .flag(false))
        case "Pause": return try command(.text("set"), .text("pause"), .flag(true))
        case "PlayPause": return try command(.text("cycle"), .text("pause"))
        case "Stop":
            // "Calling Play after this should cause playback to start again from the beginning of the track."
            return Action(
                commands: [
                    try request([.text("set"), .text("pause"), .flag(true)]),
                    try request([.text("seek"), .integer(0), .text("absolute")]),
                ], sequel: .stopped)
        case "Seek":
            let offset = arguments[0].int64 ?? 0
            // "If the value passed in would mean seeking beyond the end of the track, acts like a call to Next."
            if let length = state.length, state.canGoNext, Double(position) + Double(offset) > Double(length) {
                return try command(.text("playlist-next"))
            }
            let seconds = min(ControlType.maxSeconds, max(-ControlType.maxSeconds, Double(offset) / 1e6))
            return try command(.text("seek"), Self.number(seconds), .text("relative+exact"))
        case "SetPosition":
            let target = arguments[1].int64 ?? -1
            guard arguments[0].text == state.current?.path, let length = state.length, (0...length).contains(target)
            else { return Action() }
            return try command(.text("seek"), Self.number(Double(target) / 1e6), .text("absolute"))
        case "OpenUri":
            return Action(
                commands: [try load([Self.address(arguments[0])])], ignoresUnavailable: false)
        case "GetTracksMetadata":
            let wanted = Set(arguments[0].elements?.compactMap(\.text) ?? [])
            return Action(
                results: [
                    .array(of: "a{sv}", state.tracks.filter { wanted.contains($0.path) }.map(state.metadata(of:)))
                ])
        case "AddTrack":
            let after = arguments[1].text ?? ""
            let isNext = [state.current?.path, MPRISState.Track.none].contains(after)
            return Action(
                commands: [
                    try load([Self.address(arguments[0]), .text(isNext ? "insert-next" : "append")])
                ], ignoresUnavailable: false,
                sequel: .added(
                    after: isNext ? nil : MPRISState.Track.id(after), becomesCurrent: arguments[2].flag ?? false))
        case "RemoveTrack", "GoTo":
            guard let id = MPRISState.Track.id(arguments[0].text ?? "") else { return Action() }
            return Action(commands: [method == "GoTo" ? .playItem(id) : .removeItem(id)])
        default: throw .unknown("Method", method)
        }
    }

    /// Returns the address of a track, which clients specify as a URI.
    private static func address(_ value: BusValue) throws(BusError) -> JSONValue {
        let text = value.text ?? ""
        guard schemes.contains(where: { text.lowercased().hasPrefix($0 + "://") }) else {
            throw .invalidArguments("expected a URI that starts with \(schemes.joined(separator: "://, "))://")
        }
        return .text(text)
    }

    /// Continues after the commands of an action have succeeded.
    ///
    /// - Parameter result: The result of the last one.
    /// - Returns: Further commands.
    mutating func proceed(_ sequel: Sequel, _ result: JSONValue) -> [ControlRequest] {
        switch sequel {
        case .stopped:
            isStopped = true
            return []
        case .added(let after, let becomesCurrent):
            guard let id = result["playlist_entry_id"]?.integer else { return [] }
            let move = after.map { ControlRequest.moveItem(id, after: $0) }
            return [move, becomesCurrent ? .playItem(id) : nil].compactMap { $0 }
        }
    }

    // MARK: Signals

    /// Begins to find changes.
    mutating func begin() { announced = state }

    /// Returns the signals for what has changed since the last call.
    mutating func changes() -> [BusSignal] {
        let state = state
        isStopped = state.isStopped
        guard let last = announced else { return [] }
        announced = state
        let tracks = trackChanges(from: last, to: state)
        return [
            Self.changed(.root, from: last.root, to: state.root),
            Self.changed(.player, from: last.player, to: state.player),
            tracks.isEmpty ? nil : Self.changed(.trackList, [], invalidated: ["Tracks"]),
        ].compactMap { $0 } + tracks + metadataChanges(from: last, to: state)
    }

    /// Returns the signal of a change of the position that does not follow from the rate.
    func seeked() -> BusSignal {
        BusSignal(path: Self.path, interface: MPRISInterface.player.name, member: "Seeked", [.int64(position)])
    }

    /// Whether the current track was started at another position than its beginning.
    var isStartedWithin: Bool { position > 500_000 }

    private static func changed(
        _ interface: MPRISInterface, from last: [(String, BusValue)], to now: [(String, BusValue)]
    ) -> BusSignal? {
        let changes = now.filter { name, value in last.first { $0.0 == name }?.1 != value }
        return changes.isEmpty ? nil : changed(interface, changes, invalidated: [])
    }

    private static func changed(
        _ interface: MPRISInterface, _ changes: [(String, BusValue)], invalidated: [String]
    ) -> BusSignal {
        BusSignal(
            path: path, interface: MPRISInterface.propertyAccess, member: "PropertiesChanged",
            [.text(interface.name), .dictionary(changes), .array(of: "s", invalidated.map { .text($0) })])
    }

    private func trackChanges(from last: MPRISState, to now: MPRISState) -> [BusSignal] {
        let paths = now.tracks.map(\.path)
        let difference = paths.difference(from: last.tracks.map(\.path))
        switch (difference.insertions.first, difference.removals.first, difference.count) {
        case (_, _, 0): return []
        case (.insert(let index, _, _)?, nil, 1):
            let after = index == 0 ? MPRISState.Track.none : paths[index - 1]
            return [trackSignal("TrackAdded", [now.metadata(of: now.tracks[index]), .path(after)])]
        case (nil, .remove(_, let path, _)?, 1): return [trackSignal("TrackRemoved", [.path(path)])]
        default:
            let current = now.current?.path ?? MPRISState.Track.none
            return [trackSignal("TrackListReplaced", [Self.paths(now.tracks), .path(current)])]
        }
    }

    private func metadataChanges(from last: MPRISState, to now: MPRISState) -> [BusSignal] {
        guard let current = now.current, current.path == last.current?.path, now.metadata != last.metadata else {
            return []
        }
        return [trackSignal("TrackMetadataChanged", [.path(current.path), now.metadata])]
    }

    private func trackSignal(_ member: String, _ arguments: [BusValue]) -> BusSignal {
        BusSignal(path: Self.path, interface: MPRISInterface.trackList.name, member: member, arguments)
    }
}
