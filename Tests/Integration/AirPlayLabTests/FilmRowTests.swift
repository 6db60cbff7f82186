import Foundation
import MediaCore
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

/// Films of a list and loops, played by the program to a speaker: what is heard where one ends and the next begins.
extension SpeakerLabTests {
    @Suite struct FilmRowTests {
        /// Built beside the test bundle.
        private static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("talkie")

        /// Plays to the peer and returns what was heard.
        private func play(_ words: [String], to peer: Peer, seconds: Int) throws -> Recording {
            try peer.record(seconds: seconds)
            try play(words, host: peer.host, port: peer.port)
            return try Recording(file: peer.recorded())
        }

        private func play(_ words: [String], host: String, port: UInt16) throws {
            let stateFolder = FileManager.default.temporaryDirectory
                .appendingPathComponent("talkie-films-\(UInt64.random(in: 0...UInt64.max))")
            defer { try? FileManager.default.removeItem(at: stateFolder) }
            let process = Process()
            process.executableURL = Self.program
            process.arguments =
                [
                    "play", "--no-video", "--really-quiet", "--volume", "100", "--speaker",
                    "airplay://\(host):\(port)",
                ]
                + words
            process.environment = ProcessInfo.processInfo.environment.merging(["XDG_STATE_HOME": stateFolder.path]) {
                $1
            }
            process.standardInput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }

        private func check(_ errors: [Double], _ what: String) {
            print("\(what): joint errors \(errors) samples")
            if Bounds.isTight { #expect(errors.allSatisfy { abs($0) < 1.5 }) }
        }

        private func tones() throws -> [URL] {
            [
                try Lab.tone(
                    500, seconds: 4, rate: 48000, ["-c:a", "alac", "-movie_timescale", "48000"], named: "one.m4a"),
                try Lab.tone(1000, seconds: 4, rate: 44100, ["-c:a", "flac"], named: "two.flac"),
                try Lab.tone(2000, seconds: 4, rate: 48000, ["-c:a", "pcm_s16le"], named: "three.wav"),
            ]
        }

        /// Three films with tones of their own, one behind the other.
        private func check(_ recording: Recording, _ what: String) {
            let stretches = recording.stretches(of: [500, 1000, 2000])
            print("\(what): \(stretches)")
            guard stretches.map(\.hertz) == [500, 1000, 2000] else {
                #expect(!Bounds.isTight, "\(stretches)")
                return
            }
            check(zip(stretches, stretches.dropFirst()).map { recording.jointError($0, $1) }, what)
            for (before, after) in zip(stretches, stretches.dropFirst()) where Bounds.isTight {
                #expect(after.start - before.end < 0.03)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: Receiver.mostForeign)
        func filmsOfAListFollowOneAnother(receiver: Receiver) throws {
            let files = try tones()
            defer { for file in files { try? FileManager.default.removeItem(at: file) } }
            check(try play(files.map(\.path), to: try Peer(receiver, .frameByFrame), seconds: 21), "\(receiver), list")
        }

        /// A speaker without a clock of PTP is sent a realtime stream; one beside a sound card is a member of a group.
        @Test(.timeLimit(.minutes(2)), arguments: [[], ["--speaker", "local", "--audio-device", "null"]])
        func filmsFollowOneAnotherOnARealtimeStreamAndInAGroup(beside: [String]) throws {
            let files = try tones()
            let heard = FileManager.default.temporaryDirectory.appendingPathComponent("talkie-\(UUID().uuidString).wav")
            defer { for file in files + [heard] { try? FileManager.default.removeItem(at: file) } }
            let speaker = try SoftwareSpeaker(
                SpeakerConfiguration(
                    port: 0, output: .file(path: heard.path), clock: beside.isEmpty ? .never : .required))
            try play(beside + files.map(\.path), host: "127.0.0.2", port: speaker.port)
            speaker.stop()
            check(try Recording(file: heard), beside.isEmpty ? "software, realtime" : "software, group")
        }

        @Test(.timeLimit(.minutes(2)), arguments: Receiver.mostForeign)
        func aLoopIsHeardAsOneTone(receiver: Receiver) throws {
            let film = try Lab.tone(
                500, seconds: 3, rate: 48000, ["-c:a", "aac", "-b:a", "256k", "-movie_timescale", "48000"],
                named: "film.m4a")
            defer { try? FileManager.default.removeItem(at: film) }
            let recording = try play(
                ["--loop-file", "3", film.path], to: try Peer(receiver, .frameByFrame), seconds: 21)
            let stretches = recording.stretches(of: [500])
            print("\(receiver): \(stretches)")
            guard stretches.count == 1, let heard = stretches.first else {
                #expect(!Bounds.isTight, "\(stretches)")
                return
            }
            #expect(abs(heard.end - heard.start - 12) < (Bounds.isTight ? 0.06 : 1))
            check(
                (1...3).map { count in
                    let joint = heard.start + Double(3 * count)
                    return recording.jointError(
                        .init(hertz: 500, start: joint - 1, end: joint), .init(hertz: 500, start: joint, end: joint + 1)
                    )
                }, "\(receiver), loop")
        }
    }
}
