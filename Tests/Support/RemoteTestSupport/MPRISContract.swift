import MediaCore
import Testing

@testable import Playback
@testable package import Remote

/// A client of the service of a test.
package protocol MPRISClient {
    /// Calls a method and waits for its reply.
    func call(_ interface: String, _ member: String, _ arguments: [BusValue]) throws -> [BusValue]
    /// Sends calls without waiting in between, then waits for all replies. Returns their number.
    func burst(_ calls: [(interface: String, member: String, arguments: [BusValue])]) throws -> Int
    /// Waits until a signal arrives that fulfils a condition. Returns it and those before it.
    func signals(until isLast: (BusSignal) -> Bool) throws -> [BusSignal]
}

/// What every bus must show of a service: the same bodies run in this process and on a real bus.
package struct MPRISContract<Client: MPRISClient> {
    package let player: TablePlayer
    package let client: Client

    package init(_ player: TablePlayer, _ client: Client) { (self.player, self.client) = (player, client) }

    private static var root: String { "org.mpris.MediaPlayer2" }
    private static var playerName: String { root + ".Player" }
    private static var trackList: String { root + ".TrackList" }
    private static var properties: String { "org.freedesktop.DBus.Properties" }

    private func all(_ interface: String) throws -> BusValue {
        try #require(try client.call(Self.properties, "GetAll", [.text(interface)]).first)
    }

    private func get(_ name: String, of interface: String = Self.playerName) throws -> BusValue? {
        try client.call(Self.properties, "Get", [.text(interface), .text(name)]).first?.content
    }

    private func set(_ name: String, _ value: BusValue, of interface: String = Self.playerName) throws {
        _ = try client.call(Self.properties, "Set", [.text(interface), .text(name), .variant(value)])
    }

    private func error(_ body: () throws -> Void) -> String? {
        do { try body() } catch let error as BusError { return error.name } catch { return "\(error)" }
        return nil
    }

    private func isChange(_ signal: BusSignal, of name: String) -> Bool {
        signal.member == "PropertiesChanged" && signal.arguments.count == 3 && signal.arguments[1][name] != nil
    }

    // MARK: Bodies

    package func propertiesDescribeThePlayer() throws {
        let root = try all(Self.root)
        #expect(root["Identity"] == .text("Talkie") && root["DesktopEntry"] == .text("talkie"))
        #expect(
            root["CanQuit"] == .flag(true) && root["CanRaise"] == .flag(true) && root["HasTrackList"] == .flag(true))
        #expect(root["CanSetFullscreen"] == .flag(true) && root["Fullscreen"] == .flag(false))
        #expect(root["SupportedUriSchemes"]?.elements?.contains(.text("https")) == true)
        let values = try all(Self.playerName)
        #expect(values["PlaybackStatus"] == .text("Playing") && values["LoopStatus"] == .text("None"))
        #expect(values["Rate"] == .double(1) && values["Volume"] == .double(0.8) && values["Shuffle"] == .flag(false))
        #expect(values["Position"] == .int64(10_000_000) && values["MaximumRate"] == .double(4))
        for name in ["CanGoNext", "CanGoPrevious", "CanPlay", "CanPause", "CanSeek", "CanControl"] {
            #expect(values[name] == .flag(true), "\(name)")
        }
        let metadata = values["Metadata"]
        #expect(metadata?["mpris:trackid"] == .path("/talkie/track/12"))
        #expect(metadata?["mpris:length"] == .int64(60_000_000))
        #expect(metadata?["xesam:title"] == .text("Zwei") && metadata?["xesam:album"] == .text("Album"))
        #expect(metadata?["xesam:artist"] == .array(of: "s", [.text("Ada")]))
        #expect(metadata?["xesam:genre"] == .array(of: "s", [.text("Folk")]))
        #expect(metadata?["xesam:trackNumber"] == .int32(3))
        #expect(metadata?["xesam:url"] == .text("file:///films/12%20%C3%A4.mkv"))
        #expect(try get("Tracks", of: Self.trackList)?.elements?.count == 3)
        let tracks = try client.call(
            Self.trackList, "GetTracksMetadata",
            [.array(of: "o", [.path("/talkie/track/13"), .path("/talkie/track/99"), .path("/other")])])
        #expect(tracks.first?.elements?.map { $0["xesam:title"] } == [.text("Film 13")])
        let text = try client.call("org.freedesktop.DBus.Introspectable", "Introspect", []).first?.text ?? ""
        #expect(text.contains("<method name=\"SetPosition\">") && text.contains("name=\"PropertiesChanged\""))
    }

    package func whatIsUnknownIsLeftOut() throws {
        player.set("volume", nil)
        player.set("duration", nil)
        player.set("fullscreen", nil)
        player.setPlaylist([], current: nil)
        player.set("idle-active", .flag(true))
        let values = try all(Self.playerName)
        #expect(values["Volume"] == nil && values["CanSeek"] == .flag(false) && values["CanGoNext"] == .flag(false))
        #expect(values["PlaybackStatus"] == .text("Stopped") && values["CanPlay"] == .flag(false))
        #expect(
            values["Metadata"]
                == .dictionary([("mpris:trackid", .path("/org/mpris/MediaPlayer2/TrackList/NoTrack"))]))
        #expect(try all(Self.root)["CanSetFullscreen"] == .flag(false))
        #expect(error { _ = try get("Volume") } == "org.freedesktop.DBus.Error.Failed")
    }

    package func callsBecomeCommands() throws {
        let track = BusValue.path("/talkie/track/12")
        let calls: [(String, [BusValue], [String])] = [
            ("Pause", [], ["set pause yes"]), ("Play", [], ["set pause no"]), ("PlayPause", [], ["cycle pause"]),
            ("Next", [], ["playlist-next"]), ("Previous", [], ["playlist-prev"]),
            ("Seek", [.int64(-2_500_000)], ["seek -2.5 relative+exact"]),
            ("Seek", [.int64(50_000_001)], ["playlist-next"]),
            ("Seek", [.int64(.max)], ["playlist-next"]), ("Seek", [.int64(.min)], ["seek -315576000 relative+exact"]),
            ("SetPosition", [track, .int64(1_500_000)], ["seek 1.5 absolute"]),
            ("SetPosition", [track, .int64(-1)], []), ("SetPosition", [track, .int64(60_000_001)], []),
            ("SetPosition", [.path("/talkie/track/11"), .int64(1)], []),
            ("OpenUri", [.text("file:///films/new.mkv")], ["loadfile file:///films/new.mkv"]),
        ]
        for (member, arguments, commands) in calls {
            _ = try client.call(Self.playerName, member, arguments)
            #expect(player.takeCommands() == commands, "\(member) \(arguments)")
        }
        let tracks: [(String, [BusValue], [String])] = [
            (
                "AddTrack", [.text("http://a/b.mp4"), track, .flag(false)], ["loadfile http://a/b.mp4 insert-next"]
            ),
            (
                "AddTrack", [.text("http://a/b.mp4"), .path("/talkie/track/13"), .flag(false)],
                ["loadfile http://a/b.mp4 append"]
            ),
        ]
        for (member, arguments, commands) in tracks {
            _ = try client.call(Self.trackList, member, arguments)
            #expect(player.takeCommands() == commands, "\(member) \(arguments)")
        }
        _ = try client.call(Self.root, "Raise", [])
        _ = try client.call(Self.root, "Quit", [])
        #expect(player.takeCommands() == ["raise", "quit"])
    }

    package func settingAPropertyBecomesACommand() throws {
        let settings: [(String, BusValue, [String])] = [
            ("Volume", .double(0.5), ["set volume 50"]), ("Volume", .double(-1), ["set volume 0"]),
            ("Volume", .double(7), ["set volume 130"]), ("Rate", .double(2), ["set speed 2"]),
            ("Rate", .double(0), ["set pause yes"]), ("Shuffle", .flag(true), ["set shuffle yes"]),
            ("LoopStatus", .text("Track"), ["set loop-file inf"]),
            ("LoopStatus", .text("Playlist"), ["set loop-file no", "set loop-playlist inf"]),
            ("LoopStatus", .text("None"), ["set loop-file no", "set loop-playlist no"]),
        ]
        for (name, value, commands) in settings {
            try set(name, value)
            #expect(player.takeCommands() == commands, "\(name)")
        }
        try set("Fullscreen", .flag(true), of: Self.root)
        #expect(player.takeCommands() == ["set fullscreen yes"])
        #expect(try get("Fullscreen", of: Self.root) == .flag(true))
    }

    package func badCallsAreRefused() throws {
        let prefix = "org.freedesktop.DBus.Error."
        let calls: [(String, String, [BusValue], String)] = [
            (Self.playerName, "Explode", [], "UnknownMethod"), ("org.example.None", "Play", [], "UnknownInterface"),
            (Self.playerName, "Seek", [.text("far")], "InvalidArgs"), (Self.playerName, "Seek", [], "InvalidArgs"),
            (Self.playerName, "Play", [.int64(1)], "InvalidArgs"),
            (Self.playerName, "OpenUri", [.text("javascript://x")], "InvalidArgs"),
            (Self.playerName, "OpenUri", [.text("-")], "InvalidArgs"),
            (Self.playerName, "OpenUri", [.text("http://" + String(repeating: "a", count: 10_000))], "InvalidArgs"),
            (Self.playerName, "OpenUri", [.text("http://" + String(repeating: "a", count: 1 << 20))], "InvalidArgs"),
            (Self.properties, "Get", [.text(Self.playerName), .text("Nothing")], "UnknownProperty"),
            (Self.properties, "GetAll", [.text("org.example.None")], "UnknownInterface"),
            (
                Self.properties, "Set", [.text(Self.playerName), .text("Position"), .variant(.int64(1))],
                "PropertyReadOnly"
            ),
            (
                Self.properties, "Set", [.text(Self.playerName), .text("Volume"), .variant(.text("loud"))],
                "InvalidArgs"
            ),
            (Self.properties, "Set", [.text(Self.playerName), .text("Rate"), .variant(.double(.nan))], "InvalidArgs"),
            (Self.properties, "Set", [.text(Self.playerName), .text("Rate"), .variant(.double(9))], "InvalidArgs"),
            (
                Self.properties, "Set", [.text(Self.playerName), .text("LoopStatus"), .variant(.text("Never"))],
                "InvalidArgs"
            ),
        ]
        for (interface, member, arguments, name) in calls {
            let error = error { _ = try client.call(interface, member, arguments) }
            #expect(error == prefix + name, "\(member) \(arguments.first?.signature ?? "")")
        }
        #expect(player.takeCommands() == [])
        player.refuse(ControlError(.unavailable, "this is the last film"))
        #expect(error { _ = try client.call(Self.playerName, "Next", []) } == nil, "no effect")
        #expect(error { try set("Volume", .double(1)) } == prefix + "Failed")
    }

    package func changesAreSignalledOnce() throws {
        player.set("pause", .flag(true))
        var signals = try client.signals { isChange($0, of: "PlaybackStatus") }
        #expect(signals.count == 1 && signals[0].arguments[0] == .text(Self.playerName))
        #expect(signals[0].arguments[1] == .dictionary([("PlaybackStatus", .text("Paused"))]))
        // The position alone is no change.
        player.set("time-pos", .real(20, decimals: 6))
        player.set("fullscreen", .flag(true))
        signals = try client.signals { isChange($0, of: "Fullscreen") }
        #expect(signals.count == 1)
        player.report(.sought(.zero))
        signals = try client.signals { $0.member == "Seeked" }
        #expect(signals.map(\.arguments) == [[.int64(20_000_000)]])
    }

    package func thePlaylistIsSignalled() throws {
        func members(_ last: String) throws -> [String] {
            try client.signals { $0.member == last }.map(\.member)
        }
        player.setPlaylist([11, 12, 13, 14], current: 12)
        #expect(try members("TrackAdded") == ["PropertiesChanged", "TrackAdded"])
        player.setPlaylist([11, 12, 14], current: 12)
        #expect(try members("TrackRemoved") == ["PropertiesChanged", "TrackRemoved"])
        player.setPlaylist([21, 22], current: 22)
        let signals = try client.signals { $0.member == "TrackListReplaced" }
        #expect(
            signals.last?.arguments == [
                .array(of: "o", [.path("/talkie/track/21"), .path("/talkie/track/22")]), .path("/talkie/track/22"),
            ])
        #expect(signals.contains { isChange($0, of: "Metadata") })
        player.set("media-title", .text("Other"))
        #expect(try members("TrackMetadataChanged").contains("PropertiesChanged"))
        player.setPlaylist((1...500).map { $0 }, current: 250)
        _ = try client.signals { $0.member == "TrackListReplaced" }
        let tracks = try get("Tracks", of: Self.trackList)?.elements ?? []
        #expect(tracks.count == 100 && tracks[20] == .path("/talkie/track/250"))
    }

    package func anOfferedEpisodeIsTheNextFilm() throws {
        player.setPlaylist([11, 12], current: 12)
        _ = try client.signals { isChange($0, of: "CanGoNext") }
        #expect(try get("CanGoNext") == .flag(false))
        player.set("next-episode", .text("13.mkv"))
        let signals = try client.signals { isChange($0, of: "CanGoNext") }
        #expect(signals.last?.arguments[1]["CanGoNext"] == .flag(true))
    }

    package func stopReturnsToTheBeginningAndPlayContinues() throws {
        _ = try client.call(Self.playerName, "Stop", [])
        #expect(player.takeCommands() == ["set pause yes", "seek 0 absolute"])
        #expect(try get("PlaybackStatus") == .text("Stopped"))
        _ = try client.call(Self.playerName, "Play", [])
        #expect(try get("PlaybackStatus") == .text("Playing"))
    }

    package func aThousandCallsAreExecutedInOrder() throws {
        let calls = (0..<1000).map { index -> (interface: String, member: String, arguments: [BusValue]) in
            (
                Self.properties, "Set",
                [
                    .text(Self.playerName), .text("Volume"), .variant(.double(Double(index % 100) / 100)),
                ]
            )
        }
        #expect(try client.burst(calls) == 1000)
        #expect(player.takeCommands() == (0..<1000).map { "set volume \($0 % 100)" })
    }
}
