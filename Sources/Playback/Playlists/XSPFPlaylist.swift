internal import MediaCore
internal import Storage

/// XSPF version 1 (xspf.org): the first `location` of each `track`, and its `title`. Malformed parts are skipped.
enum XSPFPlaylist {
    static func entries(in text: [UInt8], limit: Int) -> [PlaylistEntry] {
        var scanner = MarkupScanner(text)
        var entries: [PlaylistEntry] = []
        var isInTrack = false
        var location: String?
        var title: String?
        var content: [UInt8] = []
        while let piece = scanner.next() {
            switch piece {
            case .text(let bytes):
                // Titles and locations are shorter; longer content is neither.
                if content.count + bytes.count <= 65536 { content.append(contentsOf: bytes) }
            case .open(let name, _):
                content.removeAll(keepingCapacity: true)
                if name == "track" {
                    isInTrack = true
                    location = nil
                    title = nil
                }
            case .close(let name):
                let value = PlaylistText.trimmed(content[...].filter { $0 >= 0x20 }[...])
                content.removeAll(keepingCapacity: true)
                if name == "location", isInTrack, location == nil, !value.isEmpty { location = FileName.text(value) }
                if name == "title", isInTrack, title == nil, !value.isEmpty { title = PlaylistText.decoded(value) }
                guard name == "track", isInTrack else { continue }
                isInTrack = false
                guard let location else { continue }
                entries.append(PlaylistEntry(location: Self.path(of: location), title: title))
                if entries.count >= limit { return entries }
            case .documentType, .malformed: continue
            }
        }
        return entries
    }

    /// Returns the path of a location. Locations are URIs: without a scheme, a percent-encoded path.
    private static func path(of location: String) -> String {
        InputCheck.isAddress(location) ? location : PlaylistText.removingPercentEncoding(location)
    }
}
