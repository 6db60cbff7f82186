import Foundation
import Testing

/// The program with `--vo=gpu-next`, drawn by Mesa's software renderer, against what mpv shows of the same films (Charts/make).
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(3)))
struct PlaceboOnScreenTests {
    private static let charts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Charts")

    /// Eight rows of eight patches of the display, each red, green and blue on average.
    private func patches(_ picture: DisplayPicture) -> [Double] {
        var sums = [Double](repeating: 0, count: 8 * 8 * 3)
        for y in 0..<360 {
            for x in 0..<640 {
                let (at, color) = ((y / 45 * 8 + x / 80) * 3, picture.color(x, y))
                sums[at] += Double(color.red)
                sums[at + 1] += Double(color.green)
                sums[at + 2] += Double(color.blue)
            }
        }
        return sums.map { $0 / (45 * 80) }
    }

    private func show(_ film: String, _ options: [String], until isSo: (DisplayPicture) -> Bool) throws {
        let display = try VirtualDisplay("640x360")
        // Its pointer lies over the picture otherwise.
        try display.run("xdotool", "mousemove", "639", "359")
        let shown = try PlayedFilm(
            Self.charts.appendingPathComponent(film).path, ["--no-config", "--no-audio", "--pause"] + options,
            on: display, home: "/nonexistent")
        try eventually("\(film) looks as it should") { isSo(try shown.display.picture()) }
    }

    /// SDR by BT.709 and BT.601, full range, long pixels, a turned film, PQ and HLG of 10 bits with BT.2020.
    @Test(arguments: ["bt709.mp4", "bt601.mkv", "full.mkv", "wide.mkv", "turned.mp4", "pq.mkv", "hlg.mkv"])
    func everyPatchOfAFilmHasTheColourThatMpvGivesIt(_ film: String) throws {
        let table = try JSONDecoder().decode(
            [String: [Double]].self, from: Data(contentsOf: Self.charts.appendingPathComponent("patches.json")))
        let wanted = try #require(table[film])
        var worst = Double.infinity
        do {
            try show(film, ["--vo=gpu-next"]) { picture in
                worst = zip(patches(picture), wanted).map { abs($0 - $1) }.max() ?? .infinity
                return worst <= 3
            }
        } catch {
            Issue.record("\(film): a patch differs by \(worst) of 255")
        }
    }

    /// A grey of 167 cd/m² in the film's ramp: a screen of 203 shows it as it is where the rest is clipped, a brighter screen by less of
    /// its white, and BT.2390 draws it down to make room. The curve of BT.2446 is libplacebo's alone.
    @Test(
        arguments: [
            ("x11", "--tone-mapping=auto", 220), ("x11", "--tone-mapping=clip", 235),
            ("x11", "--target-peak=1000", 121), ("x11", "--tone-mapping=bt.2446a", 220),
            ("gpu-next", "--tone-mapping=clip", 234),
            ("gpu-next", "--target-peak=1000", 113), ("gpu-next", "--tone-mapping=bt.2446a", 158),
        ] as [(String, String, Int)])
    func tonesAreMappedAsIsWished(_ output: String, _ option: String, _ grey: Int) throws {
        try show("pq.mkv", ["--vo=\(output)", option]) { abs(Int($0.color(360, 60).red) - grey) <= 4 }
    }

    @Test func theWindowIsShownByThisProcessorWhereThereIsNoOther() throws {
        // Window memory shows the ramp as well.
        try show("bt709.mp4", ["--vo=auto"]) { abs($0.color(320, 60).red - 127) <= 4 }
    }
}
