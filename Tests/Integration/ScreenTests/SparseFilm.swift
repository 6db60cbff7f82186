import Foundation
import MediaCore
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// Films whose grey encodes the film time of a frame, with a beep of 0.1 s at each whole second.
///
/// Subtitles of two seconds start at second 5 and every four seconds from there.
enum SparseFilm {
    static let size = "480x270"
    /// Seconds.
    static let length = 20
    /// Hz.
    static let beep = 1000
    static let starts = [5.0, 9.0, 13.0, 17.0]
    static let lineLength = 2.0
    /// Grey of the first frame, and the increase per second of film.
    private static let (firstGrey, greyPerSecond) = (24.0, 8.0)

    static var lines: [SubtitleFiles.Cue] {
        starts.map { SubtitleFiles.Cue(Int($0 * 1000), Int(($0 + lineLength) * 1000), "MMMMMMM") }
    }

    /// Creates `film.mkv` without subtitles in a new folder, and next to it `lines.txt` (SRT), `lines.sup`, and
    /// `lines.low.sup` with bitmaps near the lower edge of their plane.
    ///
    /// - Returns: the folder.
    static func make() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sparse-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let grey = "\(firstGrey)+\(greyPerSecond)*T"
        try PlayedFilm.make([
            "-f", "lavfi", "-i", "color=black:s=32x18:r=20:d=\(length),format=gbrp", "-f", "lavfi", "-i",
            "aevalsrc='if(lt(mod(t,1),0.1),0.1*sin(2*PI*\(beep)*t),0)':s=48000:d=\(length)", "-vf",
            "geq=r='\(grey)':g='\(grey)':b='\(grey)',scale=\(size.replacingOccurrences(of: "x", with: ":")):flags=neighbor",
            "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "1", "-g", "20", "-ac", "2",
            "-c:a", "aac", folder + "/film.mkv",
        ])
        try SubtitleFiles.srt(lines).write(toFile: folder + "/lines.txt", atomically: true, encoding: .utf8)
        let images = SubtitleFiles.sup(lines, width: 60, height: 30, x: 330, y: 430)
        try Data(images).write(to: URL(fileURLWithPath: folder + "/lines.sup"))
        let low = SubtitleFiles.sup(lines, width: 60, height: 30, x: 330, y: 500)
        try Data(low).write(to: URL(fileURLWithPath: folder + "/lines.low.sup"))
        return folder
    }

    /// Creates `name` from `film.mkv` and additional arguments; subtitle files of the same folder are passed without
    /// their folder.
    static func add(_ arguments: [String], as name: String, in folder: String) throws -> String {
        // A separate folder: files next to another film must not be found as subtitles of this one.
        let place = "\(folder)/\(name)-home"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let path = "\(place)/\(name)"
        let isDefault = arguments.isEmpty ? [] : ["-disposition:s:0", "default"]
        let words = arguments.map { $0.hasPrefix("lines.") ? "\(folder)/\($0)" : $0 }
        try PlayedFilm.make(["-i", "\(folder)/film.mkv"] + words + isDefault + ["-c:v", "copy", "-c:a", "copy", path])
        return path
    }

    /// Returns the film time of a screen content, in seconds; nil if none of these films is shown.
    static func moment(_ picture: DisplayPicture) -> Double? {
        let color = picture.color(picture.width / 8, picture.height / 3)
        guard max(color.red, color.green, color.blue) - min(color.red, color.green, color.blue) <= 6,
            Double(color.green) >= firstGrey - 4
        else { return nil }
        return (Double(color.green) - firstGrey) / greyPerSecond
    }

    /// Returns true if a subtitle is due; nil within 0.35 s of a start or end.
    static func hasLine(at moment: Double, later delay: Double = 0) -> Bool? {
        let edge = 0.35
        for start in starts.map({ $0 + delay }) {
            if moment > start - edge, moment < start + edge { return nil }
            let end = start + lineLength
            if moment > end - edge, moment < end + edge { return nil }
            if moment >= start, moment < end { return true }
        }
        return false
    }
}

/// Samples of a screen that shows a `SparseFilm`.
struct FilmWatch {
    struct Look {
        /// Seconds of the host clock.
        var at: Double
        /// Seconds of film.
        var moment: Double
        /// Bright pixels in the lower and in the upper part of the screen.
        var below: Bool
        var above: Bool
        /// True if the control bar covers the film.
        var hasBar: Bool
    }

    private(set) var looks: [Look] = []

    var moment: Double? { looks.last?.moment }

    mutating func sample(_ display: VirtualDisplay) throws {
        let (at, picture) = (Double(HostInstant.now.nanoseconds) / 1e9, try display.picture())
        guard let moment = SparseFilm.moment(picture) else { return }
        func isLit(_ rows: Range<Int>) -> Bool {
            var count = 0
            for y in rows where y % 2 == 0 {
                let row = y * picture.rowBytes
                for x in picture.width / 4..<picture.width * 3 / 4 {
                    let at = row + x * 4
                    if picture.bytes[at] > 215, picture.bytes[at + 1] > 215, picture.bytes[at + 2] > 215 { count += 1 }
                }
            }
            return count > 20
        }
        let (height, film) = (picture.height, picture.color(picture.width / 8, picture.height / 3).green)
        looks.append(
            Look(
                at: at, moment: moment, below: isLit(height * 3 / 4..<height), above: isLit(0..<height / 4),
                hasBar: picture.color(2, height - 3).green < film - 4))
    }

    /// The host times at which a whole second of film was first on the screen, in seconds.
    var seconds: [Double] {
        zip(looks, looks.dropFirst()).filter { Int($0.moment) != Int($1.moment) }.map(\.1.at)
    }

    /// Returns the samples of one film of a playlist; the first one is 0.
    func film(_ number: Int) -> FilmWatch {
        var part = FilmWatch()
        var (last, index) = (0.0, 0)
        for look in looks {
            if look.moment < last - 5 { index += 1 }
            last = look.moment
            if index == number { part.looks.append(look) }
        }
        return part
    }

    /// Compares every sample with the subtitles that are due, and requires one of each start time in `lines`.
    func expect(
        _ lines: [Double] = SparseFilm.starts, later delay: Double = 0, above: Bool = false, of name: String,
        at location: SourceLocation = #_sourceLocation
    ) {
        var wrong: [String] = []
        var seen: Set<Double> = []
        var last = -1.0
        var begun = 0.0
        for look in looks {
            // After a seek the frame is shown before its subtitle is drawn, and subtitles move while the bar is shown.
            if abs(look.moment - last) > 1 || look.hasBar { begun = look.moment }
            last = look.moment
            guard abs(look.moment - begun) > 0.5, let wanted = SparseFilm.hasLine(at: look.moment, later: delay) else {
                continue
            }
            let isThere = above ? look.above : look.below
            if isThere != wanted { wrong.append("\(look.moment): \(isThere)") }
            if isThere, let start = SparseFilm.starts.last(where: { $0 + delay <= look.moment }) { seen.insert(start) }
        }
        #expect(wrong.isEmpty, "\(name), of \(looks.count) looks", sourceLocation: location)
        #expect(seen.isSuperset(of: lines), "\(name) showed \(seen.sorted())", sourceLocation: location)
    }
}
