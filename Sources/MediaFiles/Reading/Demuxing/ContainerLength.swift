internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// The extent of an opened input according to its header.
struct ContainerLength {
    typealias Streams = UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>>

    private let address: InputAddress
    /// The container's name in libavformat.
    private let format: String
    /// The size of the file when it was opened; nil for other inputs.
    private let openedBytes: Int64?
    /// The byte position after the header, for an input without random access.
    private let headerEnd: Int64?

    init(_ address: InputAddress, format: String, openedBytes: Int64?, headerEnd: Int64?) {
        (self.address, self.format, self.openedBytes, self.headerEnd) = (address, format, openedBytes, headerEnd)
    }

    /// Whether all media data precede the header, in an input without random access.
    func isIndexLast(_ streams: Streams) -> Bool {
        guard let headerEnd, format.hasPrefix("mov,") else { return false }
        let first = streams.compactMap { avformat_index_get_entry($0, 0)?.pointee.pos.boundedBytes }.min()
        return first.map { $0 < headerEnd } ?? false
    }

    /// Returns an error if the header refers to bytes beyond the input's present size; nil if nothing is known to be
    /// missing.
    func shortfall(_ streams: Streams, size: Int64) -> MediaError? {
        var expected: Int64?
        if address.kind == .file, ["matroska", "wav", "avi", "asf"].contains(where: { format.hasPrefix($0) }) {
            expected = Self.read(address.path)
        }
        // Entries of FLV are the keyframes of its metadata.
        if format.hasPrefix("mov,") || format == "flv" {
            for stream in streams {
                let last = avformat_index_get_entries_count(stream) - 1
                guard last >= 0, let entry = avformat_index_get_entry(stream, last) else { continue }
                let (end, isTooLarge) = entry.pointee.pos.addingReportingOverflow(Int64(entry.pointee.size))
                if !isTooLarge { expected = max(expected ?? 0, end) }
            }
        }
        guard let expected, expected > size else { return nil }
        return ReadingErrors.incomplete(address, isTruncated: openedBytes.map { size < $0 } ?? false)
    }

    // MARK: Headers

    /// Programs that write to a pipe set the length to the largest value of the field, or slightly less.
    private static let largestRIFF: UInt32 = 0x7FFF_F000

    /// Returns the first byte position at which a Matroska, WAV, AVI or ASF file may end; nil if the header does not
    /// state it or is unreadable.
    private static func read(_ path: String) -> Int64? {
        // ignored: reading the film reports the error.
        guard let bytes = try? FileBytes.readRegular(path, maxBytes: 4096) else { return nil }
        return end(statedBy: bytes[...])
    }

    /// Returns the same from the first bytes of a file.
    static func end(statedBy bytes: ArraySlice<UInt8>) -> Int64? {
        if bytes.starts(with: Array("RIFF".utf8)), bytes.count >= 12 {
            let size = bytes[4..<8].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            // The length counts from byte 8 (Multimedia Programming Interface, RIFF). Some programs count from byte 0,
            // or a byte of padding that they do not write; eight bytes fewer are no loss.
            return size > 0 && size < largestRIFF ? Int64(size) : nil
        }
        if bytes.starts(with: asfHeader) { return asfEnd(bytes) }
        // The EBML header, then the segment (RFC 8794, 11.2; RFC 9559, 5.1).
        var rest = bytes
        guard readIdentifier(&rest) == 0x1A45_DFA3, let header = readLength(&rest), header < 4000,
            rest.count > Int(header)
        else { return nil }
        rest = rest.dropFirst(Int(header))
        guard readIdentifier(&rest) == 0x1853_8067, let length = readLength(&rest) else { return nil }
        return Int64(rest.startIndex) + length
    }

    /// The GUIDs of the header object and the file properties object (Advanced Systems Format specification, 10.1).
    private static let asfHeader = Hexadecimal.bytes("3026B2758E66CF11A6D900AA0062CE6C") ?? []
    private static let asfFileProperties = Hexadecimal.bytes("A1DCAB8C47A9CF118EE400C00C205365") ?? []

    /// Returns the file size in bytes, which follows the object's size and an identifier (3.2). It is invalid if the
    /// broadcast flag is set.
    private static func asfEnd(_ bytes: ArraySlice<UInt8>) -> Int64? {
        func number(_ offset: Int, _ count: Int) -> UInt64 {
            bytes[offset..<offset + count].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        let properties = bytes.indices.dropLast(103).first { bytes[$0..<$0 + 16].elementsEqual(asfFileProperties) }
        guard let properties, number(properties + 88, 4) & 1 == 0 else { return nil }
        let size = number(properties + 40, 8)
        return size > 0 && size < 1 << 48 ? Int64(size) : nil
    }

    private static func readIdentifier(_ bytes: inout ArraySlice<UInt8>) -> UInt32? {
        guard bytes.count >= 4 else { return nil }
        defer { bytes = bytes.dropFirst(4) }
        return bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Reads a variable-size integer (RFC 8794, 4); nil for an unknown length and for more than 2^48 bytes.
    private static func readLength(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
        guard let first = bytes.first, first != 0 else { return nil }
        let count = first.leadingZeroBitCount + 1
        guard bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        let marker = UInt64(1) << (7 * UInt64(count))
        let value = bytes.prefix(count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } ^ marker
        guard value != marker - 1, value < 1 << 48 else { return nil }
        return Int64(value)
    }
}
