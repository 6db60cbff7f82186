internal import Glibc

/// Creates subtitle files for tests.
package enum SubtitleFiles {
    /// A subtitle; times in milliseconds.
    package struct Cue: Sendable {
        /// Media time at which it appears, in milliseconds.
        package var start: Int
        /// Media time at which it disappears, in milliseconds.
        package var end: Int
        package var text: String

        package init(_ start: Int, _ end: Int, _ text: String) {
            (self.start, self.end, self.text) = (start, end, text)
        }
    }

    private static func padded(_ number: Int, _ digits: Int) -> String {
        String(repeating: "0", count: max(0, digits - String(number).count)) + String(number)
    }

    private static func stamp(_ milliseconds: Int) -> String {
        let seconds = milliseconds / 1000
        return padded(seconds / 3600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":" + padded(seconds % 60, 2) + ","
            + padded(milliseconds % 1000, 3)
    }

    /// Returns a SubRip file.
    package static func srt(_ lines: [Cue]) -> String {
        lines.enumerated().map { "\($0 + 1)\n\(stamp($1.start)) --> \(stamp($1.end))\n\($1.text)\n" }
            .joined(separator: "\n")
    }

    /// Returns a Blu-ray presentation graphics file on a plane of 720 × 576: one filled
    /// rectangle per line, cleared at its end.
    package static func sup(_ lines: [Cue], width: Int = 8, height: Int = 4, x: Int = 100, y: Int = 500) -> [UInt8] {
        var file: [UInt8] = []
        func number(_ value: Int, _ bytes: Int) -> [UInt8] {
            (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        func segment(_ type: UInt8, at milliseconds: Int, _ body: [UInt8]) {
            file +=
                Array("PG".utf8) + number(milliseconds * 90, 4) + number(0, 4) + [type] + number(body.count, 2) + body
        }
        let window = number(x, 2) + number(y, 2)
        for (index, line) in lines.enumerated() {
            // A composition of one object, its window, two colours (Y, Cr, Cb, alpha), its
            // run-length coded lines, the end.
            let header = number(720, 2) + number(576, 2) + [0x10]
            segment(0x16, at: line.start, header + number(index * 2, 2) + [0x80, 0, 0, 1] + [0, 0, 0, 0] + window)
            segment(0x17, at: line.start, [1, 0] + window + number(width, 2) + number(height, 2))
            segment(0x14, at: line.start, [0, 0] + [1, 235, 128, 128, 255] + [2, 16, 128, 128, 128])
            let run: [UInt8] = [0, 0x80 | UInt8(width), 1, 0, 0]
            let rows = (0..<height).flatMap { _ in run }
            segment(
                0x15, at: line.start,
                [0, 0, 0, 0xC0] + number(rows.count + 4, 3) + number(width, 2) + number(height, 2) + rows)
            segment(0x80, at: line.start, [])
            segment(0x16, at: line.end, header + number(index * 2 + 1, 2) + [0, 0, 0, 0])
            segment(0x17, at: line.end, [1, 0] + window + number(width, 2) + number(height, 2))
            segment(0x80, at: line.end, [])
        }
        return file
    }

    /// Writes a file next to the clips, named by a hash of its contents. Returns the path.
    package static func write(_ bytes: [UInt8], as suffix: String) throws -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let path = "\(TestClips.folder)/subtitles-\(String(hash, radix: 36)).\(suffix)"
        // Written under a temporary name and renamed: two tests can write it at the same time.
        let draft = "\(path)-\(UInt64.random(in: 0 ... .max))"
        try TestClips.write(bytes, to: draft)
        rename(draft, path)
        return path
    }

    /// Writes a text file. Returns the path.
    package static func write(_ text: String, as suffix: String) throws -> String {
        try write(Array(text.utf8), as: suffix)
    }
}
