@testable import Playback

/// Parses the bytes as each playlist format: nothing traps, and nothing exceeds its limit.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzPlaylists(_ start: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    let bytes = Array(UnsafeBufferPointer(start: start, count: size))
    for name in ["", "a.m3u", "a.pls", "a.xspf", "a.cue"] {
        guard let format = PlaylistFormat(name: name, text: bytes) else { continue }
        precondition(format.entries(in: bytes, limit: 8).count <= 8)
    }
    return 0
}
