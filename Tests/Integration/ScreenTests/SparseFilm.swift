import Foundation
import MediaCore
import TalkieTestKit
import Testing

/// Films whose grey says which moment of the film a picture belongs to, with a beep of a tenth of a second at each whole second.
///
/// Lines of two seconds begin at the fifth second and every four seconds from there.
enum SparseFilm {
    static let size = "480x270"
    /// Seconds.
    static let length = 20
    /// Hz.
    static let beep = 1000
    static let starts = [5.0, 9.0, 13.0, 17.0]
    static let lineLength = 2.0
    /// Grey of the first picture, and how much brighter each second of film is.
    private static let (firstGrey, greyPerSecond) = (24.0, 8.0)

    static var lines: [SubtitleFiles.Line] {
        starts.map { SubtitleFiles.Line(Int($0 * 1000), Int(($0 + lineLength) * 1000), "MMMMMMM") }
    }

    /// Makes a film without subtitles, `film.mkv`, in a folder of its own, and beside it `lines.txt` (SRT), `lines.sup`, and
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

    /// Makes `name` of `film.mkv` and what `arguments` add to it; a file of lines in the same folder is named without its folder.
    static func add(_ arguments: [String], as name: String, in folder: String) throws -> String {
        // A folder of its own: what lies beside another film is not this film's.
        let place = "\(folder)/\(name)-home"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let path = "\(place)/\(name)"
        let isDefault = arguments.isEmpty ? [] : ["-disposition:s:0", "default"]
        let words = arguments.map { $0.hasPrefix("lines.") ? "\(folder)/\($0)" : $0 }
        try PlayedFilm.make(["-i", "\(folder)/film.mkv"] + words + isDefault + ["-c:v", "copy", "-c:a", "copy", path])
        return path
    }

    /// The moment of film, in seconds, of a picture that fills the screen's middle; nil where none of these films is.
    static func moment(_ picture: DisplayPicture) -> Double? {
        let color = picture.color(picture.width / 8, picture.height / 3)
        guard max(color.red, color.green, color.blue) - min(color.red, color.green, color.blue) <= 6,
            Double(color.green) >= firstGrey - 4
        else { return nil }
        return (Double(color.green) - firstGrey) / greyPerSecond
    }

    /// True where a line is due; nil within a third of a second of a beginning or an end.
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

/// What a screen showed of a `SparseFilm`, from one look to the next.
struct FilmWatch {
    struct Look {
        /// Seconds of the host clock.
        var at: Double
        /// Seconds of film.
        var moment: Double
        /// Bright pixels in the lower and in the upper part of the screen.
        var below: Bool
        var above: Bool
        /// The bar with the controls is over the film.
        var hasBar: Bool
    }

    private(set) var looks: [Look] = []

    var moment: Double? { looks.last?.moment }

    mutating func look(at display: VirtualDisplay) throws {
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

    /// The instants of the host clock at which a whole second of film was first on the screen.
    var seconds: [Double] {
        zip(looks, looks.dropFirst()).filter { Int($0.moment) != Int($1.moment) }.map(\.1.at)
    }

    /// The looks at one film of a list, from 0.
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

    /// Compares every look with the lines that are due, and requires one of each line in `lines`.
    func expect(
        _ lines: [Double] = SparseFilm.starts, later delay: Double = 0, above: Bool = false, of name: String,
        at location: SourceLocation = #_sourceLocation
    ) {
        var wrong: [String] = []
        var seen: Set<Double> = []
        var last = -1.0
        var begun = 0.0
        for look in looks {
            // A picture that the film was sought to is shown before its line is drawn, and lines make way for the bar.
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
