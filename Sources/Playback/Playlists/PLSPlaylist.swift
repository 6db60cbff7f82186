internal import MediaCore

/// PLS: `File1=location` and `Title1=name` in any order, under `[playlist]`.
enum PLSPlaylist {
    static func entries(in text: [UInt8], limit: Int) -> [PlaylistEntry] {
        var numbered: [Int: PlaylistEntry] = [:]
        var titles: [Int: String] = [:]
        for line in PlaylistText.lines(of: text) {
            guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = PlaylistText.decoded(PlaylistText.trimmed(line[..<equals])).lowercased()
            let value = PlaylistText.trimmed(line[(equals + 1)...])
            guard !value.isEmpty else { continue }
            if key.hasPrefix("file"), let number = DecimalNumber.integer(key.dropFirst(4)) {
                if numbered.count < limit || numbered[number] != nil {
                    numbered[number] = PlaylistEntry(location: FileName.text(value))
                }
            } else if key.hasPrefix("title"), let number = DecimalNumber.integer(key.dropFirst(5)), titles.count < limit
            {
                titles[number] = PlaylistText.decoded(value)
            }
        }
        return numbered.sorted { $0.key < $1.key }.map { number, entry in
            PlaylistEntry(location: entry.location, title: titles[number])
        }
    }
}
