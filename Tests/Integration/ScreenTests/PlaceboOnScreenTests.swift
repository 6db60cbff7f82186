import Foundation
import Testing

@testable import ProgramTestSupport

/// `--vo=gpu-next` with Mesa's software renderer, compared with the output of mpv for the same films (Charts/make).
@Suite(.serialized, .enabled(if: VirtualDisplay.isWanted, "no Xvfb here"), .timeLimit(.minutes(3)))
struct PlaceboOnScreenTests {
    private static let charts = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Charts")

    /// Returns the mean red, green and blue of eight rows of eight patches of the display.
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
        // The pointer would cover the frame.
        try display.run("xdotool", "mousemove", "639", "359")
        let shown = try PlayedFilm(
            Self.charts.appendingPathComponent(film).path, ["--no-config", "--no-audio", "--pause"] + options,
            on: display, home: "/nonexistent")
        try eventually("\(film) looks as it should") { isSo(try shown.display.picture()) }
    }

    /// The file of what mpv shows with the installed libplacebo, or with the nearest version: HDR differs between them
    /// by up to 38 levels, in mpv as in Talkie.
    private static let patches: String = {
        let installed = (208...500).last { version in
            guard let library = dlopen("libplacebo.so.\(version)", RTLD_LAZY) else { return false }
            dlclose(library)
            return true
        }
        let nearest = [208, 349].min { abs($0 - (installed ?? 0)) < abs($1 - (installed ?? 0)) } ?? 208
        return "patches-\(nearest).json"
    }()

    /// SDR with BT.709 and BT.601, full range, non-square pixels, a rotated film, PQ and HLG of 10 bits with BT.2020.
    @Test(arguments: ["bt709.mp4", "bt601.mkv", "full.mkv", "wide.mkv", "turned.mp4", "pq.mkv", "hlg.mkv"])
    func everyPatchOfAFilmHasTheColourThatMpvGivesIt(_ film: String) throws {
        let table = try JSONDecoder().decode(
            [String: [Double]].self, from: Data(contentsOf: Self.charts.appendingPathComponent(Self.patches)))
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

    /// A grey of 167 cd/m² in the film's ramp. A screen of 203 shows it unchanged with clipping; a brighter screen
    /// shows it at a smaller share of its white. BT.2390 darkens it to leave headroom. Only libplacebo has the curve of
    /// BT.2446.
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
        // Presentation from window memory shows the ramp as well.
        try show("bt709.mp4", ["--vo=auto"]) { abs($0.color(320, 60).red - 127) <= 4 }
    }
}
