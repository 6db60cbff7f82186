import AirPlay
import AirPlayTransport
import Foundation
import Glibc
import MediaCore
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// The main use: video in a window of this computer and audio from shairport-sync receivers in separate networks, in
/// step. Measured externally; the bounds are the same on every machine.
extension SpeakerLabTests {
    @Suite struct MissionTests {
        /// Ten seconds with a flash and a beep each second; the audio is AAC.
        private static let film = Program.media("flash-and-beep.mp4")

        private static func words(_ addresses: [SpeakerAddress]) -> [String] {
            ["play", "--really-quiet", "--volume", "100"]
                + addresses.flatMap { ["--speaker", "airplay://\($0.host):\($0.port)"] }
        }

        /// Returns the size of a film's audio packets in the file, in bytes.
        private func soundBytes(of film: String) throws -> Int {
            let result = try Program.run(
                "/usr/bin/env",
                [
                    "ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "packet=size", "-of",
                    "csv=p=0", film,
                ]
            )
            let sizes = result.output.split(separator: "\n").compactMap { Int($0.prefix { $0.isNumber }) }
            try #require(!sizes.isEmpty, "\(result.errors)")
            return sizes.reduce(0, +)
        }

        @Test(.timeLimit(.minutes(4))) func lipsAndVoicesMeetOnASpeakerAndItsAACIsSentUntouched() throws {
            let sound = try soundBytes(of: Self.film)
            let (lab, addresses) = try Lab.freshSpeakers(1)
            let scratch = try Scratch()
            let before = try lab.bytesCarried(to: 1)
            let measured = try MeterRun(
                of: Self.film, ["--sound-command", "\(Lab.program.path) record 1 {wav} 60"],
                environment: Lab.environment.merging(["XDG_STATE_HOME": scratch.path("state")]) { $1 },
                player: [Program.talkie] + Self.words(addresses) + ["{clip}"])
            let carried = try lab.bytesCarried(to: 1) - before
            print("one speaker: \(measured.figure); \(carried) bytes carried for \(sound) of sound")
            #expect(measured.isWhole, "\(measured.figure)")
            #expect(carried < 2 * sound)
        }

        @Test(.timeLimit(.minutes(4))) func threeSpeakersAreHeardWithinAMillisecondOfEachOther() throws {
            let (lab, addresses) = try Lab.freshSpeakers(3)
            let scratch = try Scratch()
            let recordings = try (1...3).map { try Lab.Recording(lab, seconds: 60, speaker: $0) }
            let played = try Program.run(
                Program.talkie, Self.words(addresses) + ["--no-video", Self.film],
                environment: ["XDG_STATE_HOME": scratch.path("state")])
            #expect(played.status == 0, "\(played.errors)")
            for recording in recordings { try recording.stop() }
            let heard = try recordings.map { try lab.beeps(in: $0.file) }
            for (number, other) in zip(2..., heard.dropFirst()) {
                // Beeps are one second apart, so the nearest one is the counterpart.
                let apart = heard[0].compactMap { one in
                    other.map { Double($0 - one) / 1e6 }.min { abs($0) < abs($1) }
                }.filter { abs($0) < 500 }.sorted()
                print("speaker \(number) from the first (ms): \(apart); \(heard.map(\.count)) beeps of 9")
                try #require(apart.count == 9)
                #expect(abs(apart[4]) <= 1, "\(apart)")
            }
        }

        private static let languages = ["eng", "deu", "fra", "spa"]

        /// Four speakers with tight bounds, two otherwise: each pair of namespaces costs a start.
        @Test(.timeLimit(.minutes(4))) func eachSpeakerPlaysItsLanguageInStepWithThePictureAndTheOthers() throws {
            let count = Bounds.isTight ? 4 : 2
            let (lab, addresses) = try Lab.freshSpeakers(count)
            let scratch = try Scratch()
            let languages = Self.languages.prefix(count)
            let film = scratch.path("languages.mp4")
            try Lab.addTracks(to: Self.film, Array(languages), seconds: 10, at: film)
            try FileManager.default.copyItem(atPath: Self.film + ".json", toPath: film + ".json")
            let speakers = zip(addresses, languages).flatMap { address, language in
                ["--speaker", "airplay://\(address.host):\(address.port);lang=\(language)"]
            }
            let words = ["play", "--really-quiet", "--volume", "100"] + speakers
            // One film for both comparisons: of the speakers with each other, and of the first one with the picture.
            let recordings = try (1...count).map { try Lab.Recording(lab, seconds: 60, speaker: $0) }
            let measured = try MeterRun(
                of: film, ["--sound-command", "\(Lab.program.path) record 1 {wav} 60"],
                environment: Lab.environment.merging(["XDG_STATE_HOME": scratch.path("state")]) { $1 },
                player: [Program.talkie] + words + ["{clip}"])
            print("\(count) languages, the first speaker: \(measured.figure)")
            #expect(measured.isWhole, "\(measured.figure)")
            for recording in recordings { try recording.stop() }
            let heard = try recordings.map { try lab.numberedBeeps(in: $0.file) }
            for track in 1..<count {
                let pairs = heard[track].compactMap { beep in
                    heard[0].min { abs($0.at - beep.at) < abs($1.at - beep.at) }
                        .map { (number: (8 + $0.number - beep.number) % 8, apart: Double(beep.at - $0.at) / 1e6) }
                }.filter { abs($0.apart) < 500 }
                let apart = pairs.map(\.apart).sorted()
                print("\(Self.languages[track]) from \(Self.languages[0]), ms: \(apart)")
                try #require(apart.count >= 5, "\(heard)")
                #expect(pairs.allSatisfy { $0.number == track }, "another track is heard: \(pairs)")
                #expect(Bounds.isNear(apart[apart.count / 2], claim: 0.3), "\(apart)")
            }
        }

        /// A receiver whose queue ran empty before the end of a session begins the next one up to 35 ms early.
        @Test(.timeLimit(.minutes(2))) func afterAFilmWhoseAudioEndedBeforeItsVideoTheNextOneIsInStep() throws {
            let (lab, addresses) = try Lab.freshSpeakers(1)
            let scratch = try Scratch()
            let recording = try Lab.Recording(lab, seconds: 60)
            // The end of one film and the beginning of another, five beeps of each.
            for words in [["--audio-delay", "-0.2", "--start", "4.2"], ["--end", "5.6"]] {
                let played = try Program.run(
                    Program.talkie, Self.words(addresses) + words + [Self.film],
                    environment: ["XDG_STATE_HOME": scratch.path("state"), "SDL_VIDEODRIVER": "dummy"])
                #expect(played.status == 0, "\(played.errors)")
            }
            try recording.stop()
            let heard = try lab.beeps(in: recording.file)
            try #require(heard.count == 10, "\(heard.count)")
            // Beeps are 24 frames of 1001/24000 s apart. The receiver corrects an error by 2 ms per second.
            let errors = (5..<10).map { (beep: Int) -> Double in
                let due = heard[5] + Int64(beep - 5) * 1_001_000_000
                return Double(heard[beep] - due) / 1e6
            }
            print("after audio that ended early (ms): \(errors)")
            #expect(Bounds.areTogether(errors, claim: 1))
        }

        /// Writes the configuration of a kiosk; returns its path.
        private func kiosk(
            in scratch: Scratch, playlist: [String], speakers: [SpeakerAddress], _ lines: String
        ) throws -> String {
            func list(_ words: [String]) -> String { "[" + words.map { "\"\($0)\"" }.joined(separator: ", ") + "]" }
            let names = speakers.map { "airplay://\($0.host):\($0.port)" }
            let text = """
                playlist = \(list(playlist))
                speakers = \(list(Array(names.prefix(1))))
                fallbacks = \(list(Array(names.dropFirst())))
                volume = 100
                metrics = { listen = false }
                \(lines)

                """
            return try scratch.file("kiosk.toml", Data(text.utf8))
        }

        // feature: talkie kiosk
        @Test(.timeLimit(.minutes(2))) func aKiosksListIsSeenAndHeardAsOneFilmOnASpeaker() throws {
            let (_, addresses) = try Lab.freshSpeakers(1)
            let scratch = try Scratch()
            let cut = try Program.run(MeterRun.meter, ["cut", Self.film, "3", scratch.path("items")])
            try #require(cut.status == 0, "\(cut.errors)")
            let items = cut.output.split(separator: "\n").map(String.init)
            let path = try kiosk(in: scratch, playlist: items, speakers: addresses, "loop = false")
            let measured = try MeterRun(
                of: Self.film, ["--sound-command", "\(Lab.program.path) record 1 {wav} 60"],
                environment: Lab.environment.merging(["XDG_STATE_HOME": scratch.path("state")]) { $1 },
                player: [Program.talkie, "kiosk", path])
            print("kiosk: \(measured.figure)")
            // A kiosk starts while it still looks for its speaker and opens its window, so the first second is not
            // complete.
            let median = try #require(measured.number("offset_steady_ms", "median"), "\(measured.figure)")
            #expect(abs(median) <= 2 * Bounds.factor)
            #expect(measured.number("frames", "dropped_steady") == 0 && measured.number("frames", "backward") == 0)
            let heard = try #require(measured.number("events", "heard"))
            let due = try #require(measured.number("events", "expected"))
            #expect(heard >= due - 1, "\(measured.figure)")
        }

        @Test(.timeLimit(.minutes(2))) func aKiosksFallbackPlaysInStepWhileItsSpeakerIsAwayAndTheSpeakerReturnsInStep()
            throws
        {
            let (lab, addresses) = try Lab.freshSpeakers(2)
            defer { _ = try? lab.run("impair", ["1", "clear"]) }
            let scratch = try Scratch()
            let film = scratch.path("film.wav")
            _ = try lab.run("beeps", ["--make", film, "10"])
            let path = try kiosk(in: scratch, playlist: [film], speakers: addresses, "")
            var recordings: [Lab.Recording] = []
            var failure: (any Error)?
            let ended = try Program.run(
                Program.talkie, ["kiosk", "-v", path],
                environment: ["XDG_STATE_HOME": scratch.path("state"), "SDL_VIDEODRIVER": "dummy"]
            ) { process in
                defer { kill(process, SIGTERM) }
                do {
                    recordings = try (1...2).map { try Lab.Recording(lab, seconds: 60, speaker: $0) }
                    HostInstant.now.advanced(by: .seconds(9)).sleep()
                    // The RST of the old connection still passes outward; nothing reaches the new receiver process
                    // before the network is repaired.
                    _ = try lab.run("impair", ["1", "loss", "100", "inward"])
                    _ = try Program.run(
                        "/bin/sh", ["-c", "'\(Lab.program.path)' restart 1 &"], environment: Lab.environment)
                    HostInstant.now.advanced(by: .seconds(7)).sleep()
                    _ = try lab.run("impair", ["1", "clear"])
                    HostInstant.now.advanced(by: .seconds(9)).sleep()
                    for recording in recordings { try recording.stop() }
                } catch { failure = error }
            }
            if let failure { throw failure }
            #expect(ended.status == 143, "\(ended.errors)")
            print(ended.errors)
            let heard = try recordings.map { try lab.beeps(in: $0.file) }
            let first = try #require(heard[0].first, "nothing was heard: \(ended.errors)")
            // Every film of the playlist is ten seconds long, so all beeps are whole seconds after the first one.
            let origin = HostInstant(nanoseconds: first)
            let errors = heard.map { Lab.errors($0, from: origin) }
            print("speaker: \(errors[0]); fallback: \(errors[1])")
            let (there, instead) = (heard[0], heard[1])
            let lost = try #require(instead.first, "the fallback was not heard: \(ended.errors)")
            let back = there.filter { $0 > lost }
            #expect(there.count { $0 < lost } >= 3 && instead.count >= 3 && back.count >= 3, "\(heard)")
            #expect(Bounds.areTogether(Array(errors[0].prefix(3)), claim: 5))
            // A receiver that joins a running timeline needs a few seconds to synchronize.
            #expect(Bounds.areTogether(errors[1].suffix(3), claim: 5))
            #expect(Bounds.areTogether(errors[0].suffix(3), claim: 5))
            #expect(try #require(instead.last) < (try #require(there.last)), "both play at the end")
        }

        /// The delay is in an amplifier after the receiver; no protocol reports it. As shipped, the receiver may
        /// be 2 ms off, in the calibration and again in the film.
        @Test(.timeLimit(.minutes(2))) func aSpeakerThatIsTwoHundredMillisecondsLateIsCalibratedAndTheNextFilmIsInStep()
            throws
        {
            let (lab, host, port) = try Lab.freshSpeaker(.tight)
            let scratch = try Scratch()
            let environment: [String: String?] = [
                "XDG_STATE_HOME": scratch.path("state"), "SDL_VIDEODRIVER": "dummy",
            ]
            let speaker = "airplay://\(host):\(port)"
            let recording = try Lab.Recording(lab, seconds: 60, lateness: .milliseconds(200))
            let played = try Program.run(
                Program.talkie, ["calibrate", speaker, "--events", "10", "--emit", scratch.path("events.json")],
                environment: environment)
            try recording.stop()
            try #require(played.status == 0, "\(played.errors)")
            let answer = try Program.run(
                Program.talkie,
                [
                    "calibrate", speaker, "--json", "--analyse", recording.file.path, "--events-file",
                    scratch.path("events.json"),
                ], environment: environment)
            try #require(answer.status == 0, "\(answer.errors)")
            let object = try JSONSerialization.jsonObject(with: Data(answer.output.utf8)) as? [String: Any]
            let offset = try #require(object?["offset_ms"] as? Double, "\(answer.output)")
            print("calibrated: \(offset) ms")
            #expect(abs(offset - 200) < 6)
            let measured = try MeterRun(
                of: Self.film, ["--sound-command", "\(Lab.program.path) record 1 {wav} 60 --late 200"],
                environment: Lab.environment.merging(["XDG_STATE_HOME": scratch.path("state")]) { $1 },
                player: [Program.talkie, "play", "--really-quiet", "--volume", "100", "--speaker", speaker, "{clip}"])
            print("with its profile: \(measured.figure)")
            #expect(measured.isWhole, "\(measured.figure)")
        }
    }
}
