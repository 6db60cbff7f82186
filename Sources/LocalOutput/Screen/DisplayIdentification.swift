internal import Glibc
internal import MediaCore

/// What a display says about itself (VESA E-EDID release A revision 2, with CTA-861 extensions): its name, and, if it
/// does, how long it takes to show a picture and whether it hides the edges. Bytes from outside: any of them, of any length, are read safely.
public struct DisplayIdentification: Sendable, Equatable {
    /// As on the box; nil when it does not say.
    public var name: String?
    /// From a picture's arrival to its light, for progressive pictures; nil when it does not say.
    public var videoLatency: Duration?
    /// Always hides the edges of pictures in its preferred timing, or, where it does not say that, in those of televisions. False where
    /// it does not, can be set to, or does not say.
    public var isOverscanning = false

    private static let blockSize = 128
    /// The base block and 255 extensions.
    private static let mostBytes = 256 * blockSize
    /// The registration of HDMI Licensing in its vendor-specific block (HDMI 1.3a, section 8.3.2).
    private static let hdmi: [UInt8] = [0x03, 0x0C, 0x00]

    /// - Returns: nil for what is no EDID.
    public init?(_ bytes: [UInt8]) {
        let header: [UInt8] = [0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0]
        guard bytes.count >= Self.blockSize, bytes.prefix(8).elementsEqual(header) else { return nil }
        // Four descriptors of 18 bytes; 0xFC is the name (E-EDID, section 3.10.3.4).
        for start in stride(from: 54, through: 108, by: 18)
        where bytes[start..<(start + 5)].elementsEqual([0, 0, 0, 0xFC, 0]) {
            let text = bytes[(start + 5)..<(start + 18)].prefix { $0 != 0x0A }.filter { (0x20...0x7E).contains($0) }
            let trimmed = String(decoding: text, as: UTF8.self).split(separator: " ").joined(separator: " ")
            if !trimmed.isEmpty { name = trimmed }
        }
        for block in 1..<max(2, min(bytes.count, Self.mostBytes) / Self.blockSize) {
            let start = block * Self.blockSize
            guard start + Self.blockSize <= bytes.count, bytes[start] == 2 else { continue }
            readDataBlocks(bytes[(start + 4)..<(start + max(4, min(127, Int(bytes[start + 2]))))])
        }
    }

    /// The data block collection (CTA-861, section 7.4): three bits of kind, five of length, then that many bytes.
    private mutating func readDataBlocks(_ collection: ArraySlice<UInt8>) {
        var rest = collection
        while let header = rest.first {
            let body = rest.dropFirst().prefix(Int(header & 31))
            rest = rest.dropFirst(1 + Int(header & 31))
            // The video capability data block (CTA-861-F, 7.5.6): extended tag 0, then two bits each for the preferred timing, for
            // those of computers and for those of televisions; 0 says nothing, 1 is always overscanned.
            if header >> 5 == 7, body.count >= 2, body.first == 0 {
                let flags = body[body.startIndex + 1]
                let preferred = flags >> 4 & 3
                isOverscanning = (preferred != 0 ? preferred : flags & 3) == 1
            }
            guard header >> 5 == 3, body.prefix(3).elementsEqual(Self.hdmi) else { continue }
            let bytes = Array(body)
            // Byte 8 says whether latencies follow; 0 is unknown, 255 no picture, others (value − 1) × 2 ms.
            guard bytes.count >= 9, bytes[7] & 0x80 != 0, (1...251).contains(bytes[8]) else { continue }
            videoLatency = .milliseconds((Int(bytes[8]) - 1) * 2)
        }
    }

    /// The displays connected to this computer, as the kernel hands their words on.
    public static var connected: [DisplayIdentification] {
        let folder = "/sys/class/drm"
        guard let handle = opendir(folder) else { return [] }
        defer { closedir(handle) }
        var found: [DisplayIdentification] = []
        while found.count < 16, let entry = readdir(handle) {
            let connector = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !connector.hasPrefix("."), let bytes = contents("\(folder)/\(connector)/edid"),
                let display = DisplayIdentification(bytes)
            else { continue }
            found.append(display)
        }
        return found
    }

    /// How long the display of this name takes, by its own word; where there is but one, its name does not matter.
    public static func statedLatency(of display: String) -> Duration? { stated(by: display)?.videoLatency }

    /// Returns whether the display of this name states that it always hides the edges; where there is but one, its name does not matter.
    public static func isOverscanning(_ display: String) -> Bool { stated(by: display)?.isOverscanning ?? false }

    private static func stated(by display: String) -> DisplayIdentification? {
        let all = connected
        if all.count == 1 { return all[0] }
        return all.first { ($0.name.map { display.contains($0) }) ?? false }
    }

    private static func contents(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: mostBytes)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + count, $0.count - count) }
            guard got > 0 else { break }
            count += got
        }
        return Array(bytes.prefix(count))
    }
}
