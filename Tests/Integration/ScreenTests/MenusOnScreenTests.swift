import Foundation
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// Keys, pointer and wheel on an X server, with films that have video and audio, played from their start.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(4)))
struct MenusOnScreenTests {
    /// A red film of a minute with audio and a chapter at every second.
    private static let film = Result {
        try folder { path in
            let chapters = (0..<60).map { number in
                "[CHAPTER]\nTIMEBASE=1/1\nSTART=\(number)\nEND=\(number + 1)\ntitle=Chapter \(number + 1)\n"
            }
            try (";FFMETADATA1\n" + chapters.joined())
                .write(toFile: path + "/chapters.txt", atomically: true, encoding: .utf8)
            try PlayedFilm.make([
                "-f", "lavfi", "-i", "color=c=0xA00000:s=640x400:r=25:d=60", "-f", "lavfi", "-i",
                "sine=frequency=440:duration=60", "-i", path + "/chapters.txt", "-map_metadata", "2", "-map", "0:v",
                "-map", "1:a", "-c:v", "mpeg4", "-g", "25", "-c:a", "pcm_s16le", path + "/film.mkv",
            ])
            return path + "/film.mkv"
        }
    }

    static func folder<Value>(_ body: (String) throws -> Value) throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("menus-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try body(folder.path)
    }

    /// A playing film and the messages of the program.
    struct Evening {
        let played: PlayedFilm
        let home: String
        private let log: String
        var display: VirtualDisplay { played.display }

        /// - Parameters:
        ///   - sound: options that select the output.
        ///   - environment: further variables.
        init(
            _ film: String? = nil, on display: VirtualDisplay? = nil, isFullScreen: Bool = true,
            home: String? = nil, options: [String] = [], sound: [String] = ["--audio-device", "null"],
            environment: [String: String] = [:]
        ) throws {
            let home = try home ?? folder { $0 }
            self.home = home
            log = home + "/log-\(UUID().uuidString)"
            played = try PlayedFilm(
                film ?? MenusOnScreenTests.film.get(), sound + ["--log-file", log] + options,
                on: display ?? VirtualDisplay("640x400"), home: home, isFullScreen: isFullScreen,
                environment: environment)
        }

        /// Waits until the film is shown.
        func begin() throws {
            try eventually("the film plays") { try said("playing") && isRed(5, 200) }
        }

        func said(_ words: String) throws -> Bool {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            return text.contains(words)
        }

        func isRed(_ x: Int, _ y: Int) throws -> Bool {
            let color = try display.picture().color(x, y)
            return color.red > 120 && color.blue < 40
        }

        func press(_ keys: String...) throws { for key in keys { try display.run("xdotool", "key", key) } }

        func point(_ x: Int, _ y: Int) throws { try display.run("xdotool", "mousemove", "\(x)", "\(y)") }

        func click(_ button: Int = 1) throws { try display.run("xdotool", "click", "\(button)") }

        /// Shows the bar and leaves the pointer on it, which keeps the bar for ten seconds. The pointer keeps moving,
        /// because on a busy machine the bar may disappear before it is drawn.
        func showBar() throws {
            var column = 200
            try eventually("the bar is there") {
                column = column == 200 ? 202 : 200
                try point(column, 385)
                return try !isRed(2, 398)
            }
        }
    }

    /// Positions in the 640x400 window: text has the size of the smallest windows, 1.3 pixels per unit; the bar is 36
    /// units high.
    private enum Place {
        static let barTop = 353
        static let play = (x: 17, y: 385)
        static let volume = (x: 535, y: 385)
    }

    // feature: bar, guide: By mouse or finger
    @Test func theBarAppearsOnlyWithThePointer() throws {
        let evening = try Evening()
        try evening.begin()
        let covered = try (0..<100).count { _ in
            usleep(10_000)
            return try !evening.isRed(2, 398)
        }
        // The number shows the cause: the bar would cover all pictures, as it remains for two seconds.
        #expect(covered == 0, "the pointer rests in the middle of the display")
        try evening.showBar()
        try evening.point(320, 100)
        try eventually("it leaves") { try evening.isRed(2, 398) }
    }

    // feature: volume
    @Test func theWheelOverTheVolumeChangesItAndElsewhereItSeeks() throws {
        let evening = try Evening()
        try evening.begin()
        try evening.showBar()
        try evening.point(Place.volume.x, Place.volume.y)
        try evening.click(5)
        try eventually("quieter") { try evening.said("Volume: 98%") }
        try evening.click(4)
        try eventually("louder") { try evening.said("Volume: 100%") }
        #expect(try !evening.said("over the film: 00:"), "the film was not sought")
        try evening.point(320, 100)
        try evening.click(4)
        try eventually("the film is sought") { try evening.said("over the film: 00:") }
    }

    // feature: audio-delay
    @Test(arguments: ["ctrl+plus", "ctrl+shift+equal", "ctrl+equal", "ctrl+KP_Add"])
    func ctrlAndPlusMakesSoundLater(_ key: String) throws {
        let evening = try Evening()
        try evening.begin()
        try evening.press(key)
        try eventually("later") { try evening.said("Audio delay: +100 ms") }
        try evening.press("ctrl+KP_Subtract", "ctrl+minus")
        try eventually("earlier") { try evening.said("Audio delay: -100 ms") }
    }

    // feature: bar
    @Test func theLowestRowOfPixelsIsLive() throws {
        let evening = try Evening()
        try evening.begin()
        try evening.showBar()
        try evening.point(0, 399)
        try evening.click()
        try eventually("the corner is the button that pauses") { try evening.said("over the film: Paused") }
    }

    // feature: chapters
    @Test func aLongListEndsAboveTheBarScrollsAndLeadsToAChapter() throws {
        let evening = try Evening()
        try evening.begin()
        try evening.showBar()
        // The row starts with play button and time; the chapters button follows the widest gap.
        let bright = try evening.display.picture().bright.filter { $0.y > 376 && $0.y < 396 }.map(\.x).sorted()
        let gap = try #require(zip(bright, bright.dropFirst()).max { $0.1 - $0.0 < $1.1 - $1.0 })
        try evening.point(gap.1 + 6, 385)
        try evening.click()
        try eventually("the list is right above its button") { try !evening.isRed(gap.1 + 6, Place.barTop - 8) }
        #expect(try evening.isRed(2, 200), "beside it there is the film")
        #expect(try !evening.isRed(2, 398), "the bar remains")
        let list = try evening.display.picture()
        let top = (0..<Place.barTop).first { list.color(gap.1 + 6, $0).red < 100 } ?? 0
        #expect(top < 60, "as high as there is room")
        // Over the bar, next to the list: the wheel scrolls the list.
        try evening.point(Place.play.x, Place.play.y)
        for _ in 0..<30 { try evening.click(5) }
        #expect(try !evening.said("over the film: 00:"), "the film was not sought")
        try evening.press("Return")
        try eventually("the film is at a chapter that was not seen at first") {
            try (31...59).contains { try evening.said("(\($0)/60) Chapter \($0)") }
        }
        try eventually("the list is closed") { try evening.isRed(gap.1 + 6, 200) }
    }

    // feature: rooms, key s, key Esc, key Enter
    @Test func theListOfRoomsIsOpenedByItsKeyAndClosedByThreeKeys() throws {
        let evening = try Evening()
        try evening.begin()
        for key in ["Return", "s", "Escape"] {
            try evening.press("s")
            try eventually("the list is shown") { try !evening.isRed(450, Place.barTop - 8) }
            try evening.press(key)
            try eventually("\(key) closes it") { try evening.isRed(450, Place.barTop - 8) }
        }
    }

    // feature: statistics, key i
    @Test func thePageOfStatisticsIsOpenedAndClosedByItsKeyAndChanges() throws {
        let evening = try Evening()
        try evening.begin()
        try evening.press("i")
        try eventually("the page is there") { try !evening.isRed(10, 10) }
        /// Returns pixels of the page's text; the film has one colour.
        func page() throws -> [Int] {
            let picture = try evening.display.picture()
            return (10..<200).flatMap { y in (10..<300).map { picture.color($0, y).green } }
        }
        let first = try page()
        try eventually("its numbers change") { try page() != first }
        try evening.press("Right")
        try eventually("the film's keys are the film's") { try evening.said("over the film: 00:") }
        try evening.press("i")
        try eventually("it is closed") { try evening.isRed(10, 10) }
    }

    // feature: keys, key ?, key Esc
    @Test func thePageOfKeysIsScrolledAndClosedByEsc() throws {
        let evening = try Evening()
        try evening.begin()
        try evening.press("question")
        try eventually("the page is there") { try !evening.isRed(320, 200) }
        let first = try evening.display.picture().bright.count
        try evening.press("End")
        try eventually("its end is shown") { try evening.display.picture().bright.count != first }
        try evening.press("Escape")
        try eventually("it is closed") { try evening.isRed(320, 200) }
    }

    // feature: resume, key Q
    @Test func aFilmThatContinuesSaysWhere() throws {
        let home = try Self.folder { $0 }
        let film = home + "/film.mkv"
        try FileManager.default.copyItem(atPath: Self.film.get(), toPath: film)
        let first = try Evening(film, home: home)
        try first.begin()
        try first.press("Right", "Right")
        try eventually("it is further on") { try first.said("over the film: 00:00:1") }
        try first.press("Q")
        first.played.waitForEnd()
        let second = try Evening(film, home: home)
        try eventually("it says where") { try second.said("over the film: Resumed at 00:") }
        try eventually("on the picture") {
            try second.isRed(5, 200) && second.display.picture().bright.contains { $0.y < 40 }
        }
    }

    /// The picture has the display's height: left and right are black bars.
    @Test func nothingOfAClosedPageRemainsBesideThePicture() throws {
        let evening = try Evening(on: VirtualDisplay("760x400"))
        try eventually("the film plays") { try evening.said("playing") && evening.isRed(380, 200) }
        func isLit() throws -> Bool {
            let picture = try evening.display.picture()
            return (0..<60).contains { x in (10..<200).contains { y in picture.color(x, y).green > 60 } }
        }
        // The bar is as wide as the display, and covers both black bars.
        var column = 200
        try eventually("the page is there, above the bar") {
            column = column == 200 ? 202 : 200
            try evening.point(column, 385)
            if try !isLit() { try evening.press("i") }
            return try isLit() && evening.display.picture().color(20, 398).green > 10
        }
        try evening.press("i")
        try eventually("it has left") { try !isLit() }
    }

    @Test func theUnderscoreSelectsTheOtherPictureTrack() throws {
        let home = try Self.folder { $0 }
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=c=0xA00000:s=640x400:r=25:d=60", "-f", "lavfi", "-i",
            "color=c=0x0000A0:s=640x400:r=25:d=60", "-map", "0", "-map", "1", "-c:v", "mpeg4", "-g", "25",
            home + "/two.mkv",
        ])
        let evening = try Evening(home + "/two.mkv", home: home)
        try evening.begin()
        try evening.press("underscore")
        try eventually("the blue track is shown") {
            let color = try evening.display.picture().color(5, 200)
            return color.blue > 120 && color.red < 40
        }
    }

    // feature: window
    @Test func theWindowIsMovedByThePicture() throws {
        let display = try VirtualDisplay("1000x700")
        let evening = try Evening(on: display, isFullScreen: false)
        try eventually("the window is in the middle") {
            try evening.said("playing") && display.picture().lit == [180, 150, 820, 550]
        }
        try evening.point(400, 300)
        try display.run("xdotool", "mousedown", "1", "mousemove", "420", "310", "mousemove", "500", "350")
        try eventually("it follows") { try display.picture().lit == [280, 200, 920, 600] }
        try display.run("xdotool", "mouseup", "1", "mousemove", "300", "250")
        try evening.press("i")
        try eventually("and stays") { try evening.isRed(915, 595) }
    }

    // feature: window
    @Test(.enabled(if: VirtualDisplay.find("openbox") != nil, "no openbox here"))
    func aFilmOfTheDisplaysHeightFitsIntoItWithItsFrame() throws {
        let display = try VirtualDisplay("640x400")
        let manager = try WindowManager(on: display)
        defer { manager.stop() }
        let evening = try Evening(on: display, isFullScreen: false)
        try eventually("the whole window is on the display") {
            guard let place = try manager.place else { return false }
            return place.frame.top > 5 && place.isWithin(640, 400)
        }
        let window = try #require(try manager.window)
        #expect(try display.run("xprop", "-id", window, "_NET_WM_ICON").contains("64 x 64"), "its icon")
        _ = evening
    }

    // feature: screenshot, key S
    @Test func aScreenshotHasNoneOfTheWordsOverTheFilm() throws {
        let evening = try Evening()
        try evening.begin()
        try evening.press("S")
        try eventually("the file is named on the picture") {
            let words = try evening.display.picture().bright.filter { $0.y < 40 }.map(\.x)
            return try evening.said("talkie-shot0001.png") && (words.max() ?? 0) - (words.min() ?? 0) > 250
        }
        try evening.press("S")
        try eventually("two are written") { try evening.said("talkie-shot0002.png") }
        for number in 1...2 {
            let raw = evening.home + "/raw\(number)"
            try TestClips.run(
                "ffmpeg",
                [
                    "-nostdin", "-v", "error", "-i", evening.home + "/talkie-shot000\(number).png", "-f", "rawvideo",
                    "-pix_fmt", "rgb24", raw,
                ])
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: raw)))
            #expect(bytes.count == 640 * 400 * 3)
            #expect(stride(from: 0, to: bytes.count, by: 3).allSatisfy { bytes[$0 + 1] < 60 && bytes[$0] > 120 })
        }
    }

    // feature: slide show
    @Test func picturesOfOtherSizesLeaveTheWindowAsItIs() throws {
        let home = try Self.folder { $0 }
        try FileManager.default.createDirectory(atPath: home + "/slides", withIntermediateDirectories: true)
        for (name, size) in [("a", "640x400"), ("b", "300x500"), ("c", "900x300")] {
            try PlayedFilm.make(
                ["-f", "lavfi", "-i", "color=red:s=\(size)", "-frames:v", "1", home + "/slides/\(name).png"])
        }
        let display = try VirtualDisplay("1000x700")
        let evening = try Evening(
            home + "/slides", on: display, isFullScreen: false, home: home,
            options: ["--image-display-duration=inf", "--loop-playlist=inf"])
        try eventually("the window is as large as the first") { try display.picture().lit == [180, 150, 820, 550] }
        try evening.point(500, 350)
        try evening.press("greater")
        try eventually("a high picture is as high as the window") {
            let lit = try display.picture().lit
            return lit[1] == 150 && lit[3] == 550 && abs(lit[2] - lit[0] - 240) <= 2
        }
        try evening.press("greater")
        try eventually("a wide one is as wide") {
            let lit = try display.picture().lit
            return lit[0] == 180 && lit[2] == 820 && lit[3] - lit[1] < 250
        }
    }
}
