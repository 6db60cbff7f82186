import Foundation
import MediaCore
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// Playlists and loops, played by the program to a speaker: the recorded audio at the boundaries.
extension SpeakerLabTests {
    @Suite struct FilmRowTests {
        /// Plays to the peer and returns the recording.
        private func play(_ words: [String], to peer: Peer, seconds: Int) throws -> OutputCapture {
            try peer.record(seconds: seconds)
            try play(words, host: peer.host, port: peer.port)
            return try OutputCapture(file: peer.recorded())
        }

        private func play(_ words: [String], host: String, port: UInt16) throws {
            let scratch = try Scratch()
            let result = try Program.run(
                Program.talkie,
                [
                    "play", "--no-video", "--really-quiet", "--volume", "100", "--speaker",
                    "airplay://\(host):\(port)",
                ] + words, environment: ["XDG_STATE_HOME": scratch.path("state")])
            #expect(result.status == 0, "\(result.errors)")
        }

        private static func areExact(_ errors: [Double]) -> Bool { errors.allSatisfy { abs($0) < 1.5 } }

        private func tones() throws -> [URL] {
            [
                try Lab.tone(
                    500, seconds: 2, rate: 48000, ["-c:a", "alac", "-movie_timescale", "48000"], named: "one.m4a"),
                try Lab.tone(1000, seconds: 2, rate: 44100, ["-c:a", "flac"], named: "two.flac"),
                try Lab.tone(2000, seconds: 2, rate: 48000, ["-c:a", "pcm_s16le"], named: "three.wav"),
            ]
        }

        /// Expects that a recording has three consecutive films with different tones.
        private func expectOneFilm(in recording: OutputCapture, _ name: String) {
            let stretches = recording.stretches(of: [500, 1000, 2000])
            let errors = zip(stretches, stretches.dropFirst()).map { recording.jointError($0, $1) }
            let holes = zip(stretches, stretches.dropFirst()).map { $1.start - $0.end }
            print("\(name): \(stretches), joint errors \(errors) samples")
            #expect(stretches.map(\.hertz) == [500, 1000, 2000])
            #expect(Self.areExact(errors), "samples: \(errors)")
            #expect(holes.allSatisfy { $0 < 0.03 }, "seconds: \(holes)")
        }

        @Test(.timeLimit(.minutes(4)), arguments: Receiver.defaultReceivers)
        func filmsOfAListFollowOneAnother(receiver: Receiver) throws {
            let files = try tones()
            defer { for file in files { try? FileManager.default.removeItem(at: file) } }
            expectOneFilm(
                in: try play(files.map(\.path), to: try Peer(receiver, .frameByFrame), seconds: 13), "\(receiver), list"
            )
        }

        /// A speaker without PTP gets a realtime stream; a speaker together with a sound card is a member of a group.
        @Test(.timeLimit(.minutes(4)), arguments: [[], ["--speaker", "local", "--audio-device", "null"]])
        func filmsFollowOneAnotherOnARealtimeStreamAndInAGroup(beside: [String]) throws {
            let files = try tones()
            defer { for file in files { try? FileManager.default.removeItem(at: file) } }
            let scratch = try Scratch()
            let heard = scratch.path("heard.wav")
            let speaker = try SoftwareSpeaker(
                SpeakerConfiguration(
                    port: 0, output: .file(path: heard), clock: beside.isEmpty ? .never : .required))
            try play(beside + files.map(\.path), host: "127.0.0.2", port: speaker.port)
            speaker.stop()
            expectOneFilm(
                in: try OutputCapture(file: URL(fileURLWithPath: heard)),
                beside.isEmpty ? "software, realtime" : "software, group")
        }

        /// The second clip finds a receiver that another session has used.
        @Test(.timeLimit(.minutes(2)), arguments: Receiver.defaultReceivers)
        func shortClipsAreHeardWhole(receiver: Receiver) throws {
            for seconds in [1, 5] {
                let clip = try Lab.tone(500, seconds: seconds, rate: 48000, ["-c:a", "pcm_s16le"], named: "clip.wav")
                defer { try? FileManager.default.removeItem(at: clip) }
                let recording = try play([clip.path], to: try Peer(receiver, .frameByFrame), seconds: seconds + 5)
                let stretches = recording.stretches(of: [500])
                print("\(receiver), \(seconds) s: \(stretches)")
                try #require(stretches.count == 1, "\(stretches)")
                #expect(abs(stretches[0].end - stretches[0].start - Double(seconds)) < 0.05)
            }
        }

        @Test(.timeLimit(.minutes(4)), arguments: Receiver.defaultReceivers)
        func aLoopIsHeardAsOneTone(receiver: Receiver) throws {
            let film = try Lab.tone(
                500, seconds: 2, rate: 48000, ["-c:a", "aac", "-b:a", "256k", "-movie_timescale", "48000"],
                named: "film.m4a")
            defer { try? FileManager.default.removeItem(at: film) }
            let recording = try play(
                ["--loop-file", "3", film.path], to: try Peer(receiver, .frameByFrame), seconds: 15)
            let stretches = recording.stretches(of: [500])
            try #require(stretches.count == 1, "\(stretches)")
            let heard = stretches[0]
            let errors = (1...3).map { count in
                let boundary = heard.start + Double(2 * count)
                return recording.jointError(
                    .init(hertz: 500, start: boundary - 1, end: boundary),
                    .init(hertz: 500, start: boundary, end: boundary + 1)
                )
            }
            print("\(receiver), loop: \(stretches), joint errors \(errors) samples")
            #expect(abs(heard.end - heard.start - 8) < 0.06)
            #expect(Self.areExact(errors), "samples: \(errors)")
        }
    }
}
