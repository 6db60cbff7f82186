import Foundation
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// Keys and options that change the screen, with films that have video and audio, played from their start.
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(4)))
struct KeysOnScreenTests {
    typealias Evening = MenusOnScreenTests.Evening

    private static let film = Result { try MenusOnScreenTests.folder { try NumberedFilm.make(in: $0) } }

    /// Plays the numbered film. Returns when its first frame is on the screen.
    private func play(
        _ film: String? = nil, on size: String = "640x400", isFullScreen: Bool = true, _ options: String...
    ) throws -> Evening {
        let evening = try Evening(
            film ?? Self.film.get(), on: VirtualDisplay(size), isFullScreen: isFullScreen, options: options)
        try eventually("the film plays") { try evening.said("playing") && evening.frame != nil }
        return evening
    }

    // MARK: Position

    // feature: key p, key ←, key →, key ↑, key ↓, key ., key ,, key PageUp, key PageDown
    @Test func keysPauseStepAndSeek() throws {
        let evening = try play()
        try eventually("it moves") { try (evening.frame ?? 0) > 10 }
        try evening.press("p")
        try eventually("it says so") { try evening.said("over the film: Paused") }
        var last = -1
        try eventually("it is paused") {
            usleep(300_000)
            defer { last = (try? evening.frame) ?? -1 }
            return try evening.frame == last
        }
        let start = last
        for (key, frame) in [("period", start + 1), ("period", start + 2), ("comma", start + 1)] {
            try evening.press(key)
            try eventually("\(key) leads to frame \(frame)") { try evening.frame == frame }
        }
        // Seeks land on the next keyframe of the file's index.
        for (key, distance) in [("Right", 50), ("Left", -50), ("Up", 600), ("Down", -600)] {
            let frame = try #require(try evening.frame) + distance
            try evening.press(key)
            try eventually("\(key) leads to frame \(frame)") { try abs((evening.frame ?? 0) - frame) <= 15 }
        }
        for (key, frame) in [("Prior", 300), ("Prior", 600), ("Next", 300)] {
            try evening.press(key)
            try eventually("\(key) leads to frame \(frame)") { try evening.frame == frame }
        }
        try evening.press("p")
        try eventually("it moves again") { try (310..<600).contains(evening.frame ?? 0) }
    }

    // feature: key [, key ], key Backspace, key l
    @Test func keysChangeTheSpeedAndRepeatAPart() throws {
        let evening = try play()
        /// Returns film seconds per host second; the film has ten frames per second.
        func speed() throws -> Double {
            let (start, first) = (ContinuousClock.now, try evening.frame ?? 0)
            usleep(1_000_000)
            let passed = try Double((evening.frame ?? 0) - first) / 10
            return passed / ((ContinuousClock.now - start) / .seconds(1))
        }
        for (key, speeds) in [("bracketright", 1.6...2.4), ("bracketleft", 0.3...0.7)] {
            // 1.1 to the seventh power is 1.95.
            for _ in 0..<7 { try evening.press(key) }
            try eventually("\(key) changes the speed to \(speeds)") { try speeds.contains(speed()) }
            try evening.press("BackSpace")
            try eventually("the speed is natural") { try (0.8...1.2).contains(speed()) }
        }
        let first = try #require(try evening.frame)
        try evening.press("l")
        try eventually("a part of the film passes") { try (evening.frame ?? 0) > first + 10 }
        try evening.press("l")
        var last = try #require(try evening.frame)
        for _ in 0..<2 {
            try eventually("it is repeated") {
                let frame = try evening.frame ?? last
                defer { last = frame }
                return frame >= first - 2 && frame < last - 3
            }
        }
        try evening.press("l")
        try eventually("the film goes on") { try (evening.frame ?? 0) > first + 40 }
    }

    // feature: key >, key <
    @Test func keysLeadToAnotherFilm() throws {
        let home = try MenusOnScreenTests.folder { $0 }
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=c=0xA00000:s=320x200:r=10:d=20", "-f", "lavfi", "-i", "sine=duration=20",
            "-c:v", "ffv1", home + "/red.mkv",
        ])
        let evening = try Evening(home + "/red.mkv", options: [Self.film.get()])
        try eventually("the first film plays") { try evening.frame != nil }
        try evening.press("greater")
        try eventually("the second film plays") { try evening.isRed(5, 200) }
        try evening.press("less")
        try eventually("the first film plays again") { try evening.frame != nil }
    }

    // MARK: Video placement

    // feature: key A, key Alt++, key Alt+-, key Alt+arrows, key Alt+Backspace, key w, key W
    @Test func keysMoveThePictureInTheWindow() throws {
        // Subtitles are drawn outside of the frame too.
        let evening = try play(on: "640x480", isFullScreen: true, "--sid", "no")
        let whole = [0, 40, 640, 440]
        func press(_ key: String, _ count: Int = 1, leadsTo lit: [Int]) throws {
            for _ in 0..<count { try evening.press(key) }
            try eventually("\(count) of \(key) lead to \(lit)") {
                zip(try evening.display.picture().lit, lit).allSatisfy { abs($0 - $1) <= 1 }
            }
        }
        try press("W", 10, leadsTo: [0, 0, 640, 480])
        try press("w", 10, leadsTo: whole)
        try press("A", leadsTo: [0, 60, 640, 420])
        try press("A", leadsTo: [0, 0, 640, 480])
        try press("A", 2, leadsTo: whole)
        try press("alt+minus", 10, leadsTo: [160, 140, 480, 340])
        try press("alt+Left", 2, leadsTo: [224, 140, 544, 340])
        try press("alt+Up", 5, leadsTo: [224, 240, 544, 440])
        try press("alt+plus", 10, leadsTo: [128, 240, 640, 480])
        try press("alt+BackSpace", leadsTo: whole)
    }

    // feature: key d
    @Test func aKeyRemovesTheCombsOfFields() throws {
        let film = try MenusOnScreenTests.folder { folder in
            // Bars that move by 20 pixels per field, in a film that is not marked as interlaced.
            try PlayedFilm.make([
                "-f", "lavfi", "-i",
                "nullsrc=s=320x180:r=50:d=2,format=gray,geq=lum='255*lt(mod(X+20*N\\,160)\\,80)',format=yuv420p,"
                    + "tinterlace=interleave_top",
                "-f", "lavfi", "-i", "sine=duration=2", "-c:v", "ffv1", folder + "/combed.mkv",
            ])
            return folder + "/combed.mkv"
        }
        let evening = try Evening(film, on: VirtualDisplay("320x180"), options: ["--loop-file", "inf"])
        func combs() throws -> Int {
            let picture = try evening.display.picture()
            return (0..<320).count { abs(picture.color($0, 90).green - picture.color($0, 91).green) > 150 }
        }
        try eventually("it has combs") { try combs() > 40 }
        try evening.press("d")
        try eventually("a second without combs") {
            for _ in 0..<50 where try combs() > 0 || evening.display.picture().lit[2] == 0 { return false }
            return true
        }
    }

    // feature: key f, key o, key q
    @Test func keysFillTheScreenShowThePlaceAndQuit() throws {
        let evening = try play(on: "640x480", isFullScreen: false, "--sid", "no")
        for lit in [[160, 140, 480, 340], [0, 40, 640, 440], [160, 140, 480, 340]] {
            try eventually("the picture fills \(lit)") { try evening.display.picture().lit == lit }
            try evening.press("f")
        }
        try eventually("it fills the screen") { try evening.display.picture().lit == [0, 40, 640, 440] }
        #expect(try evening.display.picture().bright.isEmpty)
        try evening.press("o")
        try eventually("the place is shown") { try evening.display.picture().bright.contains { $0.y < 100 } }
        try evening.press("q")
        evening.played.waitForEnd()
        try eventually("the window is closed") { try evening.frame == nil }
    }

    // feature: key F8, key F9, key T, key O, key Delete
    @Test func keysOfMpvListFilmsAndTracksAndKeepPositionAndBar() throws {
        let evening = try play()
        for (key, words) in [
            ("F8", "over the film: ● "), ("F9", "● Picture 1:"), ("T", "Stay on top: on"), ("Delete", "Bar: always"),
        ] {
            try evening.press(key)
            try eventually("\(key) says \(words)") { try evening.said(words) }
        }
        try evening.press("Delete", "O")
        try eventually("the position is shown all the time") {
            usleep(2_000_000)
            return try evening.display.picture().bright.contains { $0.y < 60 || $0.y > 360 }
        }
    }

    // MARK: Subtitles

    // feature: key r, key t, key F, key G, key u, key Ctrl+→, key Ctrl+←
    @Test func keysMoveSubtitlesAndLeadToTheNextOne() throws {
        let evening = try play()
        try eventually("the film's default is shown") { try evening.isLong(below: true) }
        func top() throws -> Int { try evening.display.picture().bright.map(\.y).min() ?? 400 }
        let usual = try top()
        for _ in 0..<10 { try evening.press("r") }
        try eventually("it is higher") { try top() < usual - 20 }
        for _ in 0..<10 { try evening.press("t") }
        try eventually("it is back") { try abs(top() - usual) < 3 }
        for _ in 0..<5 { try evening.press("G") }
        try eventually("it is larger") { try top() < usual - 4 }
        for _ in 0..<5 { try evening.press("F") }
        try eventually("it has its size") { try abs(top() - usual) < 3 }
        try evening.press("u")
        try eventually("it says so") { try evening.said("Subtitle styles: plain") }
    }

    // feature: --slang, --no-sub-visibility, --no-secondary-sub-visibility, key v, key Alt+v
    @Test func hiddenSubtitlesInALanguageAreShownByTheirKeys() throws {
        let evening = try play(
            nil, "--slang", "xx,de", "--no-sub-visibility", "--secondary-sid", "1", "--no-secondary-sub-visibility")
        try eventually("a second has passed") { try (evening.frame ?? 0) > 10 }
        #expect(try evening.display.picture().bright.isEmpty)
        try evening.press("v")
        try eventually("the German line is shown") { try evening.isShort(below: true) }
        try evening.press("alt+v")
        try eventually("the English line is shown at the top") { try evening.isLong(below: false) }
        #expect(try evening.isShort(below: true))
        try evening.press("v")
        try eventually("the German line is hidden") { try evening.width(below: true) == nil }
        #expect(try evening.isLong(below: false))
        try evening.press("alt+v")
        try eventually("the English line is hidden") { try evening.width(below: false) == nil }
    }

    // feature: key j, key J, key z, key x
    @Test func keysChooseSubtitlesAndMoveThem() throws {
        let evening = try play()
        try eventually("the film's default is shown") { try evening.isLong(below: true) }
        try evening.press("j")
        try eventually("the next track is shown") { try evening.isShort(below: true) }
        try evening.press("J")
        try eventually("the track before is shown") { try evening.isLong(below: true) }
        try evening.press("J")
        try eventually("none is shown") { try evening.width(below: true) == nil }
        try evening.press("J", "p", "Prior")
        try eventually("the film is a second before its French line") {
            try evening.frame == 300 && evening.width(below: true) == nil
        }
        for _ in 0..<11 { try evening.press("z") }
        try eventually("it is shown earlier") { try evening.isLong(below: true) }
        for _ in 0..<3 { try evening.press("x") }
        try eventually("it is later again") { try evening.width(below: true) == nil }
    }

    // feature: --sub-file-paths
    @Test func subtitlesInANamedFolderAreShown() throws {
        let film = try MenusOnScreenTests.folder { folder in
            try FileManager.default.createDirectory(atPath: folder + "/words", withIntermediateDirectories: true)
            try NumberedFilm.line(20).write(toFile: folder + "/words/plain.srt", atomically: true, encoding: .utf8)
            try PlayedFilm.make(["-i", Self.film.get(), "-sn", "-c", "copy", "-t", "30", folder + "/plain.mkv"])
            return folder + "/plain.mkv"
        }
        let evening = try play(film, "--sub-file-paths", "words")
        try eventually("its line is shown") { try evening.isLong(below: true) }
    }

    // feature: key Alt+s, key Ctrl+s
    @Test func screenshotsOfFilmAndWindowHaveItsSubtitlesAndNoMessages() throws {
        let evening = try play()
        try eventually("there are words") { try evening.isLong(below: true) }
        for (number, key, size) in [
            (1, "alt+s", (width: 320, height: 200)), (2, "ctrl+s", (width: 640, height: 400)),
        ] {
            try evening.press(key)
            let path = evening.home + "/talkie-shot000\(number).png"
            try eventually("it is written") { try evening.said("talkie-shot000\(number).png") }
            try TestClips.run(
                "ffmpeg",
                ["-nostdin", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "bgra", path + ".raw"])
            let picture = DisplayPicture(
                width: size.width, height: size.height, rowBytes: size.width * 4,
                bytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path + ".raw"))))
            try #require(picture.bytes.count == size.width * size.height * 4)
            #expect(NumberedFilm.frame(picture.color(5, size.height / 2)) != nil)
            let words = picture.bright.map(\.y)
            #expect(words.count > 300 && words.allSatisfy { $0 > size.height * 3 / 4 }, "\(key)")
        }
    }

    /// A frame of twelve million pixels takes most of a second to encode.
    @Test func aScreenshotThatIsBeingWrittenWhenTheProgramEndsIsKept() throws {
        let film = try MenusOnScreenTests.folder { path in
            try PlayedFilm.make([
                "-f", "lavfi", "-i", "testsrc2=size=4096x3072:rate=2:duration=60,noise=alls=30:allf=t", "-f", "lavfi",
                "-i", "sine=duration=60", "-c:v", "mpeg4", "-q:v", "8", "-c:a", "pcm_s16le", "-t", "12",
                path + "/large.mkv",
            ])
            return path + "/large.mkv"
        }
        let evening = try Evening(film)
        try eventually("the film plays") {
            let color = try evening.display.picture().color(320, 200)
            return try evening.said("playing") && Int(color.red) + Int(color.green) + Int(color.blue) > 30
        }
        try evening.press("alt+s", "q")
        evening.played.waitForEnd()
        let picture = evening.home + "/talkie-shot0001.png"
        let size = try TestClips.bytes(of: picture).dropFirst(16).prefix(8)
        #expect(size.elementsEqual([0, 0, 16, 0, 0, 0, 12, 0]))
        #expect(try TestClips.bytes(of: picture).suffix(8).starts(with: Array("IEND".utf8)))
    }
}

extension MenusOnScreenTests.Evening {
    /// The number of the numbered film's frame on the screen; nil if that film is not shown.
    fileprivate var frame: Int? {
        get throws {
            let picture = try display.picture()
            return NumberedFilm.frame(picture.color(picture.width / 3, picture.height / 2))
        }
    }

    /// Returns the width of the text in the lowest or highest quarter of the screen, in pixels; nil without text.
    fileprivate func width(below: Bool) throws -> Int? {
        let picture = try display.picture()
        let edge = picture.height / 4
        let columns = picture.bright.filter { below ? $0.y > picture.height - edge : $0.y < edge }.map(\.x)
        guard let first = columns.min(), let last = columns.max() else { return nil }
        return last - first
    }

    fileprivate func isLong(below: Bool) throws -> Bool { try width(below: below) ?? 0 > 250 }
    fileprivate func isShort(below: Bool) throws -> Bool { try (10..<100).contains(width(below: below) ?? 0) }
}
