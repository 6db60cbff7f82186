/// The files contained in an input. Each starts with two bytes that are no text and one that selects the extension; the
/// name is its number.
struct FilmFiles: Sendable {
    static let mark: [UInt8] = [0xFE, 0xFD]
    private static let kinds = ["m3u8", "ts", "mp4", "m4s", "aac", "key", "mpd", "vtt"]
    private static let maxLines = 12

    let all: [(name: String, bytes: [UInt8])]

    init(_ bytes: [UInt8]) {
        var all: [(name: String, bytes: [UInt8])] = []
        var rest = bytes[...]
        while !rest.isEmpty, all.count < Self.maxLines {
            let end = rest.dropFirst().firstRange(of: Self.mark)?.lowerBound ?? rest.endIndex
            var part = rest[..<end]
            rest = rest[end...]
            if part.starts(with: Self.mark) { part = part.dropFirst(2) }
            guard let kind = part.popFirst(), !part.isEmpty else { continue }
            all.append(("\(all.count).\(Self.kinds[Int(kind) % Self.kinds.count])", Array(part)))
        }
        self.all = all
    }

    func file(_ name: some StringProtocol) -> [UInt8]? { all.first { $0.name == name }?.bytes }
}
