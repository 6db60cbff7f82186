import AirPlay
import Foundation
import MediaCore
import Testing

@testable import RouteTestSupport

/// What Talkie is for: the picture in a window of this computer, the sound out of receivers that others wrote, each in a network of
/// its own, together. Seen and heard from outside; the bounds are the same on every machine (`BestOfThree`).
extension SpeakerLabTests {
    @Suite struct MissionTests {
        /// Ten seconds with a flash and a beep each second, its sound as AAC.
        private static let film = Program.media("flash-and-beep.mp4")

        private static func words(_ addresses: [SpeakerAddress]) -> [String] {
            ["play", "--really-quiet", "--volume", "100"]
                + addresses.flatMap { ["--speaker", "airplay://\($0.host):\($0.port)"] }
        }

        /// The bytes of a film's sound as it lies in the file.
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
            try BestOfThree.measure("one speaker") {
                let (lab, addresses) = try Lab.freshSpeakers(1)
                let scratch = try Scratch()
                let before = try lab.bytesCarried(to: 1)
                let measured = try MeterRun(
                    of: Self.film, ["--sound-command", "\(Lab.program.path) record 1 {wav} 60"],
                    environment: Lab.environment.merging(["XDG_STATE_HOME": scratch.path("state")]) { $1 },
                    player: [Program.talkie] + Self.words(addresses) + ["{clip}"])
                let carried = try lab.bytesCarried(to: 1) - before
                return .init(
                    figure: "\(measured.figure); \(carried) bytes carried for \(sound) of sound",
                    isGood: measured.isWhole && carried < 2 * sound)
            }
        }

        @Test(.timeLimit(.minutes(4))) func twoSpeakersAreHeardWithinAMillisecondOfEachOther() throws {
            try BestOfThree.measure("two speakers") {
                let (lab, addresses) = try Lab.freshSpeakers(2)
                let scratch = try Scratch()
                let recordings = try (1...2).map { try Lab.Recording(lab, seconds: 60, speaker: $0) }
                let played = try Program.run(
                    Program.talkie, Self.words(addresses) + ["--no-video", Self.film],
                    environment: ["XDG_STATE_HOME": scratch.path("state")])
                #expect(played.status == 0, "\(played.errors)")
                for recording in recordings { try recording.stop() }
                let heard = try recordings.map { try lab.beeps(in: $0.file) }
                // Beeps are a second apart: what belongs together is near.
                let apart = heard[0].compactMap { one in
                    heard[1].map { Double($0 - one) / 1e6 }.min { abs($0) < abs($1) }
                }.filter { abs($0) < 500 }.sorted()
                let median = apart.isEmpty ? .infinity : apart[apart.count / 2]
                return .init(
                    figure: "apart by \(median) ms (median; \(apart)); \(heard.map(\.count)) beeps of 9",
                    isGood: abs(median) <= 1 && apart.count == 9)
            }
        }
    }
}
