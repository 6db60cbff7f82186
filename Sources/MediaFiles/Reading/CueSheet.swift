internal import Glibc
package import MediaCore

/// A cue sheet (CDRWIN): files of sound, and where in them tracks begin.
package struct CueSheet: Sendable {
    package struct File: Sendable {
        /// As the sheet names it.
        package var name: String
        /// In the order of the sheet; starts count from the beginning of the file.
        package var tracks: [Chapter] = []
    }

    private enum Limit {
        /// A sheet of a full disc with remarks has a few kilobytes.
        static let bytes = 1 << 20
        /// `ChapterReading` has the same one.
        static let tracks = 1000
        static let title = 200
        static let minutes = 100_000
    }
    /// What sound files are converted to most often; sheets keep the name of the file that was ripped.
    private static let endings = ["flac", "wav", "mp3", "m4a", "ogg", "opus", "wv", "ape", "tta", "tak", "aiff"]

    package private(set) var files: [File] = []
    package private(set) var title: String?
    package private(set) var performer: String?

    package static func isNamed(_ path: String) -> Bool { path.lowercased().hasSuffix(".cue") }

    /// Reads `FILE`, `TRACK`, `INDEX 01`, `TITLE` and `PERFORMER`; other commands and what makes no sense are skipped.
    package init(_ bytes: [UInt8]) {
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        // UTF-8, otherwise Latin-1, which older programs wrote.
        let text =
            String(validating: content, as: UTF8.self)
            ?? String(String.UnicodeScalarView(content.map { Unicode.Scalar($0) }))
        var track: (title: String?, performer: String?)?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = Self.words(of: line)
            guard let command = words.first?.uppercased(), words.count > 1 else { continue }
            switch command {
            case "FILE":
                guard files.count < Limit.tracks else { return }
                files.append(File(name: words[1]))
                track = nil
            case "TRACK": track = (nil, nil)
            case "TITLE" where track != nil: track!.title = String(words[1].prefix(Limit.title))
            case "TITLE": title = String(words[1].prefix(Limit.title))
            case "PERFORMER" where track != nil: track!.performer = String(words[1].prefix(Limit.title))
            case "PERFORMER": performer = String(words[1].prefix(Limit.title))
            case "INDEX" where words.count > 2 && Int(words[1]) == 1:
                guard let start = Self.time(words[2]), let known = track, !files.isEmpty,
                    files[files.count - 1].tracks.count < Limit.tracks
                else { continue }
                let singer = known.performer.flatMap { $0 == performer ? nil : $0 }
                let words = [singer, known.title].compactMap { $0 }.joined(separator: " – ")
                files[files.count - 1].tracks.append(Chapter(start: start, title: words.isEmpty ? nil : words))
            default: break
            }
        }
    }

    /// Reads a sheet from disk.
    ///
    /// - Throws: `notPermitted`, `cannotOpen` or `limitExceeded`; `notMedia` when it names no file.
    package init(reading path: String) throws(MediaError) {
        self.init(try NamedFile.read(path, most: Limit.bytes, what: "tracks"))
        guard !files.isEmpty else {
            throw MediaError(.notMedia, "the cue sheet \"\(path)\" names no file; play the recording itself")
        }
    }

    /// Returns the path of a file that the sheet names, or of the one beside it with the same name and another ending.
    ///
    /// - Parameter path: of the sheet.
    /// - Throws: `cannotOpen` when there is neither.
    package static func locate(_ file: File, beside path: String) throws(MediaError) -> String {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
        // Sheets from Windows name folders of their own computer.
        let name = file.name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
        let candidates =
            [file.name.hasPrefix("/") ? file.name : folder + file.name, folder + name]
            + endings.map { "\(folder)\(stem).\($0)" }
        for candidate in candidates where !name.isEmpty && isFile(candidate) { return candidate }
        throw MediaError(
            .cannotOpen,
            "there is no file \"\(PrintableText.of(name))\" beside the cue sheet \"\(path)\", which names it; put it there, or "
                + "correct the name in the sheet")
    }

    /// A list from elsewhere opens no device.
    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// The words of a line; one in quotation marks may hold blanks.
    private static func words(of line: Substring) -> [String] {
        var words: [String] = []
        var rest = line[...]
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard let first = rest.first else { return words }
            if first == "\"" {
                rest = rest.dropFirst()
                words.append(String(rest.prefix { $0 != "\"" }))
                rest = rest.drop { $0 != "\"" }.dropFirst()
            } else {
                words.append(String(rest.prefix { $0 != " " && $0 != "\t" }))
                rest = rest.drop { $0 != " " && $0 != "\t" }
            }
        }
    }

    /// `MM:SS:FF`, 75 frames a second.
    private static func time(_ text: String) -> MediaTime? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map { DecimalNumber.whole($0) }
        guard parts.count == 3, let minutes = parts[0], let seconds = parts[1], let frames = parts[2],
            (0...Limit.minutes).contains(minutes), (0..<60).contains(seconds), (0..<75).contains(frames)
        else { return nil }
        return MediaTime(value: Int64((minutes * 60 + seconds) * 75 + frames), timescale: 75)
    }
}
