internal import MediaCore

/// The text of one state file: a first line that names kind and version, a line for each value, and a last line that
/// tells whether the rest is whole.
///
///     talkie pairing 1
///     accessory-key 8C2D…
///     check 7F3A…
package struct StateRecord: Hashable {
    package let kind: String
    package let version: Int
    /// Lines the reader does not know are kept out of the way, not an error.
    package private(set) var values: [String: String] = [:]
    private var order: [String] = []

    package enum Failure: Error, Hashable {
        case damaged
        /// Another version wrote this; its number.
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
            // A line break in a value would begin a line of its own.
            if values.updateValue(PrintableText.of(newValue), forKey: key) == nil { order.append(key) }
        }
    }

    /// Reads bytes that may be anything.
    package init(kind: String, version: Int, decoding bytes: [UInt8]) throws(Failure) {
        self.init(kind: kind, version: version)
        guard bytes.count <= StateFolder.fileLimit, bytes.last == 0x0A else { throw .damaged }
        var lines = bytes.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false)
        let head = lines[0].split(separator: 0x20)
        guard head.count == 3, head[0].elementsEqual("talkie".utf8), head[1].elementsEqual(kind.utf8),
            let found = Int(String(decoding: head[2], as: UTF8.self)), found >= 1
        else { throw .damaged }
        // What a later version looks like is its own affair.
        guard found <= version else { throw .newer(found) }
        let check = lines.removeLast()
        let covered = bytes.count - check.count - 1
        guard String(decoding: check, as: UTF8.self) == "check \(Self.check(bytes.prefix(covered)))" else {
            throw .damaged
        }
        for line in lines.dropFirst() {
            let parts = line.split(separator: 0x20, maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw .damaged }
            self[String(decoding: parts[0], as: UTF8.self)] = String(decoding: parts[1], as: UTF8.self)
        }
    }

    package func encoded() -> [UInt8] {
        var text = "talkie \(kind) \(version)\n"
        for key in order { if let value = values[key] { text += "\(key) \(value)\n" } }
        var bytes = Array(text.utf8)
        bytes += Array("check \(Self.check(bytes[...]))\n".utf8)
        return bytes
    }

    /// FNV-1a with 64 bits (RFC 9923): finds decayed disks and torn copies; it is no protection against people.
    package static func check(_ bytes: ArraySlice<UInt8>) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return Hexadecimal.text(withUnsafeBytes(of: hash.bigEndian) { Array($0) })
    }
}

extension StateFolder {
    /// What reading a record came to.
    package enum Reading {
        case absent
        case record(StateRecord)
        /// It was damaged and has been set aside; a sentence.
        case damaged(String)
        /// A newer Talkie wrote it and it stays; a sentence.
        case newer(String)
    }

    package func readRecord(_ name: String, kind: String, version: Int) throws(StateError) -> Reading {
        guard let bytes = try read(name) else { return .absent }
        do throws(StateRecord.Failure) {
            return .record(try StateRecord(kind: kind, version: version, decoding: bytes))
        } catch {
            switch error {
            case .newer(let found):
                return .newer(
                    "\(path)/\(name) was written by a newer Talkie (version \(found)) and is left alone; update Talkie or move the file away."
                )
            case .damaged:
                return .damaged(try damaged(name))
            }
        }
    }

    /// Writes a record in the place of what was kept, unless a newer Talkie has written that.
    ///
    /// - Parameter syncsFolder: whether the new record is on the disk when this returns; without it, a power cut within the file
    ///   system's commit interval may leave the old one, whole.
    /// - Throws: `newer`, `busy` or `inaccessible`; what was there stays.
    package func replace(_ name: String, with record: StateRecord, syncsFolder: Bool = true) throws(StateError) {
        try exclusively { () throws(StateError) in
            if case .newer(let sentence) = try readRecord(name, kind: record.kind, version: record.version) {
                throw StateError(.newer, sentence)
            }
            try write(name, record.encoded(), syncsFolder: syncsFolder)
        }
    }

    /// Sets a file aside; the sentence that says so.
    package func damaged(_ name: String) throws(StateError) -> String {
        "\(path)/\(name) was damaged and is now \(try setAside(name)); what it held must be made anew."
    }
}
