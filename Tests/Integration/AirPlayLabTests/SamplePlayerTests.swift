import Foundation
import MediaCore
import Testing

@testable import RouteTestSupport

/// The tutorial's player, built as a separate package that depends on this one, plays to a speaker.
extension SpeakerLabTests {
    @Suite struct SamplePlayerTests {
        /// Built next to the test bundle (`make test` does so).
        private static let player = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("Player")

        /// The running program, its standard input and its output so far.
        private final class Running {
            private let process = Process()
            private let input = Pipe()
            private let output = Pipe()
            private let text = Lock("")
            private let arrival = Signal()
            private let stateFolder = FileManager.default.temporaryDirectory
                .appendingPathComponent("talkie-player-\(UInt64.random(in: 0...UInt64.max))")

            init(_ arguments: [String]) throws {
                process.executableURL = player
                process.arguments = arguments
                process.standardInput = input
                process.standardOutput = output
                // A separate state folder: stored speaker data of other runs must not influence this one, or the
                // reverse.
                process.environment = ProcessInfo.processInfo.environment.merging(
                    ["XDG_STATE_HOME": stateFolder.path]) { $1 }
                output.fileHandleForReading.readabilityHandler = { [text, arrival] handle in
                    let words = String(decoding: handle.availableData, as: UTF8.self)
                    text.withLock { $0 += words }
                    arrival.raise()
                }
                try process.run()
            }

            var said: String { text.withLock { $0 } }

            func type(_ line: String) { input.fileHandleForWriting.write(Data((line + "\n").utf8)) }

            func waitUntilSaid(_ words: String, atMost limit: Duration) throws {
                let deadline = HostInstant.now.advanced(by: limit)
                while !said.contains(words) {
                    try #require(arrival.wait(until: deadline), "it never said '\(words)', but: \(said)")
                }
            }

            func end() -> Int32 {
                process.waitUntilExit()
                output.fileHandleForReading.readabilityHandler = nil
                return process.terminationStatus
            }

            // SIGKILL cannot be blocked: test threads block most signals, and child processes inherit the mask.
            deinit {
                if process.isRunning { kill(process.processIdentifier, SIGKILL) }
                try? FileManager.default.removeItem(at: stateFolder)
            }
        }

        @Test(.timeLimit(.minutes(2)), arguments: Receiver.defaultReceivers)
        func anItemThatIsRemovedWhileItsNeighbourPlaysIsNeverHeard(receiver: Receiver) throws {
            try #require(
                FileManager.default.isExecutableFile(atPath: Self.player.path),
                "build it: swift build --package-path Examples/Player --scratch-path .build")
            let files = [
                try Lab.tone(500, seconds: 6, rate: 44100, ["-c:a", "aac", "-b:a", "192k"], named: "one.m4a"),
                try Lab.tone(1200, seconds: 5, rate: 48000, ["-c:a", "libmp3lame", "-b:a", "192k"], named: "two.mp3"),
                try Lab.tone(
                    1000, seconds: 3, rate: 48000, ["-c:a", "libmp3lame", "-b:a", "192k"], named: "three.mp3"),
                try Lab.tone(2000, seconds: 3, rate: 48000, ["-c:a", "alac"], named: "four.m4a"),
            ]
            defer { for file in files { try? FileManager.default.removeItem(at: file) } }
            let peer = try Peer(receiver, .frameByFrame)
            try peer.record(seconds: 22)
            let running = try Running(["--speaker", "airplay://\(peer.host):\(peer.port)"] + files.map(\.path))
            running.type("volume 100")
            try running.waitUntilSaid("playing \(files[0].path)", atMost: .seconds(15))
            // By now the speaker has buffered the whole playlist.
            HostInstant.now.advanced(by: .seconds(3)).sleep()
            running.type("remove 2")
            try running.waitUntilSaid("removed \(files[1].path)", atMost: .seconds(3))
            #expect(running.said.contains("nothing of the old order is heard"), "\(running.said)")
            try running.waitUntilSaid("playing \(files[3].path)", atMost: .seconds(15))
            #expect(running.end() == 0)
            print(running.said)
            #expect(!running.said.contains("playing \(files[1].path)"))
            let recording = try OutputCapture(file: peer.recorded())
            let stretches = recording.stretches(of: [500, 1000, 1200, 2000])
            print("\(receiver): \(stretches)")
            #expect(!stretches.contains { $0.hertz == 1200 }, "the removed item is heard: \(stretches)")
            for (hertz, seconds) in [(500, 6.0), (1000, 3), (2000, 3)] {
                let heard = stretches.filter { $0.hertz == hertz }.reduce(0) { $0 + $1.end - $1.start }
                #expect(abs(heard - seconds) < 0.06 * Bounds.factor, "\(hertz) Hz is heard for \(heard) s")
            }
            try #require(stretches.map(\.hertz) == [500, 1000, 2000], "\(stretches)")
            let errors = zip(stretches, stretches.dropFirst()).map { recording.jointError($0, $1) }
            print("\(receiver): joint errors \(errors) samples")
            #expect(errors.allSatisfy { abs($0) < 1.5 })
        }
    }
}
