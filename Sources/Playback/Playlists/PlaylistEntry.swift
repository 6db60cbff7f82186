internal import MediaCore
internal import MediaFiles

/// An entry of a playlist file.
struct PlaylistEntry: Hashable, Sendable {
    /// As written: a path (`FileName`), possibly relative to the playlist, or an address.
    var location: String
    var title: String?
}

/// The format of a playlist file.
enum PlaylistFormat: Sendable {
    case m3u, pls, xspf, cue

    /// Detects a playlist by its name's extension or the start of its text; nil otherwise.
    ///
    /// An HLS playlist (RFC 8216, detected by tags that begin with `#EXT-X-`) is one item in segments, not a list of
    /// items.
    init?(name: String, text: [UInt8]) {
        let head = PlaylistText.decoded(text.prefix(4096)).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        let name = name.lowercased()
        if name.hasSuffix(".m3u") || name.hasSuffix(".m3u8") || head.hasPrefix("#EXTM3U") {
            if M3UPlaylist.isHLS(text) { return nil }
            self = .m3u
        } else if name.hasSuffix(".pls") || head.prefix(10).lowercased() == "[playlist]" {
            self = .pls
        } else if name.hasSuffix(".xspf") || (head.hasPrefix("<") && head.contains("http://xspf.org/ns/")) {
            self = .xspf
        } else if CueSheet.isNamed(name) {
            self = .cue
        } else {
            return nil
        }
    }

    /// Returns true if a name alone indicates a playlist, for entries that were not opened yet.
    static func isLikely(name: String) -> Bool {
        let name = name.lowercased()
        return [".m3u", ".m3u8", ".pls", ".xspf", ".cue"].contains { name.hasSuffix($0) }
    }

    /// Returns the entries in order, at most `limit`. The text is untrusted: malformed entries are skipped.
    func entries(in text: [UInt8], limit: Int) -> [PlaylistEntry] {
        switch self {
        case .m3u: M3UPlaylist.entries(in: text, limit: limit)
        case .pls: PLSPlaylist.entries(in: text, limit: limit)
        case .xspf: XSPFPlaylist.entries(in: text, limit: limit)
        case .cue:
            CueSheet(text).files.prefix(limit).map { file in
                PlaylistEntry(location: file.name, title: file.tracks.count == 1 ? file.tracks[0].title : nil)
            }
        }
    }
}
