import Foundation
import MediaCore
import Playback
import Remote
import SyncRendering
import Telemetry
import Testing

@testable import Kiosk
@testable import ScreenOutput

@Suite struct KioskConfigurationTests {
    private func read(_ text: String) throws(KioskConfigurationError) -> KioskConfiguration {
        try KioskConfiguration(Array(text.utf8), file: "hall.toml", folder: "/srv/kiosk")
    }

    /// Returns the mistakes of a configuration, with line numbers.
    private func mistakes(_ text: String) -> [String] {
        do throws(KioskConfigurationError) {
            _ = try read(text)
            return []
        } catch {
            return error.mistakes.map { "line \($0.line): \($0.sentence)" }
        }
    }

    @Test func everythingThatCanBeSaidIsUnderstood() throws {
        let kiosk = try read(
            """
            playlist = ["films", "/media/welcome.mp4", "https://example.org/list.m3u8"]
            loop = false
            order = "shuffled"
            screen = 1
            operator_screen = "other"
            speakers = ["Hall", "Foyer"]
            fallbacks = "Office"
            volume = 62.5
            rotate = 90
            overscan = { policy = "inset-application-frame", percent = 3 }
            mode = "1920x1080@50"
            start_at = 09:30:00
            quiet_hours = ["22:00-07:00"]
            slate = "closed.png"
            on_broken_item = "slate"
            speaker_timeout = 7.5

            [day_parts.morning]
            from = 06:00:00
            to = "12:00"
            days = ["mon", "sun"]
            playlist = "morning"
            volume = 20
            """)
        #expect(
            kiosk.settings.playlist == [
                "/srv/kiosk/films", "/media/welcome.mp4", "https://example.org/list.m3u8",
            ])
        #expect(kiosk.speakerTimeout == .milliseconds(7500))
        #expect(!kiosk.loops && kiosk.settings.order == .shuffled && kiosk.screen == .number(1))
        #expect(kiosk.operatorScreen == .other)
        #expect(kiosk.settings.speakers == ["Hall", "Foyer"] && kiosk.settings.fallbacks == ["Office"])
        #expect(kiosk.settings.volume == 62.5 && kiosk.rotation == 90 && kiosk.overscan == .insetApplicationFrame(3))
        #expect(kiosk.mode == .fixed(width: 1920, height: 1080, rate: 50))
        #expect(kiosk.start == .time(try #require(TimeOfDay(hour: 9, minute: 30))))
        #expect(kiosk.quietHours.map(\.text) == ["22:00-07:00"])
        #expect(kiosk.slate == "/srv/kiosk/closed.png" && kiosk.onBrokenItem == .slate)
        let part = try #require(kiosk.periods.first)
        #expect(part.name == "morning" && part.span.text == "06:00-12:00" && part.days == [1, 7])
        #expect(part.settings.playlist == ["/srv/kiosk/morning"] && part.settings.volume == 20)
        #expect(part.settings.speakers == ["Hall", "Foyer"], "what a part does not say is as at other times")
    }

    @Test func eachSpeakerHasALanguageOfItsOwn() throws {
        let kiosk = try read(
            """
            playlist = "a.mp4"
            speakers = ["Kitchen", "Living room", "local"]
            speaker_languages = { Kitchen = "de", "Living room" = ["fr", "en"], local = "en,de" }
            speaker_tracks = { Kitchen = "description" }
            speaker_parts = { "Living room" = "right", local = "FC" }

            [day_parts.evening]
            from = 18:00:00
            to = 22:00:00
            speakers = "Bar"
            speaker_languages = { Bar = "it" }
            """)
        #expect(
            kiosk.settings.languages == ["Kitchen": ["de"], "Living room": ["fr", "en"], "local": ["en", "de"]])
        #expect(kiosk.periods.first?.settings.languages == ["Bar": ["it"]])
        #expect(
            OutputTiers(kiosk.settings).tracks == [
                "Kitchen": .languages(["de"], purpose: .description), "Living room": .languages(["fr", "en"]),
                "local": .languages(["en", "de"]),
            ])
        #expect(kiosk.periods.first?.settings.purposes == ["Kitchen": .description], "inherited")
        #expect(
            OutputTiers(kiosk.settings).parts == ["Living room": .right, "local": .position(.frontCenter)])
    }

    @Test func aWrongLanguageOfASpeakerIsReportedWithItsLine() {
        let start = "playlist = \"a.mp4\"\nspeakers = \"Kitchen\"\n"
        #expect(
            mistakes(start + "speaker_languages = \"de\"")
                == [
                    "line 3: speaker_languages: expected a language for each speaker, such as { Kitchen = \"de\", local = \"en\" }"
                ])
        #expect(
            mistakes(start + "[speaker_languages]\nKitchn = \"de\"")
                == [
                    "line 4: speaker_languages: 'Kitchn' is in neither speakers nor fallbacks; did you mean \"Kitchen\"?"
                ])
        #expect(
            mistakes(start + "[speaker_languages]\n\nKitchen = 3").first?.hasPrefix(
                "line 5: Kitchen: expected a string") == true)
        #expect(
            mistakes(start + "[speaker_languages]\nKitchen = [\"de\", \",\"]")
                == ["line 4: Kitchen: languages must be tags such as de or eng, separated by commas"])
        #expect(
            mistakes(start + "speaker_tracks = { Kitchn = \"commentary\" }")
                == [
                    "line 3: speaker_tracks: 'Kitchn' is in neither speakers nor fallbacks; did you mean \"Kitchen\"?"
                ])
        #expect(
            mistakes(start + "speaker_parts = { Kitchn = \"left\" }")
                == [
                    "line 3: speaker_parts: 'Kitchn' is in neither speakers nor fallbacks; did you mean \"Kitchen\"?"
                ])
        #expect(
            mistakes(start + "speaker_parts = { Kitchen = \"centre\" }").first?.hasPrefix(
                "line 3: Kitchen: the part must be one of stereo, left") == true)
        #expect(
            mistakes(start + "speaker_parts = { Kitchen = 1 }")
                == ["line 3: Kitchen: expected a part, such as \"left\""])
        #expect(
            mistakes(start + "speaker_tracks = { Kitchen = \"blind\" }").first?.hasPrefix(
                "line 3: Kitchen: expected one of \"main\", \"description\"") == true)
    }

    @Test func theOldNameOfAnOverscanPolicyIsUnderstoodAndReported() throws {
        let kiosk = try read("playlist = \"a.mp4\"\noverscan = { policy = \"inset-frame\", percent = 3 }")
        #expect(kiosk.overscan == .insetApplicationFrame(3))
        #expect(kiosk.remarks.map(\.line) == [2])
        #expect(kiosk.remarks.first?.sentence.contains("\"inset-application-frame\"") == true)
        #expect(try read("playlist = \"a.mp4\"\noverscan = { policy = \"inset-bounds\" }").remarks.isEmpty)
    }

    @Test func aDisplayThatHidesEdgesGetsASmallerPictureUnlessThatIsSaid() throws {
        let kiosk = try read("playlist = \"a.mp4\"")
        #expect(kiosk.arrangement(isOverscanning: false).overscan == .none)
        #expect(kiosk.arrangement(isOverscanning: true).overscan == .scale(3.5))
        let said = try read("playlist = \"a.mp4\"\noverscan = { policy = \"none\" }")
        #expect(said.arrangement(isOverscanning: true).overscan == .none)
        let share = try read("playlist = \"a.mp4\"\noverscan = { policy = \"inset-bounds\" }")
        #expect(share.overscan == .insetBounds(3.5))
    }

    @Test func oneLineIsEnough() throws {
        let kiosk = try read("playlist = \"film.mp4\"")
        var expected = KioskConfiguration()
        expected.settings.playlist = ["/srv/kiosk/film.mp4"]
        #expect(kiosk == expected)
        #expect(kiosk.loops && kiosk.settings.speakers == ["local"])
    }

    @Test func healthIsAskedForWhereTheTableSays() throws {
        #expect(try read("playlist = \"a.mp4\"").metrics?.description == "127.0.0.1:9595")
        #expect(
            try read("playlist = \"a.mp4\"\n[metrics]\nlisten = \"0.0.0.0:80\"").metrics?.description == "0.0.0.0:80")
        #expect(try read("playlist = \"a.mp4\"\n[metrics]\nlisten = false").metrics == nil)
        let wanted = "line 3: listen: an address with a port looks like \"127.0.0.1:9595\""
        for text in ["127.0.0.1", "localhost:80", "1.2.3.4:0", "1.2.3.4:65536", ":80", "1.2.3.4:5:6"] {
            #expect(mistakes("playlist = \"a.mp4\"\n[metrics]\nlisten = \"\(text)\"") == [wanted], "\(text)")
        }
        #expect(
            mistakes("playlist = \"a.mp4\"\nmetrics = 3").first
                == "line 2: metrics: expected a table, [metrics] with listen = \"127.0.0.1:9595\"")
        #expect(
            mistakes("playlist = \"a.mp4\"\n[metrics]\nlisten = true\nport = 4") == [
                "line 3: listen: expected an address such as \"127.0.0.1:9595\", or false",
                "line 4: there is no key 'port'",
            ])
    }

    @Test func theRecorderWritesWhereAndAsMuchAsTheTableSays() throws {
        #expect(try read("playlist = \"a.mp4\"").timeline == nil)
        let plain = try read("playlist = \"a.mp4\"\n[timeline]\nfile = \"t.jsonl\"").timeline
        #expect(plain == .init(file: "/srv/kiosk/t.jsonl"))
        #expect(plain?.rotation == .init(maxSize: 64 << 20, maxAge: .seconds(86_400), keep: 7))
        let parsed = try read(
            "playlist = \"a.mp4\"\n[timeline]\nfile = \"/var/t\"\nmax_size = \"10MiB\"\nmax_age = \"1:00:00\"\nkeep = 1"
        )
        #expect(
            parsed.timeline
                == .init(file: "/var/t", rotation: .init(maxSize: 10 << 20, maxAge: .seconds(3600), keep: 1)))
        #expect(
            mistakes("playlist = \"a.mp4\"\n[timeline]\nmax_size = \"10 GB\"\nmax_age = \"-1\"\nkeep = 100\ncolour = 3")
                == [
                    "line 2: a timeline needs file, such as file = \"timeline.jsonl\"",
                    "line 3: max_size: a size must have the form 10MiB, from 64KiB to 1024GiB",
                    "line 4: max_age: an age must have the form 3600, 30:00 or 24:00:00, from a second to a year",
                    "line 5: keep: 0 to 99 older files can be kept", "line 6: there is no key 'colour'",
                ])
    }

    @Test func theOperatorHasAScreenThatShowsNoFilms() throws {
        #expect(
            mistakes("playlist = \"a.mp4\"\nscreen = 1\noperator_screen = 1") == [
                "line 3: operator_screen: films are shown on this screen; choose another one, or \"other\""
            ])
        let parsed = try read("playlist = \"a.mp4\"\nscreen = 1\noperator_screen = \"HDMI-2\"")
        #expect(parsed.operatorScreen == .chosen(.named("HDMI-2")))
    }

    @Test func allMistakesAreReportedTogetherWithTheirLines() {
        let parsed = mistakes(
            """
            playlist = ["a.mp4", 7]
            volme = 3
            volume = 200
            rotate = 45
            order = "random"
            mode = "fast"
            quiet_hours = ["22-7"]
            overscan = { policy = "zoom", percent = 90, side = 1 }
            screen = true
            operator_screen = -1

            [day_parts.noon]
            from = 25
            days = ["monday"]
            """)
        #expect(
            parsed == [
                "line 1: playlist: expected a string or a list of strings, not a number",
                "line 2: there is no key 'volme'; did you mean volume?",
                "line 3: volume: a volume is a number from 0 to 130",
                "line 4: rotate: a screen is turned by 0, 90, 180 or 270 degrees",
                "line 5: order: expected one of \"listed\" or \"shuffled\"",
                "line 6: mode: a mode is \"current\", \"preferred\", \"film\", or written \"1920x1080@50\"",
                "line 7: quiet_hours: a time is written 09:30",
                "line 8: percent: expected a percentage of each side, 0 to 20",
                "line 8: policy: expected one of \"none\", \"scale\", \"inset-bounds\" or \"inset-application-frame\"",
                "line 8: there is no key 'side'",
                "line 9: screen: a screen is a number from 0, or a name; talkie doctor lists them",
                "line 10: operator_screen: a screen is a number from 0, or a name; talkie doctor lists them",
                "line 12: a part of the day needs from and to, such as from = 09:00:00",
                "line 13: from: expected a time such as 09:30:00 or \"09:30\", not a number",
                "line 14: days: expected one of \"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\" or \"sun\"",
            ])
    }

    @Test(arguments: [
        "playlist = [", "a = 1\na = 2", "[day_parts.a]\n[day_parts.a]", "from = 25:00:00", "\u{0}", "= 3",
        "[:x]", "[[.a]]", "a = { :b = 1 }", "a.:b = 1",
    ]) func invalidTOMLIsReportedWithItsLine(_ text: String) throws {
        let parsed = mistakes(text)
        #expect(parsed.count == 1)
        #expect(try #require(parsed.first).contains("TOML syntax error"))
    }

    @Test func aPlaylistOfNothingIsAMistake() {
        #expect(mistakes("loop = true") == ["line 1: there is nothing to play; write playlist = [\"film.mp4\"]"])
        #expect(mistakes("playlist = []").count == 1)
        #expect(mistakes("") == ["line 1: there is nothing to play; write playlist = [\"film.mp4\"]"])
    }

    @Test func aWallIsNotShuffled() {
        #expect(
            mistakes("playlist = [\"a.mp4\"]\norder = \"shuffled\"\n[wall]\n") == [
                "line 2: order: the screens of a wall play the list in order; remove \"shuffled\""
            ])
        #expect(mistakes("playlist = [\"a.mp4\"]\norder = \"shuffled\"\n[wall]\nfollow = false\n").isEmpty)
    }

    @Test func whatThisComputerLacksTodayIsSaidWithItsLine() throws {
        let folder = NSTemporaryDirectory() + "talkie-check-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/empty", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("film".utf8).write(to: URL(fileURLWithPath: folder + "/a.mp4"))
        let configuration = try KioskConfiguration(
            Array(
                """
                playlist = [
                    "a.mp4",
                    "gone.mp4",
                    "empty",
                    "https://example.org/b.mp4",
                ]
                slate = "closed.png"
                screen = 3
                operator_screen = "other"
                quiet_hours = ["22:00-07:00", "23:00-23:00"]
                [timeline]
                file = "/proc/nowhere/timeline.jsonl"
                [fleet]
                broker = "mqtt://10.0.0.2"
                name = "hall"
                user = "hall"
                password_file = "secret"
                """.utf8), file: "hall.toml", folder: folder)
        let display = ConnectedDisplay(index: 0, name: "HDMI-1", size: PixelSize(width: 1, height: 1))
        let warnings = configuration.machineWarnings(file: "hall.toml", displays: .success([display]))
        #expect(warnings.map(\.line) == [3, 4, 7, 10, 17, 12, 8, 9], "\(warnings)")
        #expect(warnings[0].sentence.contains("gone.mp4") && warnings[3].sentence.contains("the whole day"))
        #expect(warnings[6].sentence == "the screen 3 is not connected; connected: 0 ('HDMI-1')")
        let blind = configuration.machineWarnings(
            file: "hall.toml", displays: .failure(OutputError(.unavailable, "no display can be reached")))
        #expect(blind.last?.sentence == "no display can be reached" && blind.last?.line == 8)
    }

    @Test func aKeyThatMovesToAnotherLineChangesNothing() throws {
        let moved = try read("# moved\nvolume = 3\nplaylist = [\"a.mp4\"]")
        #expect(try read("playlist = [\"a.mp4\"]\nvolume = 3") == moved)
    }

    @Test func aFileOfMegabytesIsNotRead() {
        #expect(
            mistakes(String(repeating: "#", count: 2 << 20)) == [
                "line 0: the file is larger than a megabyte, which is too large for a configuration"
            ])
    }

    @Test(arguments: [
        (
            "playlist = \"htp://example.org/a.mp4\"",
            "line 1: playlist: 'htp://example.org/a.mp4' starts with htp://, which"
        ),
        ("playlist = \"/dev/zero\"", "line 1: playlist: '/dev/zero' is a device"),
        ("playlist = [\"a.mp4\",\n\"other.toml\"]", "line 2: playlist: 'other.toml' is a configuration"),
        ("playlist = \"a.mp4\"\n[timeline]\nfile = \"t\"\nkeep = 0", "line 4: keep: 1 to 99"),
        (
            "playlist = \"a.mp4\"\n[metrics]\nlisten = \"127.0.0.1:9596\"\n[remote]\nlisten = \"0.0.0.0:9596\"",
            "[metrics] and [remote] listen on one port, 9596"
        ),
        (
            "playlist = \"a.mp4\"\n[day_parts.a]\nfrom = 18:00\nto = 19:00:00",
            "a time is written in quotation marks: from = \"18:00\""
        ),
        (
            "playlist = \"a.mp4\"\n[metrics]\nlisten = \"127.0.0.1:9595\"\nvolume = 50",
            "line 4: there is no key 'volume' in [metrics]; write it above the first line in [brackets]"
        ),
        ("playlist = \"a.mp4\"\nbroker = \"mqtt://a\"", "line 2: there is no key 'broker'; it belongs in [fleet]"),
        (
            "playlist = \"a.mp4\"\n[remote]\nmax_size = 1",
            "line 3: there is no key 'max_size' in [remote]; it belongs in [timeline]"
        ),
    ])
    func whatCanNeverWorkIsAMistake(_ text: String, _ mistake: String) {
        let found = mistakes(text)
        #expect(found.contains { $0.contains(mistake) }, "\(found)")
    }

    @Test(arguments: ["127.0.0.1", "::1", "localhost", "/run/chrony/chronyd.sock"])
    func chronyIsQueriedOnThisComputer(_ address: String) throws {
        #expect(try read("playlist = \"a.mp4\"\n[wall]\nchrony = \"\(address)\"").remarks == [])
    }

    /// A kiosk that is updated continues to play.
    @Test func whatMayBeAMistakeIsReportedAndUsed() throws {
        let kiosk = try read(
            """
            playlist = "a.mp4"
            [fleet]
            broker = "mqtt://a"
            name = "b"
            user = "c"
            [timeline]
            file = "t"
            max_age = 3600
            [wall]
            chrony = "time.example"
            """)
        #expect(kiosk.fleet?.user == "c" && kiosk.fleet?.passwordFile == nil)
        #expect(kiosk.timeline?.rotation.maxAge == .seconds(3600) && kiosk.wall?.chrony == "time.example")
        #expect(
            kiosk.remarks.map { "line \($0.line): \($0.sentence)" } == [
                "line 5: user: it is sent without a password; if the broker wants one, write password_file = \"…\"",
                "line 8: max_age: a number without a unit is in seconds, here 3600; write \"24:00:00\" for a day",
                "line 10: chrony: 'time.example' must be a name of this computer; time servers are set in chrony.conf",
            ])
    }
}
