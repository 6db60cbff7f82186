import Glibc
import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering

/// Opens the bytes as a subtitle file, whose kind the first byte selects, and decodes its contents, also after a seek
/// and as text at the top.
/// Errors are expected; crashes, traps, hangs and cues that cannot be drawn are not.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzzSubtitles(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 1 else { return 0 }
    let all = UnsafeRawBufferPointer(start: bytes, count: count)
    let ending = endings[Int(all[0]) % endings.count]
    let file = "/dev/shm/talkie-subtitle-fuzz-\(getpid())"
    var paths = [file + ending]
    var contents = [Array(all.dropFirst())]
    if ending == ".idx" {
        // Two files, separated by a zero: index and bitmaps.
        let parts = all.dropFirst().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        paths.append(file + ".sub")
        contents = [Array(parts[0]), parts.count > 1 ? Array(parts[1]) : []]
    }
    defer { for path in paths { unlink(path) } }
    for (path, content) in zip(paths, contents) where !write(content, to: path) { return 0 }
    do throws(MediaError) { try show(paths[0], choice: all[count / 2]) } catch { precondition(!error.message.isEmpty) }
    return 0
}

private let endings = [".srt", ".ass", ".vtt", ".sub", ".smi", ".sup", ".idx", ".mks", ".mp4", ".txt"]

private func write(_ bytes: [UInt8], to path: String) -> Bool {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    return bytes.isEmpty || Glibc.write(file, bytes, bytes.count) == bytes.count
}

private func show(_ path: String, choice: UInt8) throws(MediaError) {
    let file = try SubtitleFile.open(path)
    for track in file.summary.tracks.prefix(3) {
        precondition(track.kind == .subtitle)
        guard let format = track.subtitleFormat else { continue }
        let place = choice < 128 ? SubtitlePosition.asWritten : .top
        let decoder = try FilmSubtitleCodecs(position: place).decoder(for: format)
        let source = try file.source(for: track)
        try read(source, decoder, place)
        decoder.flush()
        try source.seek(to: MediaTime(value: Int64(choice), timescale: 10), mode: .exact)
        try read(source, decoder, place)
    }
}

private func read(
    _ source: any SampleSource, _ decoder: any SubtitleDecoder, _ place: SubtitlePosition
) throws(MediaError) {
    for _ in 0..<300 {
        guard let buffer = try source.read() else { return }
        for cue in try decoder.decode(buffer) { check(cue, place) }
    }
}

private func check(_ buffer: SampleBuffer, _ place: SubtitlePosition) {
    precondition(buffer.presentationTime != nil && buffer.duration >= .zero)
    guard case .subtitle(let cue) = buffer.payload else { preconditionFailure("no subtitle") }
    switch cue.content {
    case .script(let event, let sheet):
        // Invalid UTF-8 is replaced by longer sequences.
        precondition(event.count <= 3 * 65_536 && String(validating: event, as: UTF8.self) != nil)
        precondition(!sheet.header.contains(0))
        // The text at the top has no overrides: an opening brace that is left has no closing one.
        let text = event.split(separator: UInt8(ascii: ","), maxSplits: 8, omittingEmptySubsequences: false).last
        if place == .top, let text, let brace = text.firstIndex(of: UInt8(ascii: "{")) {
            precondition(!text[brace...].contains(UInt8(ascii: "}")))
        }
    case .images(let images, let canvas):
        precondition(images.count <= 32 && canvas.width >= 0 && canvas.height >= 0)
        precondition(images.reduce(0) { $0 + $1.rect.width * $1.rect.height } <= 4096 * 4096)
    }
}
