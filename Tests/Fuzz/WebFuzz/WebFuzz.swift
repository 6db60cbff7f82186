import FuzzSupport
import MediaCore

@testable import MediaFiles
@testable import Playback

/// What web servers answer, the cookies that they and files give, where references lead, and what yt-dlp says of a page: nothing traps,
/// what is kept is bounded, and what is sent on can be no second request.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzWeb(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let kind = input.byte() % 7
    let bytes = input.remainder()
    let text = String(decoding: bytes, as: UTF8.self)
    switch kind {
    case 0: answer(bytes)
    case 1: cookies(bytes, text)
    case 2: addresses(text)
    case 3:
        guard let listing = PageListing(bytes) else { return 0 }
        precondition(listing.entries.count <= PageListing.mostEntries && listing.streams.count <= 2)
        for address in listing.streams.map(\.address) + listing.entries.map(\.address) {
            precondition(address.lowercased().hasPrefix("http"), "nothing but the web")
        }
    case 4: manifest(bytes)
    case 6: playlist(bytes)
    default:
        for field in (try? HeaderField.list(parsing: text)) ?? [] { precondition(isOneLine(field.name + field.value)) }
        _ = try? PageOptions.rawOptions(parsing: text)
    }
    return 0
}

private func isOneLine(_ text: String) -> Bool { !text.utf8.contains { $0 == 0x0A || $0 == 0x0D || $0 == 0 } }

/// A server that sends these bytes on every connection, a few at a time.
private final class Sender: WebConnection {
    private var bytes: ArraySlice<UInt8>
    init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

    func send(_ bytes: [UInt8]) -> Int32 {
        let head = String(decoding: bytes, as: UTF8.self)
        precondition(head.hasSuffix("\r\n\r\n") && head.components(of: "\r\n\r\n") == 1, "one request")
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

private func answer(_ bytes: [UInt8]) {
    var options = ReadOptions()
    options.reconnectDelays = [.zero]
    let url = "http://a.org/b/c?d"
    var connections = 0
    let input = try? WebInput(
        WebAddress(url)!, asker: WebAsker(url, options), isPatient: true, waiting: BlockingGuard([])
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
    precondition(film.representations.count <= DASHManifest.mostRepresentations)
    let playlists = DASHPlaylists(film, .highest)
    for (number, one) in film.representations.enumerated() {
        precondition(one.pieces.count <= DASHManifest.mostPieces)
        guard let bytes = playlists.playlist(at: "http://dash.talkie.invalid/\(number).m3u8") else {
            preconditionFailure("no playlist")
        }
        for line in bytes.split(separator: 0x0A) where line.first != UInt8(ascii: "#") {
            precondition(line.starts(with: "http".utf8), "a piece lies on the web")
        }
        let marks = bytes.split(separator: 0x0A).count { $0.starts(with: "#EXTINF:".utf8) }
        precondition(marks == one.pieces.count, "each piece is one")
    }
}

/// A playlist that is cut at each of its first pieces, its interstitials, and the bytes as a list of such.
private func playlist(_ bytes: [UInt8]) {
    let address = WebAddress("https://a.org/b/list")!
    precondition((AssetList.assets(in: bytes, at: address) ?? []).count <= Interstitial.mostAssets)
    guard let playlist = MediaPlaylist([UInt8]("#EXTM3U\n".utf8) + bytes) else { return }
    precondition(!playlist.pieces.isEmpty && playlist.pieces.count <= MediaPlaylist.mostPieces)
    let all = InterstitialReading.interstitials(of: playlist, at: address.text)
    precondition(all.count <= Interstitial.most)
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
    jar.take(text, from: address)
    jar.add(listed: text)
    precondition(jar.all.count <= CookieJar.mostCookies)
    if let line = jar.line(for: address) { precondition(isOneLine(line)) }
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
