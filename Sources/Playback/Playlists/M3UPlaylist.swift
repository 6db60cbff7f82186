internal import MediaCore

/// M3U: one location per line, optionally named by a preceding `#EXTINF:length,title`. There is no standard; this
/// follows what programs write.
enum M3UPlaylist {
    /// Returns true for an HLS playlist: a line starts with a tag that only HLS has (RFC 8216, 4.3).
    static func isHLS(_ text: [UInt8]) -> Bool {
        PlaylistText.hasLine(startingWith: "#EXT-X-", in: text)
    }

    /// Returns the entries, at most `limit`.
    static func entries(in text: [UInt8], limit: Int) -> [PlaylistEntry] {
        var entries: [PlaylistEntry] = []
        var title: String?
        for line in PlaylistText.lines(of: text) where !line.isEmpty {
            if line.first == UInt8(ascii: "#") {
                if line.starts(with: "#EXTINF:".utf8), let comma = line.firstIndex(of: UInt8(ascii: ",")) {
                    title = PlaylistText.decoded(PlaylistText.trimmed(line[(comma + 1)...]))
                }
                continue
            }
            guard entries.count < limit else { break }
            entries.append(
                PlaylistEntry(location: FileName.text(line), title: title.flatMap { $0.isEmpty ? nil : $0 }))
            title = nil
        }
        return entries
    }
}
