import Foundation
import MediaCore
import ServiceSupervisor
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// Displays and modes of `talkie kiosk` on an X server without a window manager.
@Suite(
    .serialized, .enabled(if: SwitchingDisplay.isWanted, "no Xorg here, or not for this user"), .timeLimit(.minutes(3)))
struct KioskDisplayTests {
    private typealias Color = DisplayPicture.Color

    /// A kiosk on a display; ended at `deinit`.
    private final class Kiosk {
        let display: SwitchingDisplay
        let folder = TemporaryFolder()
        let supervisor: ServiceSupervisor

        /// - Parameter films: Names and arguments for ffmpeg, in the order of the list.
        init(
            _ lines: String, films: [(name: String, arguments: [String])] = [("film.mkv", Kiosk.film())],
            display: SwitchingDisplay? = nil, environment: [String: String] = [:]
        ) throws {
            self.display = try display ?? SwitchingDisplay()
            for film in films { try PlayedFilm.make(film.arguments + [folder.path(film.name)]) }
            let program = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie").path
            var unit = ServiceSupervisor.Unit(program, ["kiosk", "-v", folder.path("hall.toml")])
            unit.environment = ["DISPLAY": self.display.name, "HOME": folder.path, "XDG_STATE_HOME": folder.path("s")]
                .merging(environment) { $1 }
            unit.log = folder.path("log")
            supervisor = try ServiceSupervisor(unit)
            names = films.map { "\"\($0.name)\"" }.joined(separator: ", ")
            try configure(lines)
            try supervisor.start()
        }

        deinit { supervisor.stop() }

        private let names: String

        func configure(_ lines: String) throws {
            try "playlist = [\(names)]\nmetrics = { listen = false }\n\(lines)\n".write(
                toFile: folder.path("hall.toml"), atomically: true, encoding: .utf8)
        }

        /// Arguments for ffmpeg: red with a green corner at the upper left and a blue one at the lower right.
        static func film(rate: String = "25", seconds: Int = 60) -> [String] {
            let corners = "drawbox=w=80:h=60:color=lime:t=fill,drawbox=x=240:y=180:w=80:h=60:color=blue:t=fill"
            return [
                "-f", "lavfi", "-i", "color=c=red:s=320x240:r=\(rate):d=\(seconds),\(corners)", "-c:v", "libx264",
                "-pix_fmt", "yuv420p",
            ]
        }

        var log: String { (try? String(contentsOfFile: folder.path("log"), encoding: .utf8)) ?? "" }
    }

    private static func isRed(_ color: Color) -> Bool { color.red > 180 && color.green < 80 && color.blue < 80 }
    private static func isGreen(_ color: Color) -> Bool { color.green > 180 && color.red < 80 && color.blue < 80 }
    private static func isBlue(_ color: Color) -> Bool { color.blue > 180 && color.red < 80 && color.green < 80 }

    /// Returns whether the film fills a part of the displays, turned clockwise.
    private func fills(_ picture: DisplayPicture, _ part: PixelRect, turned rotation: Int = 0) -> Bool {
        guard picture.width >= part.x + part.width, picture.height >= part.y + part.height else { return false }
        func color(_ x: Int, _ y: Int) -> Color { picture.color(part.x + x, part.y + y) }
        let (right, bottom) = (part.width - 6, part.height - 6)
        let corners =
            rotation == 90
            ? (green: color(right, 5), blue: color(5, bottom), red: [color(5, 5), color(right, bottom)])
            : (green: color(5, 5), blue: color(right, bottom), red: [color(right, 5), color(5, bottom)])
        return Self.isGreen(corners.green) && Self.isBlue(corners.blue) && corners.red.allSatisfy(Self.isRed)
    }

    private static let isSilent = "speakers = []\n"

    @Test(arguments: [0, 90]) func theFilmFillsADisplayInItsModeAlsoOnItsSide(_ rotation: Int) throws {
        let kiosk = try Kiosk(Self.isSilent + "mode = \"640x480@75\"\nrotate = \(rotation)")
        // On its side, a picture of 4:3 is 360 pixels wide.
        let part =
            rotation == 0
            ? PixelRect(x: 0, y: 0, width: 640, height: 480) : PixelRect(x: 140, y: 0, width: 360, height: 480)
        try eventually("it fills the display") { fills(try kiosk.display.picture(), part, turned: rotation) }
        #expect(try kiosk.display.mode == "640x480@75.00")
        #expect(try kiosk.display.windows["Talkie"] == "640x480+0+0")
        kiosk.supervisor.stop()
        #expect(try kiosk.display.mode == "800x600@60.32")
    }

    /// A second request to end terminates the program at once, also while it closes files and speakers.
    @Test func aDisplayHasItsModeAlsoAfterASecondSignal() throws {
        let kiosk = try Kiosk(Self.isSilent + "mode = \"640x480@75\"")
        try eventually("the display is in the mode") { try kiosk.display.mode == "640x480@75.00" }
        let process = kiosk.supervisor.process
        kill(process, SIGTERM)
        kill(process, SIGINT)
        let hasEnded = kiosk.supervisor.wait(within: .seconds(5)) { entries in
            entries.contains { $0.event == .exited(status: 143) || $0.event == .exited(status: 130) }
        }
        #expect(try kiosk.display.mode == "800x600@60.32")
        #expect(hasEnded)
    }

    @Test func eachFilmHasADisplayOfItsExactRate() throws {
        let kiosk = try Kiosk(
            Self.isSilent + "mode = \"film\"",
            films: [
                ("1.mkv", Kiosk.film(rate: "30000/1001", seconds: 3)), ("2.mkv", Kiosk.film(rate: "30", seconds: 3)),
                ("3.mkv", Kiosk.film(rate: "25", seconds: 3)),
            ])
        for mode in ["800x600_5994@59.94", "800x600_60@60.00", "800x600_50@50.00", "800x600_5994@59.94"] {
            try eventually("the display is in \(mode)") { try kiosk.display.mode == mode }
            try eventually("the film is seen") {
                fills(try kiosk.display.picture(), PixelRect(x: 0, y: 0, width: 800, height: 600))
            }
        }
        kiosk.supervisor.stop()
        #expect(try kiosk.display.mode == "800x600@60.32")
    }

    @Test func filmsFillTheChosenDisplayAndTheOperatorsBoardTheOther() throws {
        let display = try SwitchingDisplay()
        try display.plug()
        let kiosk = try Kiosk(Self.isSilent + "screen = 1\noperator_screen = \"other\"", display: display)
        try eventually("the film fills the second display") {
            fills(try display.picture(), PixelRect(x: 800, y: 0, width: 640, height: 480))
        }
        try eventually("the board is on the first display, and the film is not") {
            let picture = try display.picture()
            var (lit, red) = (0, 0)
            for y in 0..<600 {
                for x in 0..<800 {
                    let color = picture.color(x, y)
                    if color != .black { lit += 1 }
                    if Self.isRed(color) { red += 1 }
                }
            }
            return lit > 2000 && red == 0
        }
        #expect(kiosk.log.contains("displays: "))
    }

    @Test func eachOverscanPolicyShowsAnotherPicture() throws {
        let kiosk = try Kiosk(Self.isSilent + "overscan = { policy = \"none\" }")
        let whole = PixelRect(x: 0, y: 0, width: 800, height: 600)
        let inner = PixelRect(x: 80, y: 60, width: 640, height: 480)
        try eventually("the film fills the display") { fills(try kiosk.display.picture(), whole) }
        for (policy, part) in [("scale", inner), ("inset-application-frame", whole), ("inset-bounds", inner)] {
            try kiosk.configure(Self.isSilent + "overscan = { policy = \"\(policy)\", percent = 10 }")
            kiosk.supervisor.reload()
            try eventually("the film is arranged by \(policy)") {
                let picture = try kiosk.display.picture()
                return fills(picture, part) && (part == whole || picture.lit == [80, 60, 720, 540])
            }
        }
    }

    /// A long name makes the text wider than the title.
    @Test func theSlateOfAMusicFileNamesTheRoomInWhichItPlays() throws {
        let program = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("talkie").path
        let speaker = try ChildProcess(
            program,
            [
                "speaker", "--address", "127.0.0.40", "--port", "0", "--clock", "ntp", "--no-mdns", "--name",
                "Wintergarten und Wandelgang im Westen",
            ], keepsOutput: true)
        defer { speaker.end() }
        let address = try #require(speaker.readLine().firstMatch(of: /airplay:[0-9.:\/]+/)?.output)
        let kiosk = try Kiosk(
            "speakers = [\"\(address)\"]", films: [("1.flac", ["-f", "lavfi", "-i", "sine=d=60", "-c:a", "flac"])])
        var width = 0
        try eventually("the title is seen") {
            let lit = try kiosk.display.picture().lit
            width = lit[2] - lit[0]
            return width > 0
        }
        try eventually("the room is named") {
            let lit = try kiosk.display.picture().lit
            return kiosk.log.contains("the sound goes to") && lit[2] - lit[0] > 300
        }
        speaker.end()
        try eventually("the room is not named any more") {
            let lit = try kiosk.display.picture().lit
            return lit[2] > lit[0] && lit[2] - lit[0] < 300
        }
    }
}
