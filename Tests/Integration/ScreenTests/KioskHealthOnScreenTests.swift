import Foundation
import MediaCore
import ServiceSupervisor
import TalkieTestKit
import Testing

/// What `/healthz` of `talkie kiosk` answers while each fault of docs/guides/operations.md is really present.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(4)))
struct KioskHealthOnScreenTests {
    /// A kiosk on a display of its own that is asked how it is.
    private final class Kiosk {
        let display: VirtualDisplay
        let folder: String
        let supervisor: ServiceSupervisor
        private let port: ReservedPort

        /// - Parameter lines: of the configuration; its films are one of a minute.
        init(_ lines: String, films: Bool = true) throws {
            folder = NSTemporaryDirectory() + "talkie-health-\(UUID().uuidString)"
            port = try ReservedPort()
            try FileManager.default.createDirectory(atPath: folder + "/films", withIntermediateDirectories: true)
            display = try VirtualDisplay("640x360")
            let program = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie").path
            var unit = ServiceSupervisor.Unit(program, ["kiosk", "-v", folder + "/wall.toml"])
            unit.environment = ["DISPLAY": display.name, "HOME": folder, "XDG_STATE_HOME": folder + "/state"]
            unit.log = folder + "/log"
            supervisor = try ServiceSupervisor(unit)
            if films { try film() }
            try configure(lines)
            try supervisor.start()
        }

        deinit {
            supervisor.stop()
            display.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }

        func configure(_ lines: String) throws {
            let text = "playlist = [\"films\"]\nmetrics = { listen = \"127.0.0.1:\(port.number)\" }\n" + lines
            try text.write(toFile: folder + "/wall.toml", atomically: true, encoding: .utf8)
        }

        private func film() throws {
            let made = folder + "/long.mkv"
            try PlayedFilm.make([
                "-f", "lavfi", "-i", "color=c=red:s=320x180:r=25:d=60", "-f", "lavfi", "-i", "sine=d=60", "-c:v",
                "libx264", "-c:a", "aac", "-shortest", made,
            ])
            rename(made, folder + "/films/long.mkv")
        }

        /// The HTTP status and what is said; 0 where nothing answers.
        var health: (status: Int, words: String) {
            let asked = try? ChildProcess(
                "/usr/bin/python3",
                [
                    "-c",
                    """
                    import urllib.request, urllib.error
                    try: a = urllib.request.urlopen("http://127.0.0.1:\(port.number)/healthz", timeout=2)
                    except urllib.error.HTTPError as e: a = e
                    print(a.status, a.read().decode())
                    """,
                ], keepsOutput: true)
            let parts = (asked?.readAll() ?? "").split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let status = Int(parts[0]) else { return (0, "") }
            return (status, parts[1].trimmingCharacters(in: .whitespacesAndNewlines))
        }

        /// Waits for an answer that begins and ends so.
        func says(
            _ status: Int, _ beginning: String, _ end: String = "", within limit: Duration = .seconds(20)
        ) throws {
            var last = (status: 0, words: "")
            do {
                try eventually("health says \(beginning)", within: limit) {
                    last = health
                    return last.status == status && last.words.hasPrefix(beginning) && last.words.hasSuffix(end)
                }
            } catch {
                Issue.record("\(last), \(try String(contentsOfFile: folder + "/log", encoding: .utf8).suffix(1500))")
                throw error
            }
        }
    }

    @Test func playingAndOffOnPurpose() throws {
        let kiosk = try Kiosk("speakers = []\n")
        try kiosk.says(200, "ok playing '", "long.mkv'")
        try kiosk.configure("speakers = []\nquiet_hours = [\"00:00-12:00\", \"12:00-23:59\", \"23:59-00:00\"]\n")
        kiosk.supervisor.reload()
        try kiosk.says(200, "ok off on purpose: quiet hours")
    }

    @Test func nothingThatCanBePlayed() throws {
        let kiosk = try Kiosk("speakers = []\n", films: false)
        try kiosk.says(503, "nothing to show: ")
    }

    @Test func aDisplayThatIsOff() throws {
        let kiosk = try Kiosk("speakers = []\n")
        try kiosk.says(200, "ok playing '")
        // It fails to make the screen of no size, once the output is off.
        try ChildProcess(
            "/usr/bin/xrandr", ["--output", "screen", "--off"], environment: ["DISPLAY": kiosk.display.name]
        ).wait()
        try kiosk.says(503, "no display: there is no visible window since ", within: .seconds(6))
        try kiosk.display.run("xrandr", "--output", "screen", "--mode", "640x360")
        try kiosk.says(200, "ok playing '", within: .seconds(6))
    }

    @Test func soundThatNothingPlays() throws {
        let kiosk = try Kiosk("")
        try kiosk.says(503, "no sound: no output is connected since ")
    }

    /// Stopped and ended: the first may still play, in place of the second this computer does, which has no sound here.
    @Test func aSpeakerThatDoesNotAnswerAndOneThatIsLost() throws {
        let program = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie").path
        let speaker = try ChildProcess(
            program, ["speaker", "--address", "127.0.0.37", "--port", "0", "--clock", "ntp", "--no-mdns"],
            keepsOutput: true)
        defer { speaker.end() }
        let address = try #require(speaker.readLine().firstMatch(of: /airplay:[0-9.:\/]+/)?.output)
        let kiosk = try Kiosk("speakers = [\"\(address)\"]\n")
        try kiosk.says(200, "ok playing '", "long.mkv'")
        try eventually("the speaker plays", within: .seconds(20)) {
            try String(contentsOfFile: kiosk.folder + "/log", encoding: .utf8).contains("the sound goes to")
        }
        kill(speaker.pid, SIGSTOP)
        try kiosk.says(200, "ok playing '", "does not answer", within: .seconds(6))
        kill(speaker.pid, SIGCONT)
        try kiosk.says(200, "ok playing '", "long.mkv'", within: .seconds(6))
        speaker.end()
        try kiosk.says(503, "no sound: ", within: .seconds(8))
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/mosquitto"), "no mosquitto here"))
    func pausedAndSlateByCommand() throws {
        let folder = NSTemporaryDirectory() + "talkie-broker-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = try ReservedPort()
        try "listener \(port.number) 127.0.0.1\nallow_anonymous true\nuser root\n".write(
            toFile: folder + "/conf", atomically: true, encoding: .utf8)
        let broker = try ChildProcess("/usr/sbin/mosquitto", ["-c", folder + "/conf"])
        defer { broker.end() }
        let kiosk = try Kiosk("speakers = []\n[fleet]\nbroker = \"mqtt://127.0.0.1:\(port.number)\"\nname = \"hall\"\n")
        try kiosk.says(200, "ok playing '")
        func command(_ number: Int, _ rest: String) throws {
            let words = "{\"id\": \"\(number)\", \(rest)}"
            try ChildProcess(
                "/usr/bin/mosquitto_pub", ["-p", "\(port.number)", "-t", "talkie/hall/command", "-q", "1", "-m", words]
            ).wait()
        }
        // A command that comes before the kiosk has subscribed goes nowhere.
        var number = 0
        try eventually("it is paused", within: .seconds(20)) {
            number += 1
            try command(number, "\"do\": \"pause\"")
            return kiosk.health.words == "ok paused by command"
        }
        try command(100, "\"do\": \"slate\", \"words\": \"Soon\"")
        try kiosk.says(200, "ok slate by command")
        try command(101, "\"do\": \"play\"")
        try kiosk.says(200, "ok playing '")
    }
}
