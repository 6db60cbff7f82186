import FuzzSupport
import FuzzWatch
import MediaCore
import MediaFiles

private let folder = FuzzFolder("hls")
private let server = FilmServer()
private let impatience = Lock<Cancellation?>(nil)

/// A playlist and everything it refers to: playlists, segments, keys, headers and byte ranges, local or from a server.
/// References open only ordinary files, and a server's playlist opens no local files. No port is
/// opened, and nothing is written. Reading ends, even if a playlist is endless.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzHLS(_ start: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    var input = FuzzInput(start, size)
    let shape = input.byte()
    let files = FilmFiles(input.remainder())
    guard let first = files.all.first else { return 0 }
    folder.empty()
    for (name, bytes) in files.all { folder.write(name, bytes) }
    let isRemote = shape & 1 != 0
    server.files.withLock { $0 = isRemote ? files : FilmFiles([]) }

    let cancellation = Cancellation()
    impatience.withLock { $0 = cancellation }
    let address = isRemote ? "http://127.0.0.1:\(server.port)/\(first.name)" : "\(folder.path)/\(first.name)"
    fuzz_watch_begin(folder.path, isRemote ? server.port : 0) { impatience.withLock { $0 }?.cancel() }
    do throws(MediaError) { try play(address, cancellation, shape) } catch { precondition(!error.message.isEmpty) }
    let seen = fuzz_watch_end()

    precondition(seen.ports == 0, "a playlist opens no port")
    precondition(seen.writes == 0, "a playlist writes nothing")
    if isRemote {
        precondition(seen.files == 0 && seen.outside == 0, "a server's playlist opens no file of this computer")
    }
    let path = withUnsafeBytes(of: seen.path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    precondition(seen.devices == 0, "a playlist opens ordinary files only, not \(path)")
    return 0
}

private func play(_ address: String, _ cancellation: Cancellation, _ shape: UInt8) throws(MediaError) {
    var options = ReadOptions()
    options.openTimeout = .seconds(4)
    options.readTimeout = .seconds(2)
    let film = try MediaFile.open(address, options: options, cancellation: cancellation)
    precondition(film.summary.tracks.count <= 256)
    for track in film.summary.tracks.prefix(3) {
        let reader = try film.reader(for: track)
        for _ in 0..<20 { guard try reader.read() != nil else { break } }
        guard shape & 2 != 0 else { continue }
        try reader.seek(to: MediaTime(value: Int64(shape), timescale: 50), mode: shape & 4 == 0 ? .exact : .syncBefore)
        for _ in 0..<10 { guard try reader.read() != nil else { break } }
    }
}
