internal import MediaCore

/// The HLS playlists of a DASH manifest (RFC 8216), under URLs that only `AVIOBridge` resolves.
struct DASHPlaylists: Sendable {
    /// A host name that never resolves (RFC 6761, 6.4). The scheme is `https` if that of all segments is: a playlist of
    /// an `https` server must not refer to `http`.
    let baseURL: String
    static let type = "application/vnd.apple.mpegurl"

    private let manifest: DASHManifest
    /// The stated duration of the film in seconds; the durations of segments are rounded.
    var seconds: Double? { manifest.seconds }
    /// The master playlist.
    let master: [UInt8]

    init(_ manifest: DASHManifest, _ bitrate: ReadOptions.HLSBitrate) {
        self.manifest = manifest
        let isSecure = manifest.representations.allSatisfy { one in
            one.start?.address.isSecure != false && one.pieces.allSatisfy(\.address.isSecure)
        }
        baseURL = "\(isSecure ? "https" : "http")://dash.talkie.invalid/"
        let all = manifest.representations.enumerated()
        let video = all.filter { $0.element.isVideo }
        // Each adaptation set of audio is offered in one bit rate.
        var (audio, sets) = ([(offset: Int, element: DASHManifest.Representation)](), Set<Int>())
        for one in all where !one.element.isVideo && sets.insert(one.element.set).inserted {
            let same = all.filter { $0.element.set == one.element.set && !$0.element.isVideo }
            let lowest = same.min { $0.element.bandwidth < $1.element.bandwidth }
            if let chosen = bitrate == .lowest ? lowest : same.max(by: { $0.element.bandwidth < $1.element.bandwidth })
            {
                audio.append(chosen)
            }
        }
        // Variants state no purpose: without video, only the film's usual sound is offered.
        let usual = audio.filter { $0.element.purpose == .main }
        if video.isEmpty, !usual.isEmpty { audio = usual }
        let first = audio.firstIndex { $0.element.purpose == .main } ?? 0
        var lines = ["#EXTM3U", "#EXT-X-VERSION:7"]
        for (index, rendition) in audio.enumerated() where !video.isEmpty {
            let language = (rendition.element.language ?? "").filter {
                $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-")
            }
            lines.append(
                "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"sound\",NAME=\"\(index) \(rendition.element.purpose.rawValue)\""
                    + (language.isEmpty ? "" : ",LANGUAGE=\"\(language)\"")
                    + ",DEFAULT=\(index == first ? "YES" : "NO"),URI=\"\(baseURL)\(rendition.offset).m3u8\"")
        }
        for one in video.isEmpty ? audio : video.map({ ($0.offset, $0.element) }) {
            lines.append(
                "#EXT-X-STREAM-INF:BANDWIDTH=\(one.element.bandwidth)"
                    + (video.isEmpty || audio.isEmpty ? "" : ",AUDIO=\"sound\""))
            lines.append("\(baseURL)\(one.offset).m3u8")
        }
        master = Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// Returns the purpose of a rendition by its name: HLS has no characteristic for each of them.
    static func purpose(ofRendition name: String) -> Track.Purpose {
        name.split(separator: " ").last.flatMap { Track.Purpose(rawValue: String($0)) } ?? .main
    }

    /// Returns the media playlist at a URL; nil if it is not one of these.
    func playlist(at address: String) -> [UInt8]? {
        guard address.hasPrefix(baseURL), address.hasSuffix(".m3u8"),
            let number = Int(address.dropFirst(baseURL.count).dropLast(5)),
            manifest.representations.indices.contains(number)
        else { return nil }
        let one = manifest.representations[number]
        let longest = one.pieces.map(\.seconds).max() ?? 1
        var lines = [
            "#EXTM3U", "#EXT-X-VERSION:7",
            "#EXT-X-TARGETDURATION:\(Int(clamping: longest.rounded(.up), in: 1...1_000_000))",
            "#EXT-X-PLAYLIST-TYPE:VOD",
        ]
        if let start = one.start {
            let range = start.range.map { ",BYTERANGE=\"\($0.count)@\($0.lowerBound)\"" } ?? ""
            lines.append("#EXT-X-MAP:URI=\"\(start.address.text)\"\(range)")
        }
        for piece in one.pieces {
            lines.append("#EXTINF:\(min(1e6, piece.seconds)),")
            if let range = piece.range { lines.append("#EXT-X-BYTERANGE:\(range.count)@\(range.lowerBound)") }
            lines.append(piece.address.text)
        }
        return Array((lines.joined(separator: "\n") + "\n#EXT-X-ENDLIST\n").utf8)
    }
}
