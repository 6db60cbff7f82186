internal import MediaCore

/// The text format of a state file. The first line contains kind and version, the last one a checksum; the lines
/// between are values.
///
///     talkie pairing 1
///     accessory-key 8C2D…
///     check 7F3A…
package struct StateRecord: Hashable {
    package let kind: String
    let version: Int
    /// Values by key. Unknown keys are preserved and not an error.
    package private(set) var values: [String: String] = [:]
    /// Keys in the order of the lines.
    private var order: [String] = []

    /// The reason why bytes are not a valid record.
    package enum Failure: Error, Hashable {
        case damaged
        /// A newer version wrote the record; the version number.
        case newer(Int)
    }

    package init(kind: String, version: Int) {
        self.kind = kind
        self.version = version
    }

    package subscript(key: String) -> String? {
        get { values[key] }
        set {
            guard let newValue else {
                if values.removeValue(forKey: key) != nil { order.removeAll { $0 == key } }
                return
            }
            // A line break in a value would start a new line.
            if values.updateValue(PrintableText.of(newValue), forKey: key) == nil { order.append(key) }
        }
    }

    /// Parses untrusted bytes.
    package init(kind: String, version: Int, decoding bytes: [UInt8]) throws(Failure) {
        self.init(kind: kind, version: version)
        guard bytes.count <= StateFolder.fileLimit, bytes.last == 0x0A else { throw .damaged }
        var lines = bytes.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false)
        let head = lines[0].split(separator: 0x20)
        guard head.count == 3, head[0].elementsEqual("talkie".utf8), head[1].elementsEqual(kind.utf8),
            let found = Int(String(decoding: head[2], as: UTF8.self)), found >= 1
        else { throw .damaged }
        // The format of later versions is unknown, so the checksum is not verified.
        guard found <= version else { throw .newer(found) }
        let check = lines.removeLast()
        let covered = bytes.count - check.count - 1
        guard String(decoding: check, as: UTF8.self) == "check \(Self.check(bytes.prefix(covered)))" else {
            throw .damaged
        }
        for line in lines.dropFirst() {
            let fields = line.split(separator: 0x20, maxSplits: 1, omittingEmptySubsequences: false)
            guard fields.count == 2 else { throw .damaged }
            self[String(decoding: fields[0], as: UTF8.self)] = String(decoding: fields[1], as: UTF8.self)
        }
    }

    /// Returns the text with its checksum.
    package func encoded() -> [UInt8] {
        var text = "talkie \(kind) \(version)\n"
        for key in order { if let value = values[key] { text += "\(key) \(value)\n" } }
        var bytes = Array(text.utf8)
        bytes += Array("check \(Self.check(bytes[...]))\n".utf8)
        return bytes
    }

    /// Returns an FNV-1a hash with 64 bits (RFC 9923). It detects disk errors and incomplete copies, not deliberate
    /// changes.
    package static func check(_ bytes: ArraySlice<UInt8>) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Hexadecimal.text(withUnsafeBytes(of: hash.bigEndian) { Array($0) })
    }
}

extension StateFolder {
    /// The result of reading a record.
    package enum Reading {
        case absent
        case record(StateRecord)
        /// The file was damaged and has been renamed; a sentence for the user.
        case damaged(String)
        /// A newer version of Talkie wrote the file, which is unchanged; a sentence for the user.
        case newer(String)
    }

    /// Reads and parses a record. Renames a damaged file (`setAside`).
    package func readRecord(_ name: String, kind: String, version: Int) throws(StateError) -> Reading {
        guard let bytes = try read(name) else { return .absent }
        do throws(StateRecord.Failure) {
            return .record(try StateRecord(kind: kind, version: version, decoding: bytes))
        } catch {
            switch error {
            case .newer(let found):
                return .newer(
                    "\(path)/\(name) was written by a newer Talkie (version \(found)) and is left unchanged; update Talkie or move the file away."
                )
            case .damaged:
                return .damaged(try damaged(name))
            }
        }
    }

    /// Returns the contents of a record; nil if there is none or it is unusable.
    ///
    /// - Parameter parse: Returns nil for damaged contents; the file is renamed then.
    /// - Returns: The contents, and a sentence for the user if the file is unusable.
    package func contents<Contents>(
        of name: String, kind: String, version: Int, _ parse: (StateRecord) -> Contents?
    ) -> (contents: Contents?, note: String?) {
        do throws(StateError) {
            switch try readRecord(name, kind: kind, version: version) {
            case .absent: return (nil, nil)
            case .damaged(let sentence), .newer(let sentence): return (nil, sentence)
            case .record(let record):
                if let contents = parse(record) { return (contents, nil) }
                return (nil, try damaged(name))
            }
        } catch { return (nil, error.message) }
    }

    /// Replaces a record, unless a newer version of Talkie wrote the existing one. Blocks on the lock and the disk.
    ///
    /// - Parameter syncsFolder: true waits until the replacement is durable. Otherwise a power failure within the file
    ///   system's commit interval may restore the old record, which is then complete.
    /// - Throws: `newer`, `busy` or `inaccessible`; the existing record is unchanged.
    package func replace(_ name: String, with record: StateRecord, syncsFolder: Bool = true) throws(StateError) {
        try exclusively { () throws(StateError) in
            if case .newer(let sentence) = try readRecord(name, kind: record.kind, version: record.version) {
                throw StateError(.newer, sentence)
            }
            try write(name, record.encoded(), syncsFolder: syncsFolder)
        }
    }

    /// Renames a damaged file and returns a sentence about it.
    package func damaged(_ name: String) throws(StateError) -> String {
        "\(path)/\(name) was damaged and is now \(try setAside(name)); its contents must be created again."
    }
}
