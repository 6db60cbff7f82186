package import MediaCore

/// The header of a still image, parsed before decoding. Images with excessive sizes are refused before memory is
/// allocated.
package struct ImageHeader: Sendable, Hashable {
    /// The codec's name in libavcodec.
    package var codec: String
    /// The stored size, before rotation.
    package var size: PixelSize
    /// The clockwise rotation for display, in degrees: 0, 90, 180 or 270.
    package var rotation = 0
    /// Whether it has several frames.
    var isAnimated = false

    /// Parses a header.
    ///
    /// - Parameter bytes: The complete image, or at least everything before its pixels.
    /// - Returns: Nil if the bytes are not JPEG, PNG, WebP, GIF, BMP or TIFF, or end before the size.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        let bytes = HeaderBytes(bytes)
        guard
            let found = Self.png(bytes) ?? Self.jpeg(bytes) ?? Self.webp(bytes) ?? Self.gif(bytes)
                ?? Self.bmp(bytes) ?? Self.tiff(bytes), found.size.width > 0, found.size.height > 0
        else { return nil }
        self = found
    }

    private init(_ codec: String, _ width: Int, _ height: Int) {
        (self.codec, size) = (codec, PixelSize(width: width, height: height))
    }

    /// The maximum number of chunks, markers or blocks before the header counts as read: a GIF of 128 MB has 500,000.
    private static let maxSteps = 1 << 19

    // MARK: PNG (ISO/IEC 15948)

    private static func png(_ bytes: HeaderBytes) -> ImageHeader? {
        guard bytes.says([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], at: 0), bytes.says("IHDR", at: 12),
            let width = bytes.big32(16), let height = bytes.big32(20)
        else { return nil }
        var header = ImageHeader("png", width, height)
        var (position, chunks) = (8, 0)
        // Each iteration skips one chunk of at least twelve bytes.
        while chunks < maxSteps, let length = bytes.big32(position), !bytes.says("IDAT", at: position + 4) {
            chunks += 1
            if bytes.says("acTL", at: position + 4) {
                header.isAnimated = true
                break
            }
            position += 12 + length
        }
        return header
    }

    // MARK: JPEG (ITU-T T.81, B.1)

    private static func jpeg(_ bytes: HeaderBytes) -> ImageHeader? {
        guard bytes.says([0xFF, 0xD8, 0xFF], at: 0) else { return nil }
        var (position, rotation, markers) = (2, 0, 0)
        while markers < maxSteps, let first = bytes.byte(position), let marker = bytes.byte(position + 1) {
            markers += 1
            if first != 0xFF { return nil }
            // Markers may be preceded by any number of FF, and some have no payload.
            if marker == 0xFF || (0xD0...0xD8).contains(marker) || marker == 0x01 {
                position += marker == 0xFF ? 1 : 2
                continue
            }
            guard let length = bytes.big16(position + 2), length >= 2 else { return nil }
            if marker == 0xE1, bytes.says("Exif", at: position + 4) {
                let exif = TIFFDirectory(bytes, at: position + 10, until: position + 2 + length)
                rotation = exif?.rotation ?? rotation
            }
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                guard let height = bytes.big16(position + 5), let width = bytes.big16(position + 7) else { return nil }
                var header = ImageHeader("mjpeg", width, height)
                header.rotation = rotation
                return header
            }
            position += 2 + length
        }
        return nil
    }

    // MARK: WebP (RFC 9649)

    private static func webp(_ bytes: HeaderBytes) -> ImageHeader? {
        guard bytes.says("RIFF", at: 0), bytes.says("WEBP", at: 8) else { return nil }
        if bytes.says("VP8X", at: 12) {
            guard let flags = bytes.byte(20), let width = bytes.little24(24), let height = bytes.little24(27) else {
                return nil
            }
            var header = ImageHeader("webp", width + 1, height + 1)
            header.isAnimated = flags & 0x02 != 0
            return header
        }
        if bytes.says("VP8L", at: 12), bytes.byte(20) == 0x2F, let sizes = bytes.little32(21) {
            return ImageHeader("webp", sizes & 0x3FFF + 1, sizes >> 14 & 0x3FFF + 1)
        }
        // RFC 6386, 9.1.
        guard bytes.says("VP8 ", at: 12), bytes.says([0x9D, 0x01, 0x2A], at: 23), let width = bytes.little16(26),
            let height = bytes.little16(28)
        else { return nil }
        return ImageHeader("webp", width & 0x3FFF, height & 0x3FFF)
    }

    // MARK: GIF (GIF89a specification)

    private static func gif(_ bytes: HeaderBytes) -> ImageHeader? {
        guard bytes.says("GIF87a", at: 0) || bytes.says("GIF89a", at: 0), let width = bytes.little16(6),
            let height = bytes.little16(8), let flags = bytes.byte(10)
        else { return nil }
        var header = ImageHeader("gif", width, height)
        var (position, pictures, blocks) = (13 + colors(flags), 0, 0)
        while blocks < maxSteps, let kind = bytes.byte(position), kind != 0x3B {
            switch kind {
            case 0x21: position += 2
            case 0x2C:
                pictures += 1
                guard pictures < 2, let own = bytes.byte(position + 9) else {
                    header.isAnimated = pictures > 1
                    return header
                }
                position += 11 + colors(own)
            default: return header
            }
            // Blocks of up to 255 bytes, until an empty one.
            while blocks < maxSteps, let length = bytes.byte(position) {
                blocks += 1
                position += 1 + length
                if length == 0 { break }
            }
        }
        return header
    }

    /// The size of a color table in bytes.
    private static func colors(_ flags: Int) -> Int { flags & 0x80 != 0 ? 3 << (flags & 7 + 1) : 0 }

    // MARK: BMP

    private static func bmp(_ bytes: HeaderBytes) -> ImageHeader? {
        guard bytes.says("BM", at: 0), let length = bytes.little32(14) else { return nil }
        if length == 12, let width = bytes.little16(18), let height = bytes.little16(20) {
            return ImageHeader("bmp", width, height)
        }
        guard (40...256).contains(length), let width = bytes.little32(18), let height = bytes.little32(22) else {
            return nil
        }
        // Top-down rows have a negative height.
        let rows = Int(Int32(truncatingIfNeeded: height))
        return ImageHeader("bmp", width, abs(rows))
    }

    // MARK: TIFF 6.0

    private static func tiff(_ bytes: HeaderBytes) -> ImageHeader? {
        guard let directory = TIFFDirectory(bytes, at: 0, until: bytes.count), let width = directory.width,
            let height = directory.height
        else { return nil }
        var header = ImageHeader("tiff", width, height)
        header.rotation = directory.rotation
        return header
    }
}

/// The first directory of a TIFF file; EXIF uses the same format.
private struct TIFFDirectory {
    var width: Int?
    var height: Int?
    var rotation = 0

    /// The maximum number of entries; cameras write fewer.
    private static let maxEntries = 500

    init?(_ bytes: HeaderBytes, at start: Int, until end: Int) {
        let isLittle = bytes.says([0x49, 0x49, 0x2A, 0x00], at: start)
        guard isLittle || bytes.says([0x4D, 0x4D, 0x00, 0x2A], at: start) else { return nil }
        func short(_ position: Int) -> Int? {
            position + 2 <= end ? (isLittle ? bytes.little16(position) : bytes.big16(position)) : nil
        }
        func long(_ position: Int) -> Int? {
            position + 4 <= end ? (isLittle ? bytes.little32(position) : bytes.big32(position)) : nil
        }
        guard let offset = long(start + 4), let count = short(start + offset) else { return nil }
        for index in 0..<min(count, Self.maxEntries) {
            let entry = start + offset + 2 + index * 12
            guard let tag = short(entry), let kind = short(entry + 2) else { break }
            // Type 3 has 16 bits, type 4 has 32.
            guard let value = kind == 3 ? short(entry + 8) : kind == 4 ? long(entry + 8) : nil else { continue }
            switch tag {
            case 256: width = value
            case 257: height = value
            case 274: rotation = Self.turn(value)
            default: break
            }
        }
    }

    /// Converts the EXIF orientation (EXIF 2.3, 4.6.4) to degrees. Mirroring is ignored.
    private static func turn(_ orientation: Int) -> Int {
        switch orientation {
        case 3, 4: 180
        case 5, 6: 90
        case 7, 8: 270
        default: 0
        }
    }
}

/// Untrusted bytes, with bounds checks.
private struct HeaderBytes {
    private let bytes: UnsafeRawBufferPointer
    var count: Int { bytes.count }

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    func byte(_ position: Int) -> Int? { position >= 0 && position < bytes.count ? Int(bytes[position]) : nil }

    func says(_ expected: [UInt8], at position: Int) -> Bool {
        position >= 0 && position <= bytes.count - expected.count
            && expected.indices.allSatisfy { bytes[position + $0] == expected[$0] }
    }

    func says(_ expected: StaticString, at position: Int) -> Bool {
        expected.withUTF8Buffer { expected in
            position >= 0 && position <= bytes.count - expected.count
                && expected.indices.allSatisfy { bytes[position + $0] == expected[$0] }
        }
    }

    func big16(_ position: Int) -> Int? { byte(position).flatMap { high in byte(position + 1).map { high << 8 | $0 } } }
    func big32(_ position: Int) -> Int? {
        big16(position).flatMap { high in big16(position + 2).map { high << 16 | $0 } }
    }
    func little16(_ position: Int) -> Int? {
        byte(position).flatMap { low in byte(position + 1).map { $0 << 8 | low } }
    }
    func little24(_ position: Int) -> Int? {
        little16(position).flatMap { low in byte(position + 2).map { $0 << 16 | low } }
    }
    func little32(_ position: Int) -> Int? {
        little16(position).flatMap { low in little16(position + 2).map { $0 << 16 | low } }
    }
}
