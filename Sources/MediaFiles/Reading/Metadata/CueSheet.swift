internal import Glibc
package import MediaCore

/// A cue sheet (CDRWIN): audio files and the start times of their tracks.
package struct CueSheet: Sendable {
    /// An audio file of the sheet.
    package struct File: Sendable {
        /// The file name as written in the sheet.
        package var name: String
        /// The tracks in the order of the sheet; starts count from the beginning of the file.
        package var tracks: [Chapter] = []
    }

    private enum Limit {
        /// Sheets of a full disc with remarks have a few kilobytes.
        static let bytes = 1 << 20
        /// Same as in `ChapterReading`.
        static let tracks = 1000
        static let title = 200
        static let minutes = 100_000
    }
    /// The common extensions of converted files; sheets often keep the name of the ripped file.
    private static let endings = ["flac", "wav", "mp3", "m4a", "ogg", "opus", "wv", "ape", "tta", "tak", "aiff"]

    /// The files in the order of the sheet.
    package private(set) var files: [File] = []
    /// The title of the disc, if stated.
    private(set) var title: String?
    /// The performer of the disc, if stated.
    private(set) var performer: String?

    /// Whether a path has the extension `.cue`.
    package static func isNamed(_ path: String) -> Bool { path.lowercased().hasSuffix(".cue") }

    /// Parses `FILE`, `TRACK`, `INDEX 01`, `TITLE` and `PERFORMER`; other commands and malformed lines are skipped.
    package init(_ bytes: [UInt8]) {
        let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
        // UTF-8, otherwise Latin-1, which older programs write.
        let text =
            String(validating: content, as: UTF8.self)
            ?? String(String.UnicodeScalarView(content.map { Unicode.Scalar($0) }))
        var track: (title: String?, performer: String?)?
        for line in text.split(whereSeparator: \.isNewline) {
            let tokens = Self.tokens(of: line)
            guard let command = tokens.first?.uppercased(), tokens.count > 1 else { continue }
            switch command {
            case "FILE":
                guard files.count < Limit.tracks else { return }
                files.append(File(name: tokens[1]))
                track = nil
            case "TRACK": track = (nil, nil)
            case "TITLE" where track != nil: track!.title = String(tokens[1].prefix(Limit.title))
            case "TITLE": title = String(tokens[1].prefix(Limit.title))
            case "PERFORMER" where track != nil: track!.performer = String(tokens[1].prefix(Limit.title))
            case "PERFORMER": performer = String(tokens[1].prefix(Limit.title))
            case "INDEX" where tokens.count > 2 && Int(tokens[1]) == 1:
                guard let start = Self.time(tokens[2]), let known = track, !files.isEmpty,
                    files[files.count - 1].tracks.count < Limit.tracks
                else { continue }
                let singer = known.performer.flatMap { $0 == performer ? nil : $0 }
                let tokens = [singer, known.title].compactMap { $0 }.joined(separator: " – ")
                files[files.count - 1].tracks.append(Chapter(start: start, title: tokens.isEmpty ? nil : tokens))
            default: break
            }
        }
    }

    /// Reads a sheet from disk; blocks.
    ///
    /// - Throws: `notPermitted`, `cannotOpen` or `limitExceeded`; `notMedia` if the sheet contains no file.
    init(reading path: String) throws(MediaError) {
        self.init(try NamedFile.read(path, maxBytes: Limit.bytes, what: "tracks", isRegular: true))
        guard !files.isEmpty else {
            throw MediaError(.notMedia, "the cue sheet \"\(path)\" contains no file name; play the recording itself")
        }
    }

    /// Returns the path of a file in the sheet, or of a file with the same name and another extension in its folder.
    ///
    /// - Parameter path: The path of the sheet.
    /// - Throws: `cannotOpen` if neither exists.
    package static func locate(_ file: File, beside path: String) throws(MediaError) -> String {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
        // Sheets written on Windows contain absolute paths of that computer.
        let name = file.name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let stem = name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
        let candidates =
            [file.name.hasPrefix("/") ? file.name : folder + file.name, folder + name]
            + endings.map { "\(folder)\(stem).\($0)" }
        for candidate in candidates where !name.isEmpty && isFile(candidate) { return candidate }
        throw MediaError(
            .cannotOpen,
            "there is no file \"\(PrintableText.of(name))\" next to the cue sheet \"\(path)\", which refers to it; copy it there, or "
                + "correct the name in the cue sheet")
    }

    /// Whether a path is a regular file: a downloaded sheet must not open devices.
    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path.systemPath, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Splits a line into words; a quoted word may contain spaces.
    private static func tokens(of line: Substring) -> [String] {
        var tokens: [String] = []
        var rest = line[...]
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard let first = rest.first else { return tokens }
            if first == "\"" {
                rest = rest.dropFirst()
                tokens.append(String(rest.prefix { $0 != "\"" }))
                rest = rest.drop { $0 != "\"" }.dropFirst()
            } else {
                tokens.append(String(rest.prefix { $0 != " " && $0 != "\t" }))
                rest = rest.drop { $0 != " " && $0 != "\t" }
            }
        }
    }

    /// Parses `MM:SS:FF` with 75 frames per second.
    private static func time(_ text: String) -> MediaTime? {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false).map { DecimalNumber.integer($0) }
        guard fields.count == 3, let minutes = fields[0], let seconds = fields[1], let frames = fields[2],
            (0...Limit.minutes).contains(minutes), (0..<60).contains(seconds), (0..<75).contains(frames)
        else { return nil }
        return MediaTime(value: Int64((minutes * 60 + seconds) * 75 + frames), timescale: 75)
    }
}
