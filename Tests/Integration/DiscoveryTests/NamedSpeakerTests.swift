import AirPlay
import AirPlayWire
import Foundation
import Glibc
import MediaCore
import PTP
import Sockets
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport

/// The program with software speakers that are selected by name.
extension SpeakerBrowserTests {
    /// Starts an announced speaker with a separate address.
    private func speaker(
        _ name: String, host: UInt8, admission: PairSetupResponder.Admission = .open
    ) throws -> SoftwareSpeaker {
        try SoftwareSpeaker(
            SpeakerConfiguration(
                name: name, address: NetworkAddress(ipv4: 0x7F00_0000 | UInt32(host)), port: 0, clock: .required,
                admission: admission, isAnnounced: true, volume: -20))
    }

    /// Runs the program with a separate state folder.
    private func talkie(_ state: Scratch, _ words: String..., atMost seconds: Int = 30) throws -> Program.Result {
        try Program.run(
            Program.talkie, words, environment: ["XDG_STATE_HOME": state.folder.path], atMost: seconds)
    }

    private func play(_ state: Scratch, _ speakers: String..., options: [String] = []) throws -> Program.Result {
        try Program.run(
            Program.talkie,
            ["play", "--no-video", "--really-quiet", "--end", "2"] + speakers.flatMap { ["--speaker", $0] } + options
                + [Program.media("talking.mp4")],
            environment: ["XDG_STATE_HOME": state.folder.path], atMost: 40)
    }

    private func seconds(heardBy speaker: SoftwareSpeaker) -> Double {
        Double(speaker.record.spans.reduce(0) { $0 + $1.frames }) / 44100
    }

    // feature: talkie speakers
    @Test func theListNamesASpeakerAndHowItWouldBeDriven() throws {
        let speaker = try speaker("Rehearsal Room", host: 12)
        defer { speaker.stop() }
        let state = try Scratch()
        let listed = try talkie(state, "speakers", "--json", "--timeout", "4")
        #expect(listed.status == 0 && listed.errors.isEmpty, "\(listed.errors)")
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [String: Any])
        let found = try #require(
            (json["speakers"] as? [[String: Any]])?.first { $0["name"] as? String == "Rehearsal Room" },
            "\(listed.output)")
        #expect(found["route"] as? String == "buffered" && found["access"] as? String == "transient")
        #expect(found["address"] as? String == "127.0.0.12")
        let text = try talkie(state, "speakers")
        #expect(text.output.contains("Rehearsal Room\n    TalkieSpeaker  127.0.0.12:"), "\(text.output)")
    }

    @Test func aFilmIsHeardOnSpeakersThatWereNamed() throws {
        let (hall, den) = (try speaker("Hall", host: 13), try speaker("Den", host: 14))
        defer {
            hall.stop()
            den.stop()
        }
        let state = try Scratch()
        let result = try play(state, "hall", "Den")
        #expect(result.status == 0, "\(result.errors)")
        for speaker in [hall, den] {
            #expect(
                seconds(heardBy: speaker) > 1.5, "\(speaker.configuration.name): \(speaker.record.events.suffix(5))")
            // Without `--volume` the speaker's volume stays unchanged.
            #expect(speaker.volume == -20)
            let titles = speaker.record.events.compactMap {
                if case .track(let title, _, _, _) = $0 { title } else { nil }
            }
            #expect(titles.last == "talking.mp4", "\(titles)")
        }
        let routes = try FileManager.default.contentsOfDirectory(atPath: state.path("talkie/routes"))
        #expect(routes.count == 2, "both are remembered")
        #expect(try play(state, "Hall", "Den", options: ["--volume", "100"]).status == 0)
        #expect(hall.volume == 0 && den.volume == 0)
        #expect(try play(state, "Hall", "Den", options: ["--volume", "10"]).status == 0)
        #expect(abs(hall.volume + 27) < 0.01 && hall.volume == den.volume, "\(hall.volume) and \(den.volume) dB")
    }

    // feature: talkie pair, exit status 77
    @Test func aSpeakerThatWantsAPINIsPairedOnceAndPlaysThen() throws {
        let safe = try speaker("Safe", host: 15, admission: .pin("2468"))
        defer { safe.stop() }
        let state = try Scratch()
        let refused = try play(state, "Safe")
        #expect(refused.status == 77 && refused.errors.contains("talkie pair 'Safe'"), "\(refused.errors)")
        #expect(refused.errorLines.count == 1)
        let wrong = try talkie(state, "pair", "Safe", "--pin", "1111")
        #expect(wrong.status == 77 && wrong.errorLines.count == 1, "\(wrong.errors)")
        let paired = try talkie(state, "pair", "safe", "--pin", "2468")
        #expect(paired.status == 0 && paired.output.contains("is paired"), "\(paired.errors)")
        #expect(try talkie(state, "speakers", "--timeout", "3").output.contains("    paired\n"))
        let played = try play(state, "Safe")
        #expect(played.status == 0, "\(played.errors)")
        #expect(seconds(heardBy: safe) > 1.5)
        #expect(try talkie(state, "pair", "Safe", "--forget").output.contains("was removed"))
        #expect(try play(state, "Safe").status == 77)
    }

    @Test func aSpeakerInSoftwareKnowsItsSendersAfterARestart() throws {
        let state = try Scratch()
        let keys = try Scratch()
        /// Runs the body while `talkie speaker` runs with a separate state folder.
        func whileItIsOn(_ body: () throws -> Void) throws {
            var failure: (any Error)?
            let result = try Program.run(
                Program.talkie, ["speaker", "--name", "Vault", "--address", "127.0.0.19", "--pin", "1357"],
                environment: ["XDG_STATE_HOME": keys.folder.path], atMost: 60
            ) { pid in
                do { try body() } catch { failure = error }
                kill(pid, SIGTERM)
            }
            #expect(result.status != 137, "\(result.errors)")
            if let failure { throw failure }
        }
        try whileItIsOn {
            let paired = try talkie(state, "pair", "Vault", "--pin", "1357")
            #expect(paired.status == 0, "\(paired.errors)")
        }
        try whileItIsOn {
            let played = try play(state, "Vault")
            #expect(played.status == 0, "\(played.errors)")
        }
    }

    @Test func aPasswordIsGivenOnceAndKept() throws {
        let club = try speaker("Club", host: 16, admission: .password("sesame"))
        defer { club.stop() }
        let state = try Scratch()
        let refused = try play(state, "Club")
        #expect(refused.status == 77 && refused.errors.contains("talkie pair 'Club'"), "\(refused.errors)")
        #expect(!refused.errors.contains("--password"), "other users see a command line: \(refused.errors)")
        #expect(try talkie(state, "pair", "Club", "--password", "open").status == 77)
        let paired = try talkie(state, "pair", "Club", "--password", "sesame")
        #expect(paired.status == 0 && paired.output.contains("accepted the password"), "\(paired.errors)")
        let played = try play(state, "Club")
        #expect(played.status == 0, "\(played.errors)")
        #expect(seconds(heardBy: club) > 1.5)
    }

    @Test func anAddressResolvesToItsNameWithoutADaemon() throws {
        let attic = try speaker("Attic", host: 17)
        defer { attic.stop() }
        let state = try Scratch()
        let address = "airplay://127.0.0.17:\(attic.port)"
        let result = try Program.run(
            Program.talkie,
            ["play", "--no-video", "--really-quiet", "--end", "2", "--speaker", address, Program.media("talking.mp4")],
            environment: [
                "XDG_STATE_HOME": state.folder.path, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus",
            ], atMost: 30)
        #expect(result.status == 0, "\(result.errors)")
        #expect(seconds(heardBy: attic) > 1.5)
    }

    @Test func withoutADaemonOneSentenceSaysWhatToDo() throws {
        let state = try Scratch()
        for words in [["speakers"], ["speakers", "--watch"], ["pair", "Kitchen"]] {
            let result = try Program.run(
                Program.talkie, words,
                environment: [
                    "XDG_STATE_HOME": state.folder.path, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus",
                ], atMost: 15)
            #expect(result.status == 69 && result.output.isEmpty)
            #expect(result.errorLines.count == 1 && result.errors.contains("systemctl start avahi-daemon"))
        }
    }

    @Test func askingToEndIsHeardWhileASpeakerIsWaitedFor() throws {
        let state = try Scratch()
        let began = HostInstant.now
        for words in [
            ["play", "--no-video", "--speaker", "Nobody", Program.media("talking.mp4")], ["speakers", "--watch"],
        ] {
            let result = try Program.run(
                Program.talkie, words, environment: ["XDG_STATE_HOME": state.folder.path], atMost: 15
            ) { pid in
                HostInstant.now.advanced(by: .milliseconds(1500)).sleep()
                kill(pid, SIGINT)
            }
            #expect(result.status == 130, "\(words)")
        }
        #expect(HostInstant.now - began < .seconds(7))
    }
}
