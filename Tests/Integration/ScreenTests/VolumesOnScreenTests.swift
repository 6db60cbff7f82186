import Foundation
import MediaCore
import Sockets
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// Volumes of a sound card (a PulseAudio null sink) and a software speaker, changed by keys of a window.
@Suite(
    .serialized, .enabled(if: VirtualDisplay.isWanted && PulseServer.isWanted, "needs Xvfb and pulseaudio"),
    .timeLimit(.minutes(2)))
struct VolumesOnScreenTests {
    /// This computer at full volume, and a speaker set to 30 %.
    // feature: volume, key 9, key 0
    @Test func keysMoveBothOutputsAndBarListAndOutputsHaveTheSameLevels() throws {
        let server = try PulseServer()
        defer { server.stop() }
        let speaker = try SoftwareSpeaker(
            SpeakerConfiguration(address: NetworkAddress("127.0.0.47")!, port: 0, clock: .required, volume: -21))
        defer { speaker.stop() }
        let recorder = try server.record()
        let evening = try MenusOnScreenTests.Evening(
            options: ["--speaker", "local", "--speaker", "airplay://127.0.0.47:\(speaker.port)"],
            sound: ["--audio-device", "pulse"], environment: ["PULSE_SERVER": server.address])
        try evening.begin()
        try eventually("the speaker is heard") { speaker.record.spans.reduce(0) { $0 + $1.frames } > 22_050 }
        var sentVolumes: [Double] {
            speaker.record.events.compactMap { if case .volume(let decibels) = $0 { decibels } else { nil } }
        }
        #expect(sentVolumes.isEmpty, "its owner's level is left alone")
        try evening.press("9")
        try eventually("the bar's number") { try evening.said("over the film: Volume: 98%") }
        try eventually("the speaker is sentVolumes") { !sentVolumes.isEmpty }
        #expect(sentVolumes.allSatisfy { abs($0 + 21.6) < 0.01 }, "\(sentVolumes)")
        let changed = HostInstant.now
        try evening.press("s")
        // 42 units of 1.3 pixels.
        try eventually("the list shows 98 % and 28 %") {
            let bars = try Self.bars(on: evening.display.picture())
            return bars.count == 2 && abs(bars[0] - 54) <= 2 && abs(bars[1] - 15) <= 2
        }
        try evening.press("Escape")
        let end = changed.advanced(by: .milliseconds(800))
        end.sleep()
        try evening.press("0")
        try eventually("up again") { try evening.said("over the film: Volume: 100%") }
        try eventually("the speaker, too") { sentVolumes.last.map { abs($0 + 21) < 0.01 } ?? false }
        HostInstant.now.advanced(by: .milliseconds(500)).sleep()

        let heard = HostInstant.now
        let sound = try recorder.finish()
        func level(from: HostInstant, to: HostInstant) -> Double? {
            let instants = Double(from.nanoseconds)...Double(to.nanoseconds)
            let frames = stride(from: 0, to: sound.samples.count - 4_800, by: 4_800).filter {
                instants.contains(sound.instant(of: Double($0)))
                    && instants.contains(sound.instant(of: Double($0 + 4_800)))
            }
            let levels = frames.map { sound.tone(440, $0..<($0 + 4_800)).level }.sorted()
            return levels.isEmpty ? nil : levels[levels.count / 2]
        }
        let lowered = try #require(level(from: changed.advanced(by: .milliseconds(300)), to: end))
        let restored = try #require(level(from: heard.advanced(by: .milliseconds(-350)), to: heard))
        #expect(restored > 0.05, "the card is heard")
        #expect((0.92...0.945).contains(lowered / restored), "0.6 dB, not \(lowered / restored)")
    }

    /// Returns the lengths of the bright volume bars in the list, in pixels, from top to bottom.
    private static func bars(on picture: DisplayPicture) -> [Int] {
        var found: [(x: Int, y: Int, length: Int, rows: Int)] = []
        // Above the control bar. Letters are narrower than 10 pixels.
        for y in 60..<350 {
            var x = 0
            while x < picture.width {
                let start = x
                while x < picture.width, min(picture.color(x, y).green, picture.color(x, y).blue) > 200 { x += 1 }
                if x - start >= 10 {
                    if let index = found.firstIndex(where: {
                        $0.x == start && $0.y + $0.rows == y && $0.length == x - start
                    }) {
                        found[index].rows += 1
                    } else {
                        found.append((start, y, x - start, 1))
                    }
                }
                x += 1
            }
        }
        return found.filter { $0.rows >= 3 }.map(\.length)
    }
}
