import AirPlayWire
import Foundation
import MediaCore
import Sockets
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// `talkie speakers NAME --trace FILE`, as an owner of a speaker that does not play uses it.
@Suite(.serialized, .timeLimit(.minutes(2)), .repeatedWhenTheMachineStalls) struct SpeakerTraceTests {
    private static let password = "kirschkernkissen"

    private func speaker(_ quirks: [String], at address: String = "127.0.0.38", sound: String? = nil) throws
        -> SoftwareSpeaker
    {
        var set = SpeakerQuirks()
        for quirk in quirks { try set.set(quirk) }
        return try SoftwareSpeaker(
            SpeakerConfiguration(
                name: "Annas Stube", address: NetworkAddress(address)!, port: 0,
                output: sound.map { .file(path: $0) } ?? .none, clock: .required, admission: .password(Self.password),
                quirks: set))
    }

    private func trace(_ speaker: SoftwareSpeaker, state: String, to file: String, options: String = "") throws
        -> String
    {
        let name = "airplay://\(speaker.configuration.address):\(speaker.port)"
        let paired = try Program.run(
            Program.talkie, ["pair", name, "--password", Self.password], environment: ["XDG_STATE_HOME": state],
            atMost: 20)
        #expect(paired.status == 0, "\(paired.errors)")
        let result = try Program.run(
            Program.talkie, ["speakers", name + options, "--trace", file], environment: ["XDG_STATE_HOME": state],
            atMost: 60)
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.output.contains("Were all three audible?"))
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    /// Method, purpose and status of each exchange that the speaker's properties decide. Whether the end of a sound is
    /// flushed once or twice depends on when the sender stops.
    private func exchanges(_ trace: String) throws -> [String] {
        let all = try trace.split(separator: "\n").compactMap { line -> String? in
            let members = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            guard let method = members["method"] as? String, let target = members["target"] as? String,
                target != "/feedback", method != "SET_PARAMETER"
            else { return nil }
            let list = (members["body"] as? [String: Any])?["list"] as? [String: Any]
            let type = (list?["streams"] as? [[String: Any]])?.first?["type"] ?? ""
            return "\(method) \(target) \(type) \(members["status"] ?? "")"
        }
        return zip(all, all.dropFirst() + [""]).filter { !$0.hasPrefix("FLUSH ") || $0 != $1 }.map(\.0)
    }

    @Test func aTraceNamesNobodyAndASpeakerThatReplaysItBehavesAlike() throws {
        let folder = try Scratch()
        let heard = folder.path("heard.wav")
        let first = try speaker(["arrival=0.12", "refuses-buffered=400", "output-latency=0.085:0"], sound: heard)
        let written = try trace(first, state: folder.path("state"), to: folder.path("trace.jsonl"))
        first.stop()

        let pulses = try OutputCapture(file: URL(fileURLWithPath: heard)).pulses(above: 0.01)
        let onsets = pulses.map(\.at).reduce(into: [Double]()) { if $1 - ($0.last ?? 0) > 5e8 { $0.append($1) } }
        #expect(onsets.count == 3, "\(onsets)")

        var secrets = [
            "Anna", Self.password, "127.0.0", ProcessInfo.processInfo.hostName, NSUserName(), NSHomeDirectory(),
        ]
        let speakers = URL(fileURLWithPath: folder.path("state"))
        for case let file as URL in FileManager.default.enumerator(at: speakers, includingPropertiesForKeys: nil)
            ?? .init()
        {
            // The identifier of the speaker is in the name of its file.
            secrets.append(file.deletingPathExtension().lastPathComponent)
        }
        for secret in secrets where secret.count > 3 && !["talkie", "routes", "identity"].contains(secret) {
            #expect(!written.lowercased().contains(secret.lowercased()), "\(secret)")
        }
        #expect(written.firstMatch(of: /([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}/) == nil)
        #expect(written.firstMatch(of: /[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}/) == nil)

        let again = try speaker(["replay=\(folder.path("trace.jsonl"))"], at: "127.0.0.39")
        defer { again.stop() }
        let replayed = try trace(again, state: folder.path("other"), to: folder.path("replayed.jsonl"))
        let (before, after) = (try exchanges(written), try exchanges(replayed))
        #expect(before.contains("SETUP <session> 103 400") && before.contains("SETUP <session> 96 200"), "\(before)")
        #expect(before == after)
        #expect(replayed.contains("\"arrivalToRenderLatencyMs\":120"))
        #expect(replayed.contains("\"outputLatencyMicros\":85000"))
    }

    @Test func theOptionsOfTheSpeakerApply() throws {
        let folder = try Scratch()
        let speaker = try speaker([])
        defer { speaker.stop() }
        let written = try trace(
            speaker, state: folder.path("state"), to: folder.path("trace.jsonl"), options: ";route=ntp")
        #expect(try exchanges(written).contains("SETUP <session> 96 200"))
        #expect(written.contains("\"route\":\"realtime-ntp\""))
    }

    @Test func aSpeakerThatIsNotThereLeavesNoFile() throws {
        let folder = try Scratch()
        let result = try Program.run(
            Program.talkie, ["speakers", "airplay://127.0.0.40:9", "--trace", folder.path("trace.jsonl")],
            environment: ["XDG_STATE_HOME": folder.path("state")], atMost: 30)
        #expect(result.status == 69)
        #expect(!result.errors.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: folder.path("trace.jsonl")))
    }
}
