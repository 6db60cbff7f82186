internal import Glibc
internal import MediaCore
internal import Playback

/// What the properties of an MPRIS object are read from: one reading of the command and property table.
struct MPRISState {
    typealias Track = PlaylistExcerpt.Entry

    /// Values of the properties, by their names in the table.
    private var values: [String: JSONValue] = [:]
    /// Whether playback was stopped, which the player cannot distinguish from a pause at the start.
    var isStopped: Bool
    /// The address of the cover's file; nil: none.
    let artwork: String?
    /// The entries of the playlist, limited.
    let tracks: [Track]
    /// The current entry; nil if there is none.
    let current: Track?
    /// Its index in the playlist.
    private let index: Int
    private let count: Int

    /// The properties of the table that the state depends on, except the position.
    static let names = [
        "pause", "idle-active", "eof-reached", "speed", "volume", "volume-max", "loop-file", "loop-playlist", "shuffle",
        "playlist", "duration", "media-title", "metadata", "fullscreen", "next-episode",
    ]

    init(_ control: PlayerControl, isStopped: Bool, artwork: String?) {
        for name in Self.names where name != "playlist" { values[name] = control.present(name) }
        let playlist = PlaylistExcerpt(control.present("playlist"))
        (index, count) = (playlist.index, playlist.count)
        tracks = playlist.entries
        current = tracks.first { $0.isCurrent }
        self.artwork = artwork
        self.isStopped = isStopped
        if !isPaused { self.isStopped = false }
    }

    private func flag(_ name: String) -> Bool { values[name]?.flag ?? false }

    /// Whether a property is neither `no` nor unavailable.
    private func isOn(_ name: String) -> Bool { values[name].map { $0 != .flag(false) } ?? false }

    var isPaused: Bool { flag("pause") }
    /// The duration in microseconds; nil if unknown.
    var length: Int64? { values["duration"]?.number.map(Self.microseconds) }
    var canGoNext: Bool {
        current != nil && (index + 1 < count || isOn("loop-playlist") || values["next-episode"] != nil)
    }
    private var canGoPrevious: Bool { index > 0 }
    private var canPlay: Bool { count > 0 }
    /// The maximum volume: 1 is 100 %.
    var maxVolume: Double { (values["volume-max"]?.number ?? 100) / 100 }

    private var status: String {
        if flag("idle-active") || flag("eof-reached") || isStopped { return "Stopped" }
        return isPaused ? "Paused" : "Playing"
    }

    private var loop: String {
        isOn("loop-file") ? "Track" : isOn("loop-playlist") ? "Playlist" : "None"
    }

    static func microseconds(_ seconds: Double) -> Int64 {
        Int64(clamping: seconds * 1_000_000, in: -InputLimit.maxSeconds * 1_000_000...InputLimit.maxSeconds * 1_000_000)
    }

    // MARK: Properties

    /// The properties of the root interface that change.
    var root: [(String, BusValue)] {
        [("Fullscreen", .flag(flag("fullscreen"))), ("CanSetFullscreen", .flag(values["fullscreen"] != nil))]
    }

    /// The properties of the player that change, except its position.
    var player: [(String, BusValue)] {
        var properties: [(String, BusValue)] = [
            ("PlaybackStatus", .text(status)), ("LoopStatus", .text(loop)),
            ("Rate", .double(values["speed"]?.number ?? 1)), ("Shuffle", .flag(flag("shuffle"))),
            ("Metadata", metadata),
        ]
        // Unknown until a speaker has reported its owner's volume.
        if let volume = values["volume"]?.number { properties.append(("Volume", .double(volume / 100))) }
        return properties + [
            ("CanGoNext", .flag(canGoNext)), ("CanGoPrevious", .flag(canGoPrevious)), ("CanPlay", .flag(canPlay)),
            ("CanPause", .flag(canPlay)), ("CanSeek", .flag(length != nil)),
        ]
    }

    /// The metadata of the current entry.
    var metadata: BusValue {
        guard let current else { return .dictionary([("mpris:trackid", .path(Track.none))]) }
        return metadata(of: current)
    }

    /// Returns the metadata of an entry. Only the current one has more than title and address.
    func metadata(of track: Track) -> BusValue {
        var members: [(String, BusValue)] = [("mpris:trackid", .path(track.path))]
        var title = track.title
        if track.isCurrent {
            title = values["media-title"]?.text ?? title
            if let length { members.append(("mpris:length", .int64(length))) }
            if let artist = values["metadata"]?["artist"]?.text {
                members.append(("xesam:artist", .array(of: "s", [.text(artist)])))
            }
            if let album = values["metadata"]?["album"]?.text { members.append(("xesam:album", .text(album))) }
            if let genre = values["metadata"]?["genre"]?.text {
                members.append(("xesam:genre", .array(of: "s", [.text(genre)])))
            }
            if let number = values["metadata"]?["track"]?.text.flatMap({ Int32($0) }) {
                members.append(("xesam:trackNumber", .int32(number)))
            }
            if let artwork { members.append(("mpris:artUrl", .text(artwork))) }
        }
        if let title { members.append(("xesam:title", .text(title))) }
        if let address = Self.url(track.address) { members.append(("xesam:url", .text(address))) }
        return .dictionary(members)
    }

    /// Returns the URL of a path or address; nil for standard input.
    static func url(_ address: String) -> String? {
        guard address != "-", !address.isEmpty else { return nil }
        if address.contains("://") { return address }
        guard !address.hasPrefix("/") else { return fileURL(address) }
        guard let folder = getcwd(nil, 0) else { return nil }
        defer { free(folder) }
        return fileURL(FileName.text(folder) + "/" + address)
    }

    /// Returns the URL of an absolute path (RFC 8089; RFC 3986, 2.3 for the characters that are not escaped).
    static func fileURL(_ path: String) -> String {
        "file://"
            + PercentEncoding.encoded(FileName.bytes(path)) { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "/.-_~".utf8.contains(byte)
                }
            }
    }
}

extension PlaylistExcerpt.Entry {
    /// The object path that identifies the entry.
    var path: String { Self.prefix + String(id) }

    private static let prefix = "/talkie/track/"
    /// MPRIS D-Bus Interface Specification, "TrackList", NoTrack.
    static let none = "/org/mpris/MediaPlayer2/TrackList/NoTrack"

    /// Returns the identifier in an object path; nil for a path of another kind.
    static func id(_ path: String) -> Int? {
        path.hasPrefix(prefix) ? DecimalNumber.integer(path.dropFirst(prefix.count)) : nil
    }
}

extension PlayerControl {
    /// Returns the value of a property; nil if it is unavailable.
    func present(_ name: String) -> JSONValue? {
        do throws(ControlError) { return try value(of: name) } catch { return nil }
    }
}
