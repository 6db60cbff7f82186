import Foundation
import Glibc
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// `make demo`, and the software speaker that it plays on.
@Suite(.timeLimit(.minutes(3)), .repeatedWhenTheMachineStalls) struct DemoTests {
    // feature: talkie speaker, talkie report
    @Test func theDemoPlaysOnASpeakerInSoftwareAndSaysHowLipsAndVoiceWentTogether() throws {
        let state = try Scratch()
        let demo = try Program.run(
            Program.root.appending(path: "Tools/demo").path, ["--end", "4"],
            environment: [
                "TALKIE": Program.talkie, "DISPLAY": nil, "WAYLAND_DISPLAY": nil, "XDG_STATE_HOME": state.folder.path,
            ], atMost: 90)
        #expect(demo.status == 0, "\(demo.errors)")
        // Without the PTP ports and a network namespace the demo prints a notice and measures nothing.
        try #require(demo.errors == "", "\(demo.errors)")
        #expect(demo.output.contains("sound as recorded by the software speaker"))
        let offset = try #require(demo.output.split(separator: "\n").first { $0.hasPrefix("offset  ") })
        let words = offset.split(separator: " ")
        let median = try #require(words.count > 2 ? Double(words[2]) : nil, "\(offset)")
        #expect(Bounds.isNear(median, claim: 2), "\(offset)")
        let sound = try #require(demo.output.split(separator: "\n").first { $0.hasPrefix("sound  ") })
        #expect(!sound.contains("nothing"), "\(sound)")
        let kept = try FileManager.default.contentsOfDirectory(atPath: state.folder.path)
        #expect(kept.isEmpty, "the user's state: \(kept)")
    }

    @Test func theSpeakerEndsCleanlyOnASignal() throws {
        let record = try Scratch()
        let path = record.path("heard.jsonl")
        let words = [
            "speaker", "--port", "0", "--clock", "ntp", "--no-mdns", "--address", "127.0.0.3", "--record", path,
        ]
        let speaker = try Program.run(Program.talkie, words, atMost: 20) { process in
            // The record file exists: the speaker is listening or about to.
            let deadline = Date(timeIntervalSinceNow: 10)
            while !FileManager.default.fileExists(atPath: path), Date() < deadline { usleep(10_000) }
            kill(process, SIGTERM)
        }
        #expect(speaker.status == 143)
        #expect(speaker.errors == "")
    }
}
