import FuzzSupport
import Glibc
import MediaCore

@testable import MediaFiles
@testable import Playback

/// Responses of web servers, cookies of servers and files, targets of references, and the output of yt-dlp. Nothing
/// traps, stored data is bounded, and sent data cannot contain a second request.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWeb(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let kind = input.byte() % 12
    let bytes = input.remainder()
    let text = String(decoding: bytes, as: UTF8.self)
    switch kind {
    case 0: answer(bytes)
    case 1: cookies(bytes, text)
    case 2: addresses(text)
    case 3:
        guard let listing = PageListing(bytes) else { return 0 }
        precondition(listing.entries.count <= PageListing.maxEntries && listing.streams.count <= 2)
        for address in listing.streams.map(\.address) + listing.entries.map(\.address) {
            precondition(address.lowercased().hasPrefix("http"), "nothing but the web")
        }
    case 4: manifest(bytes)
    case 6: playlist(bytes)
    case 7: distantAnswer(bytes)
    case 8: manifest(Extremes.manifest(bytes))
    case 9: playlist(Extremes.playlist(bytes))
    case 10: conversation(bytes)
    case 11: manifest(Extremes.tree(bytes))
    default:
        for field in (try? HeaderField.list(parsing: text)) ?? [] { precondition(isOneLine(field.name + field.value)) }
        _ = try? PageOptions.rawOptions(parsing: text)
    }
    return 0
}

private func isOneLine(_ text: String) -> Bool { !text.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 } }

/// A server that sends these bytes on every connection, a few at a time. `further` are the responses to further
/// requests on the connection.
private final class Sender: WebConnection {
    private var bytes: ArraySlice<UInt8>
    private var further: [[UInt8]]
    private var hasRequest = false

    init(_ bytes: [UInt8], further: [[UInt8]] = []) { (self.bytes, self.further) = (bytes[...], further) }

    func send(_ bytes: [UInt8]) -> Int32 {
        let head = String(decoding: bytes, as: UTF8.self)
        precondition(head.hasSuffix("\r\n\r\n") && head.components(of: "\r\n\r\n") == 1, "one request")
        if hasRequest, !further.isEmpty { self.bytes += further.removeFirst() }
        hasRequest = true
        return 0
    }

    func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        let count = min(bytes.count, target.count, 11)
        if count == 0 { return -541_478_725 }
        _ = target.update(fromContentsOf: bytes.prefix(count))
        bytes = bytes.dropFirst(count)
        return Int32(count)
    }
}

extension String {
    fileprivate func components(of separator: String) -> Int { ranges(of: separator).count }
}

/// Playlists and manifests with extreme numbers; each byte of an input selects one.
private enum Extremes {
    static let integers: [Int64] = [
        0, 1, -1, 7, 1 << 31, 1 << 53, 1 << 61, 1 << 62 - 1, 1 << 62, -(1 << 62), .max - 1000, .max - 7, .max - 1, .max,
        .min, 990_000_000_000,
    ]
    private static let words =
        integers.map { "\($0)" } + ["1e30", "-1e30", "nan", "inf", "", "0.5", "9223372036854775808", "99"]

    private static func filled(_ shape: String, _ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var (text, rest) = ("", bytes)
        for part in shape.split(separator: "#N", omittingEmptySubsequences: false) {
            if !text.isEmpty { text += words[Int(rest.popFirst() ?? 7) % words.count] }
            text += part
        }
        return Array(text.utf8)
    }

    static func manifest(_ bytes: [UInt8]) -> [UInt8] {
        let shapes = [
            "<SegmentTemplate timescale='#N' duration='#N' startNumber='#N' media='$Number%0#Nd$-$Time$'/>",
            "<SegmentTemplate timescale='#N' presentationTimeOffset='#N' media='$Time$'><SegmentTimeline><S t='#N' d='#N' r='#N'/>"
                + "<S t='#N' d='#N' r='#N'/><S d='#N' r='-1'/></SegmentTimeline></SegmentTemplate>",
            "<SegmentList timescale='#N' duration='#N'><Initialization range='#N-#N'/><SegmentURL mediaRange='#N-#N'/><SegmentURL/></SegmentList>",
        ]
        return filled(
            "<MPD mediaPresentationDuration='PT9990000S'><Period><AdaptationSet mimeType='video/mp4'><Representation bandwidth='#N'>"
                + shapes[Int(bytes.first ?? 0) % shapes.count] + "</Representation></AdaptationSet></Period></MPD>",
            bytes.dropFirst())
    }

    /// Returns a manifest whose elements, attributes and order are selected by bytes (ISO 23009-1, 5.3).
    static func tree(_ bytes: [UInt8]) -> [UInt8] {
        var rest = bytes[...]
        func byte() -> Int { Int(rest.popFirst() ?? 0) }
        func chosen(_ attributes: [String]) -> String {
            var text = ""
            for name in attributes where byte() % 3 > 0 { text += " \(name)='\(words[byte() % words.count])'" }
            return text
        }
        func span(_ name: String) -> String {
            let text = words[byte() % words.count]
            return " \(name)='" + ["PT\(text)S", "PT\(text)H\(text)M", "P\(text)DT1S", text][byte() % 4] + "'"
        }
        let addresses = [
            "v$Number$", "$Time%020d$", "$Number%0\(words[byte() % words.count])d$-$Time$", "$Bandwidth$/$$",
        ]
        func segments() -> String {
            let timing = chosen(["timescale", "duration", "startNumber", "endNumber", "presentationTimeOffset"])
            let line = (0..<byte() % 5).map { _ in "<S\(chosen(["t", "d", "r", "n"]))/>" }.joined()
            let timeline = byte() % 2 == 0 ? "" : "<SegmentTimeline>\(line)</SegmentTimeline>"
            let start =
                "<Initialization sourceURL='i' range='\(words[byte() % words.count])-\(words[byte() % words.count])'/>"
            switch byte() % 4 {
            case 0:
                return
                    "<SegmentTemplate media='\(addresses[byte() % 4])' initialization='i'\(timing)>\(timeline)</SegmentTemplate>"
            case 1:
                let list = (0..<byte() % 4).map { _ in
                    "<SegmentURL media='a' mediaRange='\(words[byte() % words.count])-\(words[byte() % words.count])'/>"
                }.joined()
                return "<SegmentList\(timing)>\(start)\(timeline)\(list)</SegmentList>"
            case 2: return "<SegmentBase indexRange='\(words[byte() % words.count])-7'>\(start)</SegmentBase>"
            default: return ""
            }
        }
        func representation() -> String {
            let base = byte() % 3 == 0 ? "<BaseURL>\(["b/", "//c.org/", "", "../../d"][byte() % 4])</BaseURL>" : ""
            return
                "<Representation id='r' mimeType='\(["video", "audio"][byte() % 2])/mp4'\(chosen(["bandwidth", "width"]))>"
                + "\(base)\(segments())</Representation>"
        }
        var text = "<MPD\(span("mediaPresentationDuration"))\(span("maxSegmentDuration"))>"
        for _ in 0...byte() % 2 {
            text += "<Period\(span("start"))\(span("duration"))>\(segments())"
            for _ in 0...byte() % 3 {
                text +=
                    "<AdaptationSet>\(segments())\((0...byte() % 3).map { _ in representation() }.joined())</AdaptationSet>"
            }
            text += "</Period>"
        }
        return Array("\(text)</MPD>".utf8)
    }

    static func playlist(_ bytes: [UInt8]) -> [UInt8] {
        filled(
            "#EXT-X-TARGETDURATION:#N\n#EXT-X-MEDIA-SEQUENCE:#N\n#EXT-X-MAP:URI=\"a\",BYTERANGE=\"#N@#N\"\n#EXTINF:#N,\n"
                + "#EXT-X-BYTERANGE:#N@#N\na\n#EXT-X-PROGRAM-DATE-TIME:2024-01-01T00:00:00Z\n#EXTINF:#N,\n#EXT-X-BYTERANGE:#N\na\n"
                + "#EXTINF:#N,\n#EXT-X-BYTERANGE:#N\na\n#EXT-X-ENDLIST\n", bytes[...])
    }
}

/// Tests a byte range and a seek near 2^63, with a response of exactly the requested range.
private func distantAnswer(_ bytes: [UInt8]) {
    func number(_ index: Int) -> Int64 {
        index < bytes.count ? Extremes.integers[Int(bytes[index]) % Extremes.integers.count] : .max
    }
    var options = ReadOptions()
    options.reconnectDelays = [.zero]
    let url = "http://a.org/b"
    let text =
        "HTTP/1.1 206 Part\r\nContent-Range: bytes \(number(2))-\(number(3))/\(number(4))\r\nContent-Length: \(number(5))\r\n\r\n"
    let answer = Array(text.utf8) + bytes.dropFirst(8)
    options.connect = { _, _ in Sender(answer) }
    let (requestBuilder, waiting) = (HTTPRequestBuilder(url, options), InterruptCallback([]))
    func input(_ range: (Int64, Int64?)) -> HTTPStream? {
        try? HTTPStream(
            WebAddress(url)!, requestBuilder: requestBuilder, range: range, retriesServerErrors: true, waiting: waiting
        ) { _ in
            Sender(answer)
        }
    }
    func exercise(_ input: any WebBytes) {
        var piece = [UInt8](repeating: 0, count: 64)
        for step in 0..<20 {
            let got = piece.withUnsafeMutableBufferPointer { input.read(into: $0) }
            precondition(got <= 64 && input.offset >= 0 && input.length ?? 0 >= 0)
            if step % 3 == 0 { _ = input.seek(to: number(6)) } else if got < 0 { _ = input.seek(to: number(7)) }
        }
    }
    if let part = input((number(0), number(1) > 0 ? number(1) : nil)) { exercise(part) }
    guard let whole = input((0, nil)) else { return }
    guard let cache = WebCache(whole, requestBuilder, waiting: waiting) else { return }
    exercise(cache.reader(InterruptCallback([])))
}

/// Reads a film across several responses: servers that redirect, truncate, answer with other ranges, and are retried.
private func conversation(_ bytes: [UInt8]) {
    var rest = bytes[...]
    func byte() -> Int { Int(rest.popFirst() ?? 0) }
    func number() -> Int64 { Extremes.integers[byte() % Extremes.integers.count] }
    let targets = [
        "/c", "//b.org/x", "https://c.org:444/d?e", "http://a.org/b", "ftp://a.org/x", "?", "http://user:secret@d.org/",
        "",
    ]
    var (options, steps) = (ReadOptions(), [Int]())
    options.reconnectDelays = [.zero]
    let range = (first: number(), last: byte() % 2 == 0 ? nil : number())
    for _ in 0..<8 { steps.append(byte()) }
    let places = (0..<4).map { _ in number() }
    func next() -> [UInt8] {
        let kind = byte()
        let body = (0..<byte() % 32).map { UInt8(truncatingIfNeeded: $0) }
        let head =
            switch kind % 8 {
            case 0, 1:
                "206 Part\r\nContent-Range: bytes \(number())-\(number())/\(number())\r\nContent-Length: \(number())"
            case 2: "200 OK\r\nAccept-Ranges: bytes\r\nContent-Length: \(kind < 128 ? Int64(body.count) : number())"
            case 3, 4:
                "\([301, 302, 303, 307, 308][kind % 5]) Elsewhere\r\nLocation: \(targets[byte() % targets.count])"
            case 5: "416 No\r\nContent-Range: bytes */\(number())"
            case 6: "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(number(), radix: 16))\r\n"
            default: "\([401, 404, 503, 500, 206][kind % 5]) So\r\nRetry-After: \(number())\r\nETag: \"a\""
            }
        return Array("HTTP/1.1 \(head)\r\n\r\n".utf8) + body
    }
    let url = "http://a.org/b"
    var connections = 0
    let input = try? HTTPStream(
        WebAddress(url)!, requestBuilder: HTTPRequestBuilder(url, options), range: range, retriesServerErrors: true,
        pool: ConnectionPool(),
        waiting: InterruptCallback([])
    ) { address in
        precondition(!address.host.isEmpty && isOneLine(address.text))
        connections += 1
        return Sender(next(), further: byte() % 2 == 0 ? [next()] : [])
    }
    guard let input else { return }
    var piece = [UInt8](repeating: 0, count: 64)
    for step in 0..<40 {
        let before = input.offset
        let got = piece.withUnsafeMutableBufferPointer { input.read(into: $0) }
        precondition(got <= 64 && input.offset >= 0 && input.length ?? 0 >= 0)
        if got >= 0 { precondition(input.offset == before + Int64(got), "what was read is counted") }
        let chosen = steps[step % steps.count]
        if chosen % 4 == 0 { _ = input.seek(to: places[chosen / 4 % 4]) } else if got < 0 { break }
    }
    // Each read retries at most once, and each request is redirected at most eight times.
    precondition(connections <= 42 * 2 * 10, "few requests")
}

private func answer(_ bytes: [UInt8]) {
    var options = ReadOptions()
    options.reconnectDelays = [.zero]
    let url = "http://a.org/b/c?d"
    var connections = 0
    let input = try? HTTPStream(
        WebAddress(url)!, requestBuilder: HTTPRequestBuilder(url, options), retriesServerErrors: true,
        waiting: InterruptCallback([])
    ) { _ in
        connections += 1
        return Sender(bytes)
    }
    precondition(connections <= 40)
    guard let input else { return }
    var piece = [UInt8](repeating: 0, count: 64)
    for step in 0..<200 {
        let got = piece.withUnsafeMutableBufferPointer { input.read(into: $0) }
        if got < 0 { break }
        if step == 20 { _ = input.seek(to: Int64(bytes.count / 3)) }
    }
}

private func manifest(_ bytes: [UInt8]) {
    let address = WebAddress("https://a.org/b/c.mpd")!
    guard let film = try? DASHManifest(bytes, at: address, named: "film") else { return }
    precondition(film.representations.count <= DASHManifest.maxRepresentations)
    let playlists = DASHPlaylists(film, .highest)
    for (number, one) in film.representations.enumerated() {
        precondition(one.pieces.count <= DASHManifest.maxSegments)
        guard let bytes = playlists.playlist(at: "\(playlists.baseURL)\(number).m3u8") else {
            preconditionFailure("no playlist")
        }
        precondition(marks(in: bytes) == one.pieces.count, "each piece is one")
    }
}

/// Returns the number of segments of a playlist, all of which have web addresses. It builds no array of lines: a
/// manifest may expand to 200,000 segments, for which `split` takes 20 s under the sanitizer.
private func marks(in bytes: [UInt8]) -> Int {
    bytes.withUnsafeBufferPointer { all in
        guard let base = all.baseAddress else { return 0 }
        var (marks, start) = (0, 0)
        while start < all.count {
            let line = base + start
            let length = memchr(line, 0x0A, all.count - start).map { UnsafeRawPointer($0) - UnsafeRawPointer(line) }
            let count = length ?? all.count - start
            if count > 0, line.pointee == UInt8(ascii: "#") {
                if count >= 8, memcmp(line, "#EXTINF:", 8) == 0 { marks += 1 }
            } else if count > 0 {
                precondition(count >= 4 && memcmp(line, "http", 4) == 0, "a segment is on the web")
            }
            start += count + 1
        }
        return marks
    }
}

/// Parses a playlist that is split at each of its first segments, its interstitials, and the bytes as an asset list.
private func playlist(_ bytes: [UInt8]) {
    let address = WebAddress("https://a.org/b/list")!
    precondition((AssetList.assets(in: bytes, at: address) ?? []).count <= Interstitial.maxAssets)
    guard let playlist = MediaPlaylist([UInt8]("#EXTM3U\n".utf8) + bytes) else { return }
    precondition(!playlist.pieces.isEmpty && playlist.pieces.count <= MediaPlaylist.maxSegments)
    let all = InterstitialReading.interstitials(of: playlist, at: address.text)
    precondition(all.count <= Interstitial.maxCount)
    for one in all {
        if case .one(let place) = one.assets { precondition(place.hasPrefix("https://") && isOneLine(place)) }
        precondition(one.limit <= Interstitial.longest)
    }
    var start = 0.0
    for (number, piece) in playlist.pieces.enumerated().prefix(8) {
        let cut = playlist.cut(at: MediaTime(seconds: start + piece.seconds / 2))
        guard let again = MediaPlaylist(cut.text) else { preconditionFailure("a cut playlist is one") }
        precondition(again.pieces.count <= playlist.pieces.count)
        if piece.seconds > 0.001 {
            precondition(again.pieces.count == playlist.pieces.count - number, "cut in its place")
        }
        start += piece.seconds
    }
}

private func cookies(_ bytes: [UInt8], _ text: String) {
    let lines = bytes.count { $0 == 0x0A } + 1
    let file = CookieFile(bytes, name: "cookies.txt")
    precondition(file.mistakes.count <= 6 && file.cookies.count <= lines)
    let jar = CookieJar { 1000 }
    file.fill(jar)
    let address = WebAddress("https://a.example.org/b/c")!
    jar.store(text, from: address)
    jar.add(listed: text)
    precondition(jar.all.count <= CookieJar.maxCookies)
    if let line = jar.header(for: address) { precondition(isOneLine(line)) }
}

private func addresses(_ text: String) {
    let base = WebAddress("https://anna:secret@a.org/b/c;d?e")!
    for address in [WebAddress(text), base.resolving(text)].compactMap({ $0 }) {
        precondition(isOneLine(address.target + address.authority) && !address.target.contains(" "))
        precondition(address.target.hasPrefix("/") && address.port > 0)
        var again = address
        again.credentials = nil
        precondition(WebAddress(address.text) == again, "what was read can be read again")
        if address.host != "a.org" { precondition(!base.isHome(of: address)) }
    }
}
