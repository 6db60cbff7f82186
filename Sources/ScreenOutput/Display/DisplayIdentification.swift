internal import Glibc
internal import MediaCore

/// A parsed EDID (VESA E-EDID release A revision 2, with CTA-861 extensions): name, video latency, overscan. The input
/// is untrusted: any bytes of any length are parsed safely.
package struct DisplayIdentification: Sendable, Equatable {
    /// The product name; nil if absent.
    package var name: String?
    /// The delay from a progressive frame's arrival to its light; nil if absent.
    package var videoLatency: Duration?
    /// Whether the display always overscans its preferred timing, or, if that is unspecified, television timings. False
    /// if it does not, is configurable, or is silent about it.
    package var isOverscanning = false

    private static let blockSize = 128
    /// The base block and 255 extensions.
    private static let maxBytes = 256 * blockSize
    /// The IEEE identifier of HDMI Licensing in the vendor-specific block (HDMI 1.3a, section 8.3.2).
    private static let hdmi: [UInt8] = [0x03, 0x0C, 0x00]

    /// Parses an EDID.
    ///
    /// - Returns: Nil if the bytes are no EDID.
    package init?(_ bytes: [UInt8]) {
        let header: [UInt8] = [0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0]
        guard bytes.count >= Self.blockSize, bytes.prefix(8).elementsEqual(header) else { return nil }
        // Four descriptors of 18 bytes each; tag 0xFC is the name (E-EDID, section 3.10.3.4).
        for start in stride(from: 54, through: 108, by: 18)
        where bytes[start..<(start + 5)].elementsEqual([0, 0, 0, 0xFC, 0]) {
            let text = bytes[(start + 5)..<(start + 18)].prefix { $0 != 0x0A }.filter { (0x20...0x7E).contains($0) }
            let trimmed = String(decoding: text, as: UTF8.self).split(separator: " ").joined(separator: " ")
            if !trimmed.isEmpty { name = trimmed }
        }
        for block in 1..<max(2, min(bytes.count, Self.maxBytes) / Self.blockSize) {
            let start = block * Self.blockSize
            guard start + Self.blockSize <= bytes.count, bytes[start] == 2 else { continue }
            readDataBlocks(bytes[(start + 4)..<(start + max(4, min(127, Int(bytes[start + 2]))))])
        }
    }

    /// Parses a data block collection (CTA-861, section 7.4): three bits of tag, five of length, then that many bytes.
    private mutating func readDataBlocks(_ collection: ArraySlice<UInt8>) {
        var rest = collection
        while let header = rest.first {
            let body = rest.dropFirst().prefix(Int(header & 31))
            rest = rest.dropFirst(1 + Int(header & 31))
            // Video capability data block (CTA-861-F, 7.5.6), extended tag 0. It has two bits each for the preferred,
            // computer and television timings; 0 is unspecified, 1 always overscanned.
            if header >> 5 == 7, body.count >= 2, body.first == 0 {
                let flags = body[body.startIndex + 1]
                let preferred = flags >> 4 & 3
                isOverscanning = (preferred != 0 ? preferred : flags & 3) == 1
            }
            guard header >> 5 == 3, body.prefix(3).elementsEqual(Self.hdmi) else { continue }
            let bytes = Array(body)
            // Byte 8 says whether latencies follow: 0 is unknown, 255 no video, other values (value − 1) × 2 ms.
            guard bytes.count >= 9, bytes[7] & 0x80 != 0, (1...251).contains(bytes[8]) else { continue }
            videoLatency = .milliseconds((Int(bytes[8]) - 1) * 2)
        }
    }

    /// The displays connected to this computer, read from the kernel. Reads files; any thread.
    static var connected: [DisplayIdentification] {
        let folder = "/sys/class/drm"
        var found: [DisplayIdentification] = []
        FolderEntries.forEachName(in: folder) { connector in
            if !connector.hasPrefix("."), let bytes = contents("\(folder)/\(connector)/edid"),
                let display = DisplayIdentification(bytes)
            {
                found.append(display)
            }
            return found.count < 16
        }
        return found
    }

    /// Returns the stated video latency of the display with this name; nil if unknown. A single display matches any
    /// name.
    package static func statedLatency(of display: String) -> Duration? { stated(by: display)?.videoLatency }

    /// Returns whether the display with this name states that it always overscans. A single display matches any name.
    package static func isOverscanning(_ display: String) -> Bool { stated(by: display)?.isOverscanning ?? false }

    private static func stated(by display: String) -> DisplayIdentification? {
        let all = connected
        if all.count == 1 { return all[0] }
        return all.first { ($0.name.map { display.contains($0) }) ?? false }
    }

    private static func contents(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maxBytes)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + count, $0.count - count) }
            guard got > 0 else { break }
            count += got
        }
        return Array(bytes.prefix(count))
    }
}
