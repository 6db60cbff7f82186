import Foundation
import MediaCore
import Sockets
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// The stream that a film is sent as, by the program and as the speaker received it.
@Suite(.serialized, .timeLimit(.minutes(2)), .repeatedWhenTheMachineStalls) struct SpeakerRouteTests {
    /// Plays the beginning of a film with AC-3 sound, and returns the kind and format of the stream.
    private func stream(
        _ speaker: SoftwareSpeaker, of film: String, state: String, options: String = "", _ arguments: String...
    ) throws -> String {
        let before = speaker.record.events.count
        let result = try Program.run(
            Program.talkie,
            [
                "play", "--really-quiet", "--end", "2", "--speaker",
                "airplay://\(speaker.configuration.address):\(speaker.port)\(options)",
            ] + arguments + [film],
            environment: ["XDG_STATE_HOME": state], atMost: 40)
        #expect(result.status == 0)
        let events = speaker.record.events[before...]
        #expect(events.contains { if case .anchor = $0 { true } else { false } })
        let streams = events.compactMap { event -> String? in
            guard case .stream(let kind, let format, _) = event else { return nil }
            return "\(kind) \(format)"
        }
        return streams.joined(separator: ", ")
    }

    // feature: --route
    @Test func theUserChoosesRouteAndEncodingOfASpeaker() throws {
        let folder = try Scratch()
        let film = try TestClips.make(
            "speaker-route.mkv",
            TestClips.arguments(
                "-f lavfi -i testsrc2=s=64x36:r=25:d=4 -f lavfi -i sine=r=48000:d=4 -c:v mpeg4 -c:a ac3 -ac 2"))
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: NetworkAddress("127.0.0.36")!, port: 0, clock: .required))
        defer { speaker.stop() }
        let state = folder.path("state")
        #expect(try stream(speaker, of: film, state: state) == "buffered AAC-LC 48")
        #expect(try stream(speaker, of: film, state: state, options: ";encoding=lossless") == "buffered ALAC 44.1/16")
        #expect(try stream(speaker, of: film, state: state, "--route", "realtime") == "realtime ALAC 44.1/16")
        #expect(try stream(speaker, of: film, state: state) == "realtime ALAC 44.1/16", "a route is remembered")
        #expect(try stream(speaker, of: film, state: state, options: ";route=buffered") == "buffered AAC-LC 48")
        #expect(try stream(speaker, of: film, state: state, options: ";route=ntp") == "realtime ALAC 44.1/16")
        #expect(try stream(speaker, of: film, state: state, options: ";route=auto") == "buffered AAC-LC 48")
    }

    /// A new session, or a new stream, would cost the time in which the speaker synchronizes its clock.
    @Test func theNextFilmAndASeekKeepTheSessionAndTheStream() throws {
        let folder = try Scratch()
        let films = try [("ac3", 48_000), ("aac", 44_100)].map { codec, rate in
            try TestClips.make(
                "speaker-kept-\(codec).mkv",
                TestClips.arguments(
                    "-f lavfi -i testsrc2=s=64x36:r=25:d=60 -f lavfi -i sine=r=\(rate):d=60 -c:v mpeg4"
                        + " -c:a \(codec) -ac 2"))
        }
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: NetworkAddress("127.0.0.36")!, port: 0, clock: .required))
        defer { speaker.stop() }
        let player = TerminalProcess(
            ["play", "--no-video", "--speaker", speaker.url] + films,
            environment: ["XDG_STATE_HOME": folder.path("state")])
        var anchors: [HostInstant] {
            speaker.record.events.compactMap { event -> HostInstant? in
                if case .anchor(_, _, let host, _) = event { host } else { nil }
            }
        }
        func press(_ key: String?) throws -> Duration {
            let (before, pressed) = (anchors.count, HostInstant.now)
            if let key { player.type(key) }
            while anchors.count == before, .now - pressed < .seconds(20) { usleep(10_000) }
            let anchor = try #require(anchors.last, "\(speaker.record.events.suffix(8))")
            try #require(anchors.count > before, "\(speaker.record.events.suffix(8))")
            while HostInstant.now < anchor.advanced(by: .seconds(1)) { usleep(10_000) }
            return anchor - pressed
        }
        _ = try press(nil)
        let (next, seek) = (try press(">"), try press("\u{1B}[C"))
        print("the next film is heard after \(next.inMilliseconds) ms, a seek after \(seek.inMilliseconds) ms")
        player.type("q")
        #expect(player.wait() == .status(0))
        let events = speaker.record.events
        #expect(events.count { if case .stream = $0 { true } else { false } } == 1)
        // The first one asks what is at the address.
        #expect(events.count { if case .connected = $0 { true } else { false } } == 2)
        // The rest of the time is opening and decoding; a new stream takes 1.2 s more.
        #expect(next < .seconds(1.2) && seek < .seconds(1.2), "\(next), \(seek)")
    }

    /// Each channel has a tone of its own: front left and right, centre, low frequency, side left and right.
    private static let voices = [400, 600, 900, 60, 1900, 2500]

    private func surroundFilm() throws -> String {
        let tones = Self.voices.map { "0.2*sin(2*PI*\($0)*t)" }.joined(separator: "|")
        return try TestClips.make(
            "speaker-surround.mkv",
            ["-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=6"]
                + ["-f", "lavfi", "-i", "aevalsrc=exprs=\(tones):c=5.1:s=48000:d=6"]
                + TestClips.arguments("-c:v mpeg4 -c:a ac3 -b:a 448k"))
    }

    /// The software speaker mixes what it receives to stereo, where each channel has levels of its own.
    @Test func aFilmIn51ReachesASpeakerWithEachVoiceInItsChannel() throws {
        let folder = try Scratch()
        let film = try surroundFilm()
        let heard = folder.path("heard.wav")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress("127.0.0.36")!, port: 0, output: .file(path: heard), clock: .required))
        let sent = try stream(
            speaker, of: film, state: folder.path("state"), options: ";channels=5.1", "--end", "4", "--volume", "100")
        #expect(sent == "buffered AAC-LC 48 5.1")
        speaker.stop()
        let levels = try (0...1).map { channel in
            let recording = try OutputCapture(file: URL(fileURLWithPath: heard), channel: channel)
            let begin = try #require(recording.samples.firstIndex { abs($0) > 0.05 })
            // One second, in which each tone has whole periods.
            let range = (begin + Int(recording.rate))..<(begin + 2 * Int(recording.rate))
            return Self.voices.map { recording.tone($0, range).level }
        }
        let (left, right) = (levels[0], levels[1])
        let front = left[0]
        // ITU-R BS.775: centre and sides at −3 dB; without the low frequency channel.
        let half = front * 0.5.squareRoot()
        let expected = [[front, 0, half, 0, half, 0], [0, front, half, 0, 0, half]]
        #expect(front > 0.02)
        for (found, wanted) in zip(left + right, expected[0] + expected[1]) {
            #expect(abs(found - wanted) < 0.05 * front, "\(left), \(right)")
        }
    }

    /// Returns the level of each tone in both channels of a recording, in its second second.
    private func levels(_ file: String, of tones: [Int]) throws -> [[Double]] {
        try (0...1).map { channel in
            let recording = try OutputCapture(file: URL(fileURLWithPath: file), channel: channel)
            let begin = try #require(recording.samples.firstIndex { abs($0) > 0.02 })
            let range = (begin + Int(recording.rate))..<(begin + 2 * Int(recording.rate))
            return tones.map { recording.tone($0, range).level }
        }
    }

    /// The film's AAC is passed through to the third speaker, and decoded for the two of the pair.
    // feature: guide: A stereo pair, or surround sound, of several speakers
    @Test func twoSpeakersAreAStereoPair() throws {
        let folder = try Scratch()
        let tones = [400, 800]
        // On both speakers, whose instants are compared by it.
        let common = 25
        let film = try TestClips.make(
            "speaker-pair.mp4",
            ["-f", "lavfi", "-i", "testsrc2=s=64x36:r=25:d=6"]
                + [
                    "-f", "lavfi", "-i",
                    "aevalsrc=exprs=0.2*sin(2*PI*400*t)+0.2*sin(2*PI*\(common)*t)"
                        + "|0.2*sin(2*PI*800*t)+0.2*sin(2*PI*\(common)*t):c=stereo:s=48000:d=6",
                ] + TestClips.arguments("-c:v mpeg4 -c:a aac -b:a 256k"))
        let parts = [";part=left", ";part=right", ""]
        let speakers = try parts.indices.map { index in
            try SoftwareSpeaker(
                SpeakerConfiguration(
                    name: "Room \(index)", address: NetworkAddress("127.0.0.\(36 + index)")!, port: 0,
                    output: .file(path: folder.path("\(index).wav")), clock: .required))
        }
        defer { for speaker in speakers { speaker.stop() } }
        let names = zip(speakers, parts).map { "airplay://\($0.configuration.address):\($0.port)\($1)" }
        let result = try Program.run(
            Program.talkie,
            ["play", "--really-quiet", "--volume", "100"] + names.flatMap { ["--speaker", $0] } + [film],
            environment: ["XDG_STATE_HOME": folder.path("state")], atMost: 60)
        #expect(result.status == 0, "\(result.errors)")
        for speaker in speakers { speaker.stop() }
        let heard = try parts.indices.map { try levels(folder.path("\($0).wav"), of: tones) }
        let level = heard[2][0][0]
        #expect(abs(level - 0.2) < 0.01)
        let expected = [[[1.0, 0], [1, 0]], [[0, 1], [0, 1]], [[1, 0], [0, 1]]]
        for (found, wanted) in zip(heard.joined().joined(), expected.joined().joined()) {
            #expect(abs(found - wanted * level) < 0.02 * level, "\(heard)")
        }
        // When the common tone, whose phase is 0 at film time 0, last had phase 0 before the recording's second second.
        let instants = try (0...1).map { index in
            let recording = try OutputCapture(file: URL(fileURLWithPath: folder.path("\(index).wav")))
            let begin = try #require(recording.samples.firstIndex { abs($0) > 0.02 })
            let middle = begin + Int(recording.rate)
            let turns = recording.tone(common, middle..<(middle + Int(recording.rate))).turns
            return recording.instant(of: -turns * recording.rate / Double(common)) / 1e6
        }
        let period = 1000.0 / Double(common)
        let apart = (instants[1] - instants[0]).remainder(dividingBy: period)
        let first = try speakers.prefix(2).map { try #require($0.record.spans.first?.instant) }
        print("the pair is \(apart) ms apart; it begins \((first[1] - first[0]).inMilliseconds) ms apart")
        #expect(abs(apart) < 0.3 && abs((first[1] - first[0]).inMilliseconds) < period / 2)
    }

    /// The downmix levels of FFmpeg's AC-3 encoder are −4.5 dB for the centre and −6 dB for surround.
    @Test(arguments: [("fc", [0, 0, 1.0, 0, 0, 0]), ("left", [0.477, 0, 0.284, 0, 0.239, 0])])
    func aSpeakerPlaysItsPartOfAFilmIn51(_ part: String, _ expected: [Double]) throws {
        let folder = try Scratch()
        let heard = folder.path("heard.wav")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress("127.0.0.36")!, port: 0, output: .file(path: heard), clock: .required))
        defer { speaker.stop() }
        let sent = try stream(
            speaker, of: try surroundFilm(), state: folder.path("state"), options: ";part=\(part)", "--end", "4",
            "--volume", "100")
        #expect(sent == "buffered AAC-LC 48")
        speaker.stop()
        for channel in try levels(heard, of: Self.voices) {
            for (found, wanted) in zip(channel, expected) {
                #expect(abs(found - wanted * 0.2) < 0.01, "\(part): \(channel)")
            }
        }
    }

    @Test func aSpeakerGets24BitsIfItOffersThem() throws {
        let folder = try Scratch()
        let film = try surroundFilm()
        func speaker(_ address: String, _ quirks: SpeakerQuirks) throws -> SoftwareSpeaker {
            try SoftwareSpeaker(
                SpeakerConfiguration(
                    name: address, address: NetworkAddress(address)!, port: 0, clock: .required, quirks: quirks))
        }
        let state = folder.path("state")
        let offering = try speaker("127.0.0.36", SpeakerQuirks())
        defer { offering.stop() }
        #expect(try stream(offering, of: film, state: state, options: ";bits=24") == "buffered ALAC 48/24")
        #expect(
            try stream(offering, of: film, state: state, options: ";encoding=lossless;bits=16")
                == "buffered ALAC 44.1/16")
        var quirks = SpeakerQuirks()
        try quirks.set("16-bit")
        let other = try speaker("127.0.0.37", quirks)
        defer { other.stop() }
        #expect(try stream(other, of: film, state: state, options: ";bits=24") == "buffered ALAC 44.1/16")
        let result = try Program.run(
            Program.talkie,
            ["play", "--no-video", "--end", "2", "--speaker", "airplay://127.0.0.37:\(other.port);bits=24", film],
            environment: ["XDG_STATE_HOME": state], atMost: 40)
        #expect(
            result.status == 0 && (result.errors + result.output).contains("offers no 24-bit stream"),
            "\(result.errors)")
    }

    /// The offer is in the announcement, and the refusal in the answer to the stream's SETUP.
    @Test(arguments: ["400", "closed", "silent"])
    func aSpeakerThatRefusesARoutePlaysOnTheNextOneInTheSameStart(_ answer: String) throws {
        let folder = try Scratch()
        let film = try surroundFilm()
        var quirks = SpeakerQuirks()
        try quirks.set("refuses-buffered=\(answer)")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress("127.0.0.36")!, port: 0, clock: .required, quirks: quirks))
        defer { speaker.stop() }
        let state = folder.path("state")
        #expect(try stream(speaker, of: film, state: state) == "realtime ALAC 44.1/16")
        let refusals = speaker.record.events.count { event in
            if case .request(method: "SETUP", target: _, let status) = event { status != 200 } else { false }
        }
        #expect(refusals == 1, "the refused route is not tried again")
        let route = try FileManager.default.contentsOfDirectory(atPath: "\(state)/talkie/routes").first ?? ""
        let kept = try String(contentsOfFile: "\(state)/talkie/routes/\(route)", encoding: .utf8)
        #expect(kept.contains("realtime"), "\(kept)")
    }

    @Test func aSpeakerThatOffersNoAACKeepsItsRoute() throws {
        let folder = try Scratch()
        var quirks = SpeakerQuirks()
        try quirks.set("formats=18")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress("127.0.0.36")!, port: 0, clock: .required, quirks: quirks))
        defer { speaker.stop() }
        #expect(try stream(speaker, of: surroundFilm(), state: folder.path("state")) == "buffered ALAC 44.1/16")
    }

    @Test func aSpeakerThatOffersStereoOnlyGetsStereoWithoutAnotherStart() throws {
        let folder = try Scratch()
        var quirks = SpeakerQuirks()
        try quirks.set("stereo-only")
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(
                address: NetworkAddress("127.0.0.36")!, port: 0, clock: .required, quirks: quirks))
        defer { speaker.stop() }
        let sent = try stream(
            speaker, of: try surroundFilm(), state: folder.path("state"), options: ";channels=5.1")
        #expect(sent == "buffered AAC-LC 48")
    }

    @Test func oneFilmPlaysAtOnceInRoomsOfBothVersions() throws {
        let folder = try Scratch()
        let film = try TestClips.make(
            "speaker-versions.mkv",
            TestClips.arguments(
                "-f lavfi -i testsrc2=s=64x36:r=25:d=6 -f lavfi -i sine=r=48000:d=6 -c:v mpeg4 -c:a ac3 -ac 2"))
        var old = SpeakerConfiguration(address: NetworkAddress("127.0.0.37")!, port: 0)
        old.isClassic = true
        let speakers = try [
            SpeakerConfiguration(address: NetworkAddress("127.0.0.36")!, port: 0, clock: .required), old,
        ].map { try SoftwareSpeaker($0) }
        defer { for speaker in speakers { speaker.stop() } }
        let names = speakers.map { "airplay://\($0.configuration.address):\($0.port)" }
        func play(_ words: [String]) throws -> Program.Result {
            try Program.run(
                Program.talkie,
                ["play", "--really-quiet", "--end", "4"] + words.flatMap { ["--speaker", $0] } + [film],
                environment: ["XDG_STATE_HOME": folder.path("state")], atMost: 60)
        }
        // AAC begins with packets of the encoder's delay, which the record counts as sound.
        let result = try play([names[0] + ";encoding=lossless", names[1]])
        #expect(result.status == 0, "\(result.errors)")
        let first = try speakers.map { try #require($0.record.spans.first?.instant, "\($0.record.events.suffix(6))") }
        let apart = (first[1] - first[0]).inMilliseconds
        print("rooms of both versions begin \(apart) ms apart")
        // A receiver that misses the first packets begins a few packets late.
        #expect(abs(apart) < 30)
        let refused = try play([names[1] + ";route=buffered"])
        #expect(refused.status == 69 && refused.errors.contains("AirPlay"), "\(refused.errors)")
    }

    /// Speaker and player are at the two ends of a cable that has link-local addresses only, in a network of their own.
    @Test(
        .enabled(if: PlainUser.isWanted, "no other network here: \(PlainUser.obstacle ?? "")"),
        arguments: [["--route", "buffered"], ["--route", "realtime"], ["--route", "ntp"], ["--classic"]])
    func aSpeakerWithIPv6AloneIsHeard(_ route: [String]) throws {
        let folder = try Scratch()
        let isClassic = route == ["--classic"]
        let script = #"""
            ip link add near type veth peer name far
            ip addr add fe80::1/64 dev near nodad; ip addr add fe80::2/64 dev far nodad
            ip link set near up; ip link set far up
            talkie=$1 film=$2 record=$3
            shift 3
            "$talkie" speaker --address fe80::2%far --no-mdns --record "$record" $SPEAKER &
            for i in $(seq 100); do [ ! -e "$record" ] || break; sleep 0.05; done
            "$talkie" play --really-quiet --no-video --end 2 --speaker 'airplay://[fe80::2%near]' "$@" "$film"
            status=$?
            kill $!; wait $!
            exit $status
            """#
        let record = folder.path("record.jsonl")
        let result = try Program.run(
            "/usr/bin/unshare",
            ["--net", "/bin/sh", "-c", script, "sh", Program.talkie, Program.media("talking.mp4"), record]
                + (isClassic ? ["--route", "classic"] : route),
            environment: [
                "XDG_STATE_HOME": folder.path("state"), "SPEAKER": isClassic ? "--classic" : "--clock ptp",
            ], atMost: 60)
        #expect(result.status == 0, "\(result.errors)")
        let events = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").compactMap {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        let sender = try #require(events.first { $0["event"] as? String == "connected" }?["from"] as? String)
        #expect(sender.hasPrefix("fe80::") && sender.hasSuffix("%far"))
        let heard = events.filter { $0["event"] as? String == "heard" }
            .reduce(0.0) { $0 + ($1["frames"] as? Double ?? 0) / ($1["rate"] as? Double ?? 1) }
        #expect(heard > 1.5, "\(events.suffix(8))")
    }
}
