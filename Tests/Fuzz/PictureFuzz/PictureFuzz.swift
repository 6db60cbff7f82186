import Glibc
import MediaCodecs
import MediaCore
import MediaFiles
import SyncRendering

/// Parses the bytes as an image header, and decodes the image if it is small. Errors are expected; crashes, traps and
/// hangs are not, and no decoded image exceeds the limits.
@_cdecl("LLVMFuzzerTestOneInput") public func fuzzPicture(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let all = UnsafeRawBufferPointer(start: bytes, count: count)
    guard let header = ImageHeader(all) else { return 0 }
    precondition(header.size.width > 0 && header.size.height > 0 && [0, 90, 180, 270].contains(header.rotation))
    precondition(["png", "mjpeg", "webp", "gif", "bmp", "tiff"].contains(header.codec))
    let file = "/dev/shm/talkie-picture-fuzz-\(getpid())" + (header.codec == "tiff" ? ".tif" : ".x")
    defer { unlink(file) }
    // The product of the sizes in a header may overflow.
    guard header.size.width <= 1024, header.size.height <= 1024, write(all, to: file) else { return 0 }
    do throws(MediaError) { try decode(file) } catch { precondition(!error.message.isEmpty) }
    return 0
}

private func write(_ bytes: UnsafeRawBufferPointer, to path: String) -> Bool {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    return Glibc.write(file, bytes.baseAddress, bytes.count) == bytes.count
}

private func decode(_ path: String) throws(MediaError) {
    guard let picture = try ImageFile.open(path, showingFor: .seconds(1)), let track = picture.summary.tracks.first,
        let format = track.videoFormat
    else { return }
    let decoder = try VideoDecoder(format: format, threads: 1)
    let source = try picture.source(for: track)
    while let buffer = try source.read() { try decoder.send(buffer) }
    decoder.finish()
    while let shown = decoder.receive()?.videoFrame {
        precondition(shown.size.width <= 16_384 && shown.size.height <= 16_384)
    }
}
