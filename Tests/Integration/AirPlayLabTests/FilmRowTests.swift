import Foundation
import MediaCore
import Testing

/// Films of a list and loops, played by the program to a speaker: what is heard where one ends and the next begins.
extension SpeakerLabTests {
    @Suite struct FilmRowTests {
        /// Built beside the test bundle.
        private static let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("talkie")

        /// Plays to the peer and returns what was heard.
        private func play(_ words: [String], to peer: Peer, seconds: Int) throws -> ToneRecording {
            let stateFolder = FileManager.default.temporaryDirectory
                .appendingPathComponent("talkie-films-\(UInt64.random(in: 0...UInt64.max))")
            defer { try? FileManager.default.removeItem(at: stateFolder) }
            try peer.record(seconds: seconds)
            let process = Process()
            process.executableURL = Self.program
            process.arguments =
                [
                    "play", "--no-video", "--really-quiet", "--volume", "100", "--speaker",
                    "airplay://\(peer.host):\(peer.port)",
                ]
                + words
            process.environment = ProcessInfo.processInfo.environment.merging(["XDG_STATE_HOME": stateFolder.path]) {
                $1
            }
            process.standardInput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            return try ToneRecording(peer.recorded())
        }

        private func check(_ errors: [Double], _ what: String) {
            print("\(what): joint errors \(errors) samples")
            if Bounds.isTight { #expect(errors.allSatisfy { abs($0) < 1.5 }) }
        }

        @Test(.timeLimit(.minutes(2)), arguments: Receiver.allCases)
        func filmsOfAListFollowOneAnother(receiver: Receiver) throws {
            let files = [
                try Lab.tone(
                    500, seconds: 4, rate: 48000, ["-c:a", "alac", "-movie_timescale", "48000"], named: "one.m4a"),
                try Lab.tone(1000, seconds: 4, rate: 44100, ["-c:a", "flac"], named: "two.flac"),
                try Lab.tone(2000, seconds: 4, rate: 48000, ["-c:a", "pcm_s16le"], named: "three.wav"),
            ]
            defer { for file in files { try? FileManager.default.removeItem(at: file) } }
            let recording = try play(files.map(\.path), to: try Peer(receiver), seconds: 21)
            let stretches = recording.stretches(of: [500, 1000, 2000])
            print("\(receiver): \(stretches)")
            guard stretches.map(\.hertz) == [500, 1000, 2000] else {
                #expect(!Bounds.isTight, "\(stretches)")
                return
            }
            check(zip(stretches, stretches.dropFirst()).map { recording.jointError($0, $1) }, "\(receiver), list")
            for (before, after) in zip(stretches, stretches.dropFirst()) where Bounds.isTight {
                #expect(after.start - before.end < 0.03)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: Receiver.allCases)
        func aLoopIsHeardAsOneTone(receiver: Receiver) throws {
            let film = try Lab.tone(
                500, seconds: 3, rate: 48000, ["-c:a", "aac", "-b:a", "256k", "-movie_timescale", "48000"],
                named: "film.m4a")
            defer { try? FileManager.default.removeItem(at: film) }
            let recording = try play(["--loop-file", "3", film.path], to: try Peer(receiver), seconds: 21)
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
