import Glibc
import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering

/// Opens the bytes as a film and plays a part: both tracks with separate readers, a seek, and audio at another rate.
/// Errors are expected; crashes, traps and hangs are not.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzzDemux(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 0, let path = FuzzedFile.write(UnsafeRawBufferPointer(start: bytes, count: count)) else { return 0 }
    defer { unlink(path) }
    do throws(MediaError) { try play(path, choice: bytes[count / 2]) } catch {
        precondition(!error.message.isEmpty)
    }
    return 0
}

/// A file in tmpfs, rewritten for every input.
private enum FuzzedFile {
    static let path = "/dev/shm/talkie-fuzz-\(getpid())"

    static func write(_ bytes: UnsafeRawBufferPointer) -> String? {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return Glibc.write(file, bytes.baseAddress, bytes.count) == bytes.count ? path : nil
    }
}

private func play(_ path: String, choice: UInt8) throws(MediaError) {
    let film = try MediaFile.open(path)
    let target = MediaTime(value: Int64(choice), timescale: 200)
    if let track = film.summary.track(.video) {
        let reader = try film.reader(for: track)
        if choice & 1 == 1 { _ = try? reader.seek(to: target, mode: .exact) }
        try watch(reader, track)
        if choice & 2 == 2 {
            try reader.seek(to: target, mode: choice & 4 == 4 ? .syncAfter : .syncBefore)
            try watch(reader, track)
        }
    }
    if let track = film.summary.track(.audio) {
        let reader = try film.reader(for: track)
        try listen(reader, track, speed: choice & 8 == 8 ? 1.5 : 1)
        if choice & 16 == 16 {
            try reader.seek(to: target, mode: .exact)
            try listen(reader, track, speed: 1)
        }
    }
}

/// Larger frames take too long to decode.
private let largestPicture = 1 << 20

private func watch(_ reader: any SampleSource, _ track: Track) throws(MediaError) {
    guard let format = track.videoFormat, format.size.width * format.size.height <= largestPicture else { return }
    let decoder = try VideoDecoder(format: format, threads: 1)
    let converter = SoftwareFrameConverter()
    let pixels = UnsafeMutableRawPointer.allocate(byteCount: 64 * 64 * 4, alignment: 64)
    defer { pixels.deallocate() }
    var shown = 0
    for _ in 0..<200 {
        guard let buffer = try reader.read() else { break }
        try decoder.send(buffer)
        while let picture = decoder.receive() {
            shown += 1
            guard let image = picture.videoFrame else { continue }
            let size = PixelSize(width: 64, height: 64)
            _ = converter.convert(image, to: PixelTarget(base: pixels, stride: 256, size: size))
        }
        if shown > 40 { return }
    }
    decoder.finish()
    while decoder.receive() != nil {}
}

private func listen(_ reader: any SampleSource, _ track: Track, speed: Double) throws(MediaError) {
    guard let format = track.audioFormat else { return }
    let output = PCMFormat(sampleRate: 48000, layout: .stereo)
    let converter = try FilmAudioCodecs().converter(from: format, to: output, speed: speed)
    let block = PCMBlock(format: output, capacity: 1024)
    var blocks = 0
    for _ in 0..<60 {
        guard let buffer = try reader.read() else { break }
        try converter.send(buffer)
        while blocks < 600, try converter.receive(into: block) { blocks += 1 }
    }
    converter.finish()
    while blocks < 1200, try converter.receive(into: block) { blocks += 1 }
}
