import Foundation
import MediaCore
import ServiceSupervisor
import Testing

@testable import ProgramTestSupport

/// `talkie kiosk` on an X server, supervised as by systemd.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(3)))
struct KioskOnScreenTests {
    /// A kiosk's folder, screen and supervisor; removed and stopped at `deinit`.
    private final class Wall {
        let display: VirtualDisplay
        let folder: String
        let supervisor: ServiceSupervisor

        init(
            _ films: [String: String], _ lines: String = "", playlist: [String] = ["films"], watchdog: Duration? = nil,
            isStarted: Bool = true
        ) throws {
            folder = NSTemporaryDirectory() + "talkie-wall-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder + "/films", withIntermediateDirectories: true)
            display = try VirtualDisplay("640x360")
            let words = playlist.map { "\"\($0)\"" }.joined(separator: ", ")
            let text = "playlist = [\(words)]\nspeakers = []\nmetrics = { listen = false }\n" + lines
            try text.write(toFile: folder + "/wall.toml", atomically: true, encoding: .utf8)
            let program = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie").path
            var unit = ServiceSupervisor.Unit(program, ["kiosk", "-v", folder + "/wall.toml"])
            unit.environment = ["DISPLAY": display.name, "HOME": folder, "XDG_STATE_HOME": folder + "/state"]
            unit.watchdog = watchdog
            unit.log = folder + "/log"
            supervisor = try ServiceSupervisor(unit)
            for (name, colour) in films { try film(name, colour) }
            if isStarted { try supervisor.start() }
        }

        deinit {
            supervisor.stop()
            display.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }

        /// Adds a film of one colour to the folder atomically.
        func film(_ name: String, _ colour: String, seconds: Int = 2) throws {
            let made = folder + "/" + name
            try PlayedFilm.make(["-f", "lavfi", "-i", "color=c=\(colour):s=320x180:r=25:d=\(seconds)", made])
            rename(made, folder + "/films/" + name)
        }

        var colour: DisplayPicture.Color { get throws { try display.picture().color(320, 180) } }
        /// The number of starts of the kiosk.
        var starts: Int { supervisor.entries.count { if case .started = $0.event { true } else { false } } }

        /// The keys of the open items, and of those that were open when the program ended.
        var crashRecord: (open: [String], suspects: [String]) {
            let state = folder + "/state/talkie"
            let name = (try? FileManager.default.contentsOfDirectory(atPath: state))?.first {
                $0.hasPrefix("kiosk_items-wall_toml")
            }
            let lines = name.flatMap { try? String(contentsOfFile: "\(state)/\($0)", encoding: .utf8) } ?? ""
            let words = lines.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            return (
                words.filter { $0[0].hasPrefix("open-") && $0.count > 1 }.map { $0[1] },
                words.filter { $0[0].hasPrefix("crash-") }.map { String($0[0].dropFirst(6)) }
            )
        }

        var log: String { (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? "" }
    }

    private func isRed(_ colour: DisplayPicture.Color) -> Bool { colour.red > 180 && colour.blue < 80 }
    private func isBlue(_ colour: DisplayPicture.Color) -> Bool { colour.blue > 180 && colour.red < 80 }
    private func isGreen(_ colour: DisplayPicture.Color) -> Bool {
        colour.green > 90 && colour.red < 80 && colour.blue < 80
    }

    @Test func aFilmThatIsReplacedOrAddedIsSeenWithoutABlackPicture() throws {
        let wall = try Wall(["1.mkv": "red"])
        try eventually("the film is seen") { isRed(try wall.colour) }
        try wall.film("1.mkv", "blue")
        try wall.film("2.mkv", "green")
        var colours: [DisplayPicture.Color] = []
        try eventually("the new ones are seen") {
            colours.append(try wall.colour)
            return colours.contains(where: isBlue) && colours.contains(where: isGreen)
        }
        #expect(!colours.contains { max($0.red, $0.green, $0.blue) < 60 })
    }

    @Test func anEmptyFolderShowsWhyAndAFilmThatComesIsSeen() throws {
        let wall = try Wall([:])
        try eventually("words are seen") { !(try wall.display.picture().bright.isEmpty) }
        #expect(wall.supervisor.wait(within: .seconds(5)) { _ in wall.supervisor.notifications.contains("READY=1") })
        try wall.film("1.mkv", "red")
        try eventually("the film is seen") { isRed(try wall.colour) }
        try eventually("the words are gone") { try wall.display.picture().bright.isEmpty }
    }

    @Test func theOwnersPictureIsShownWhileThereIsNothingToPlay() throws {
        let wall = try Wall([:], "slate = \"slate.png\"\n")
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=c=green:s=320x180", "-frames:v", "1", wall.folder + "/slate.png",
        ])
        try eventually("that nothing is there is logged") { wall.log.contains("nothing is shown") }
        try wall.film("bad.mkv", "red")
        try "no film".write(toFile: wall.folder + "/films/bad.mkv", atomically: true, encoding: .utf8)
        try eventually("the owner's picture is seen") { isGreen(try wall.colour) }
        try wall.film("1.mkv", "blue")
        try eventually("the film is seen") { isBlue(try wall.colour) }
    }

    @Test func aRecordThatCannotBeWrittenLeavesThePicture() throws {
        let wall = try Wall(["1.mkv": "red"], "[timeline]\nfile = \"/proc/no-such/record.jsonl\"\n")
        try eventually("the film is seen") { isRed(try wall.colour) }
        #expect(wall.log.contains("/proc/no-such/record.jsonl' cannot be created"))
        #expect(wall.starts == 1)
    }

    /// The state of an item when the program crashes.
    enum Stage: CaseIterable {
        /// It is being opened, and nothing plays.
        case openedFirst
        /// It is being opened while the preceding film plays.
        case openedAhead
        /// It is open, but has not started.
        case notBegun
        /// It has just started after the preceding film.
        case gaplessBoundary
    }

    @Test(arguments: Stage.allCases) func anItemDuringWhichTheProgramCrashesTwiceIsSkipped(_ stage: Stage) throws {
        let folder = NSTemporaryDirectory() + "talkie-slow-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // One MiB that never arrives, so that opening blocks.
        try Data(count: 1 << 20).write(to: URL(fileURLWithPath: folder + "/bad.mkv"))
        let server = try SlowServer(folder, bytesPerSecond: 1)
        let hangs = "http://127.0.0.1:\(server.port)/bad.mkv"
        let list =
            switch stage {
            case .openedFirst: [hangs, "films/good.mkv"]
            case .openedAhead: ["films/good.mkv", hangs]
            case .notBegun, .gaplessBoundary: ["films/good.mkv", "films/bad.mkv"]
            }
        let wall = try Wall([:], playlist: list, isStarted: false)
        try wall.film("good.mkv", "red", seconds: 3)
        try wall.film("bad.mkv", "blue", seconds: 60)
        try wall.supervisor.start()
        for number in 1...2 {
            try eventually("the item is there for the time \(number)") {
                guard wall.starts == number else { return false }
                let (open, suspects) = wall.crashRecord
                if stage == .gaplessBoundary {
                    return wall.log.components(separatedBy: "bad.mkv' (2 of 2)").count == number + 1
                }
                // After the first crash each suspect is opened alone; the good film is cleared when it has ended.
                if number == 2 { return suspects.count == 1 && open.last == suspects.first }
                return suspects.isEmpty && open.count == (stage == .openedFirst ? 1 : 2)
            }
            wall.supervisor.send(SIGSEGV)
            #expect(
                wall.supervisor.wait(within: .seconds(10)) {
                    $0.count { $0.event == .killed(signal: SIGSEGV) } == number
                })
        }
        try eventually("it is skipped, and the other film is seen") {
            wall.log.contains("bad.mkv' is skipped") ? isRed(try wall.colour) : false
        }
        #expect(!wall.log.contains("good.mkv' is skipped") && wall.starts == 3)
    }

    @Test func aKioskThatIsKilledIsSeenAgainWhereItWas() throws {
        let wall = try Wall([:])
        try wall.film("1.mkv", "red", seconds: 1)
        try wall.film("2.mkv", "blue", seconds: 60)
        try eventually("the second film is seen") { isBlue(try wall.colour) }
        // The position is saved every fifteen seconds.
        try eventually("its place is kept", within: .seconds(30)) {
            let folder = wall.folder + "/state/talkie"
            return try FileManager.default.contentsOfDirectory(atPath: folder).contains { name in
                let kept = try? String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
                return name.hasPrefix("kiosk-wall_toml-") && kept?.contains("2.mkv") == true
            }
        }
        wall.supervisor.send(SIGKILL)
        #expect(wall.supervisor.wait(within: .seconds(10)) { $0.contains { $0.event == .killed(signal: SIGKILL) } })
        // The server may show the last picture of the killed program for a while.
        try eventually("it is seen again") {
            try wall.starts == 2 && wall.log.contains("it resumes at its last position") && isBlue(wall.colour)
        }
    }

    @Test func aFrozenKioskIsRestarted() throws {
        let wall = try Wall(["1.mkv": "red"], watchdog: .seconds(2))
        try eventually("the film is seen") { isRed(try wall.colour) }
        #expect(
            wall.supervisor.wait(within: .seconds(10)) { _ in wall.supervisor.notifications.contains("WATCHDOG=1") })
        wall.supervisor.send(SIGSTOP)
        #expect(wall.supervisor.wait(within: .seconds(20)) { $0.contains { $0.event == .watchdogMissed } })
        #expect(
            wall.supervisor.wait(within: .seconds(20)) { _ in wall.starts == 2 })
        try eventually("it is seen again") { isRed(try wall.colour) }
    }

    @Test func anotherConfigurationIsTakenWhileItRunsAndABadOneIsNot() throws {
        let wall = try Wall(["1.mkv": "red"])
        try eventually("the film is seen") { isRed(try wall.colour) }
        try "playlist = 7\n".write(toFile: wall.folder + "/wall.toml", atomically: true, encoding: .utf8)
        wall.supervisor.reload()
        try eventually("the mistake is logged") { wall.log.contains("wall.toml line 1: playlist") }
        #expect(isRed(try wall.colour))
        try FileManager.default.createDirectory(atPath: wall.folder + "/others", withIntermediateDirectories: true)
        try PlayedFilm.make(["-f", "lavfi", "-i", "color=c=blue:s=320x180:r=25:d=2", wall.folder + "/others/a.mkv"])
        try "playlist = \"others\"\nspeakers = []\nmetrics = { listen = false }\n".write(
            toFile: wall.folder + "/wall.toml", atomically: true, encoding: .utf8)
        wall.supervisor.reload()
        try eventually("the other film is seen") { isBlue(try wall.colour) }
        #expect(wall.starts == 1)
    }
}
