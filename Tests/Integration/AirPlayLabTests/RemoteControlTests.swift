import AirPlay
import AirPlayTransport
import Foundation
import Glibc
import MediaCore
import Testing

@testable import ProgramTestSupport
@testable import RouteTestSupport

extension SpeakerLabTests {
    /// The remote control of a speaker that is not ours controls the film.
    @Suite struct RemoteControlTests {
        @Test(.timeLimit(.minutes(2)), arguments: [false, true])
        func pauseAndPlayOnASpeakerArePerformed(isClassic: Bool) throws {
            let (lab, host, port) = isClassic ? try Lab.freshClassicSpeaker() : try Lab.freshSpeaker()
            let number = isClassic ? String(Lab.classicSpeaker) : "1"
            let scratch = try Scratch()
            let timeline = scratch.path("timeline.jsonl")
            // The announcement of the sender's remote control goes through the lab's avahi.
            let exports = try lab.run("env", []).split(separator: "\n").compactMap { line -> (String, String)? in
                let words = line.dropFirst("export ".count).split(separator: "=", maxSplits: 1).map(String.init)
                return words.count == 2 ? (words[0], words[1]) : nil
            }
            var environment: [String: String?] = ["XDG_STATE_HOME": scratch.path("state")]
            for (name, value) in exports { environment[name] = value }
            /// The phases of playback so far.
            func phases() -> [String] {
                let text = (try? String(contentsOfFile: timeline, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").filter { $0.contains("\"event\":\"state\"") }.compactMap { line in
                    line.components(separatedBy: "\"phase\":\"").dropFirst().first.map {
                        String($0.prefix { $0 != "\"" })
                    }
                }
            }
            func wait(for condition: () -> Bool) -> Bool {
                let deadline = HostInstant.now.advanced(by: .seconds(20))
                while !condition() {
                    if HostInstant.now >= deadline { return condition() }
                    HostInstant.now.advanced(by: .milliseconds(50)).sleep()
                }
                return true
            }
            let film = try Lab.tone(440, seconds: 60, rate: 48000, ["-c:a", "aac"], named: "remote.m4a").path
            let played = try Program.run(
                Program.talkie,
                [
                    "play", "--really-quiet", "--no-video", "--timeline", timeline, "--speaker",
                    "airplay://\(host):\(port);route=\(isClassic ? "classic" : "auto")", film,
                ], environment: environment, atMost: 90
            ) { pid in
                #expect(wait { phases().last == "playing" })
                // The receiver finds the sender's port within some seconds, and drops keys until then.
                #expect(
                    wait {
                        _ = try? lab.run("press", [number, "Pause"])
                        return phases().last == "paused"
                    }, "\(phases())")
                #expect(
                    wait {
                        _ = try? lab.run("press", [number, "Play"])
                        return phases().last == "playing"
                    }, "\(phases())")
                kill(pid, SIGTERM)
            }
            #expect(played.status == 143, "\(played.errors)")
        }
    }
}
