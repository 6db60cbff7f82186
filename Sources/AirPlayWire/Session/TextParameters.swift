internal import MediaCore

/// The plain-text bodies of `SET_PARAMETER`.
package enum TextParameters {
    /// Returns the body that sets the volume in dB, clamped to −144…0.
    package static func volume(decibels: Double) -> [UInt8] {
        Array("volume: \(fixed(max(-144, min(0, decibels))))\r\n".utf8)
    }

    /// Formats six decimals, independent of the locale.
    static func fixed(_ value: Double) -> String {
        let scaled = Int64(clamping: value * 1e6, in: -1 << 60...1 << 60)
        let digits = String(scaled.magnitude % 1_000_000)
        let zeros = String(repeating: "0", count: 6 - digits.count)
        return "\(scaled < 0 ? "-" : "")\(scaled.magnitude / 1_000_000).\(zeros)\(digits)"
    }
}

/// Track metadata in DAAP's tagged format: four letters, a length, a value. For receivers with a display, and for those
/// that stay silent until they have received any.
package enum TrackMetadata {
    /// Returns the body with title, artist, album and track number.
    package static func body(title: String, artist: String, album: String, track: UInt16 = 1) -> [UInt8] {
        func item(_ tag: String, _ value: [UInt8]) -> [UInt8] {
            var out = Array(tag.utf8)
            let count = UInt32(clamping: value.count)
            for shift in [24, 16, 8, 0] { out.append(UInt8(truncatingIfNeeded: count >> UInt32(shift))) }
            return out + value
        }
        // 2: an audio item.
        let parts =
            item("mikd", [2]) + item("minm", Array(title.utf8)) + item("asar", Array(artist.utf8))
            + item("asal", Array(album.utf8)) + item("astn", [UInt8(track >> 8), UInt8(track & 0xFF)])
        return item("mlit", parts)
    }

    /// Returns the title in an untrusted body, at most 1,024 bytes; nil if there is none.
    package static func title(in body: [UInt8]) -> String? {
        var rest = body[...]
        func next() -> (tag: ArraySlice<UInt8>, value: ArraySlice<UInt8>)? {
            guard rest.count >= 8 else { return nil }
            let start = rest.startIndex
            let count = rest[start + 4..<start + 8].reduce(0) { $0 << 8 | Int($1) }
            guard count <= rest.count - 8 else { return nil }
            defer { rest = rest.dropFirst(8 + count) }
            return (rest[start..<start + 4], rest[start + 8..<start + 8 + count])
        }
        guard let list = next(), list.tag.elementsEqual("mlit".utf8) else { return nil }
        rest = list.value
        while let item = next() {
            if item.tag.elementsEqual("minm".utf8) { return String(decoding: item.value.prefix(1024), as: UTF8.self) }
        }
        return nil
    }
}
