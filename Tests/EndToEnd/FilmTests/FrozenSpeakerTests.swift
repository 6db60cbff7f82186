import Foundation
import Glibc
import MediaCore
import TalkieTestKit
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

/// A `talkie speaker` process that is suspended by SIGSTOP and resumed.
@Suite(.serialized, .timeLimit(.minutes(3)), .repeatedWhenTheMachineStalls)
struct FrozenSpeakerTests {
    /// One line of the speaker's record.
    private struct Row {
        var kind: String
        var numbers: [String: Int64]
        subscript(name: String) -> Int64? { numbers[name] }
    }

    private static func rows(_ path: String) -> [Row] {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let kind = object["event"] as? String
            else { return nil }
            return Row(kind: kind, numbers: object.compactMapValues { ($0 as? NSNumber)?.int64Value })
        }
    }

    private func wait(_ seconds: Double, until isSo: () -> Bool) -> Bool {
        let deadline = HostInstant.now.advanced(by: .seconds(seconds))
        while !isSo() {
            guard HostInstant.now < deadline else { return false }
            HostInstant.now.advanced(by: .milliseconds(20)).sleep()
        }
        return true
    }

    /// Nine seconds: longer than the time to report it, shorter than the timeout of the connection.
    @Test func aFrozenSpeakerIsReportedWithinSixSecondsAndPlaysInSyncAfterwards() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (route, address) in [("buffered", "127.0.0.34"), ("realtime", "127.0.0.35")] {
                group.addTask { try play(route, to: address) }
            }
            try await group.waitForAll()
        }
    }

    private func play(_ route: String, to address: String) throws {
        let folder = try Scratch()
        let record = folder.path("heard.jsonl")
        let clock = route == "buffered" ? "ptp" : "ntp"
        // The stored state of a speaker determines its route.
        let state = ["XDG_STATE_HOME": folder.path("state")]
        let speaker = try ChildProcess(
            Program.talkie,
            [
                "speaker", "--address", address, "--port", "0", "--clock", clock, "--no-mdns", "--record", record,
            ], environment: state, keepsOutput: true)
        defer { speaker.end() }
        let place = try #require(speaker.readLine().firstMatch(of: /airplay:[0-9.:\/]+/)?.output)
        var (freeze, thaw) = (HostInstant.now, HostInstant.now)
        let log = folder.path("log")
        let result = try Program.run(
            "/bin/sh",
            [
                "-c", "exec \"$0\" \"$@\" 2> \(log)", Program.talkie, "play", "--no-video", "--log-level", "info",
                "--speaker", String(place), "--end", "22", Program.media("talking.mp4"),
            ], environment: state, atMost: 60
        ) { _ in
            func said(_ text: String) -> Bool {
                (try? String(contentsOfFile: log, encoding: .utf8))?.contains(text) ?? false
            }
            guard wait(20, until: { Self.rows(record).contains { $0.kind == "anchor" } }) else { return }
            HostInstant.now.advanced(by: .seconds(2)).sleep()
            kill(speaker.pid, SIGSTOP)
            freeze = .now
            #expect(wait(6, until: { said("does not answer") }))
            print("\(route): reported after \((HostInstant.now - freeze).inSeconds) s")
            freeze.advanced(by: .seconds(9)).sleep()
            kill(speaker.pid, SIGCONT)
            thaw = .now
            #expect(wait(6, until: { said("answers again") }))
            print("\(route): answers again after \((HostInstant.now - thaw).inSeconds) s")
        }
        let errors = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        #expect(result.status == 0, "\(errors)")
        #expect(!errors.contains("is silent"), "\(errors)")
        speaker.end()
        let rows = Self.rows(record)
        // No sound starts while the process is suspended. Sound that starts at the resume may have an earlier
        // timestamp.
        let middle = freeze.advanced(by: .seconds(3)).nanoseconds
        let heard = rows.filter { $0.kind == "heard" && ($0["host_ns"] ?? 0) > middle }
        let frames = heard.reduce(0) { $0 + ($1["frames"] ?? 0) }
        #expect(frames > 4 * 44100, "\(rows.suffix(12))")
        // The anchor in use is the one sent before the resume. Sender and speaker share this computer's clock, so the
        // sender's instants are the reference: the speaker's conversion of the first anchor (`at_ns`) is only as exact
        // as its clock filter was at that time.
        let anchor = try #require(rows.last { $0.kind == "anchor" && ($0["ptp_ns"] ?? .max) < thaw.nanoseconds })
        let (position, instant) = (try #require(anchor["rtp"]), try #require(anchor["ptp_ns"]))
        let rate = route == "buffered" ? 48000.0 : 44100.0
        for row in heard {
            let rtp = try #require(row["rtp"])
            let due = Double(instant) + Double(Int32(truncatingIfNeeded: rtp - position)) / rate * 1e9
            let error = Double(try #require(row["host_ns"])) - due
            #expect(abs(error) < 5e6, "\(route): \(error / 1e6) ms; \(row), \(rows.suffix(20))")
        }
    }
}
