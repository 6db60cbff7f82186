import Foundation
import TalkieTestKit
import Testing

@testable import ProgramTestSupport

/// A film with video and audio whose colour encodes the frame number: 320x200, ten frames per second.
///
/// It has a chapter every 30 s. Its subtitle tracks are a long English line and a short German one for the whole film,
/// and a French line from 31 s on.
enum NumberedFilm {
    /// Seconds.
    static let length = 130

    /// Makes the film in a folder. Returns its path.
    static func make(in folder: String) throws -> String {
        let chapters = stride(from: 0, to: length, by: 30).map { start in
            "[CHAPTER]\nTIMEBASE=1/1\nSTART=\(start)\nEND=\(min(length, start + 30))\ntitle=From \(start)\n"
        }
        try (";FFMETADATA1\n" + chapters.joined())
            .write(toFile: folder + "/chapters.txt", atomically: true, encoding: .utf8)
        for (name, start, count) in [("eng", 0, 20), ("deu", 0, 2), ("fra", 31, 20)] {
            try line(count, from: start).write(toFile: "\(folder)/\(name).txt", atomically: true, encoding: .utf8)
        }
        let picture =
            "color=black:s=32x20:r=10:d=\(length),format=gbrp,"
            + "geq=r='40+12*floor(N/100)':g='40+16*mod(floor(N/10),10)':b='40+16*mod(N,10)',scale=320:200:flags=neighbor"
        let languages = ["eng", "deu", "fra"]
        var words = ["-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", "sine=frequency=440:duration=\(length)"]
        for name in ["chapters"] + languages { words += ["-i", "\(folder)/\(name).txt"] }
        words += ["-map_metadata", "2", "-map", "0:v", "-map", "1:a", "-map", "3", "-map", "4", "-map", "5"]
        for (index, name) in languages.enumerated() { words += ["-metadata:s:s:\(index)", "language=\(name)"] }
        words += ["-c:v", "ffv1", "-c:a", "pcm_s16le", "-c:s", "srt", "-disposition:s:0", "default"]
        try PlayedFilm.make(words + [folder + "/numbered.mkv"])
        return folder + "/numbered.mkv"
    }

    /// Returns a subtitle file with one line of a number of letters, from a second to the end of the film.
    static func line(_ count: Int, from start: Int = 0) -> String {
        SubtitleFiles.srt([.init(start * 1000, length * 1000, String(repeating: "M", count: count))])
    }

    /// Returns the number of the frame that has a colour, from 0; nil for any other colour.
    static func frame(_ color: DisplayPicture.Color) -> Int? {
        func digit(_ value: Int, step: Int) -> Int? {
            let digit = (value - 40 + step / 2) / step
            return value >= 36 && abs(value - 40 - digit * step) <= 5 ? digit : nil
        }
        guard let tens = digit(color.red, step: 12), let seconds = digit(color.green, step: 16),
            let tenths = digit(color.blue, step: 16), tens < length / 10, seconds < 10, tenths < 10
        else { return nil }
        return tens * 100 + seconds * 10 + tenths
    }
}
