internal import AirPlay
internal import MediaCore
internal import Storage

/// The persistent state of software speakers with a PIN, one file each in `receivers/`, named by the speaker's name.
///
/// A damaged file is moved aside and the speaker starts without state. A file of a newer version is left unchanged and
/// the speaker has no state in this process. Methods block on the disk.
package struct SoftwareSpeakerStore: Sendable {
    /// The key of a speaker, and its paired senders.
    package struct Content: Hashable, Sendable {
        /// 32 bytes; secret.
        package var seed: [UInt8]
        /// Name and key (32 bytes) of each sender, oldest pairing first.
        package var senders: [Sender]

        package init(seed: [UInt8], senders: [Sender]) {
            self.seed = seed
            self.senders = senders
        }
    }

    /// A paired sender.
    package struct Sender: Hashable, Sendable {
        package var name: [UInt8]
        package var key: [UInt8]

        package init(name: [UInt8], key: [UInt8]) {
            self.name = name
            self.key = key
        }
    }

    private static let kind = "receiver"
    private static let version = 1

    private let folder: StateFolder
    private let file: String

    /// Creates a store.
    ///
    /// - Parameter name: The speaker's name, 1 to 63 bytes.
    package init(name: String) { self.init(name: name, folder: .standard()) }

    init(name: String, folder: StateFolder) {
        self.folder = folder
        file = "receivers/" + Self.text(Array(name.utf8))
    }

    /// Reads the state.
    ///
    /// - Returns: Nil if there is none or the file is unusable; then with a sentence for the user.
    package func read() -> (content: Content?, note: String?) {
        let (content, note) = folder.contents(of: file, kind: Self.kind, version: Self.version, Self.content)
        return (content, note)
    }

    private static func content(of record: StateRecord) -> Content? {
        guard let seed = record["seed"].flatMap({ Self.bytes($0) }), seed.count == 32 else { return nil }
        var senders: [Sender] = []
        while let line = record["sender-\(senders.count + 1)"] {
            let fields = line.split(separator: " ").map { Self.bytes(String($0)) }
            guard fields.count == 2, let name = fields[0], let key = fields[1], key.count == 32 else { break }
            senders.append(Sender(name: name, key: key))
        }
        return Content(seed: seed, senders: senders)
    }

    /// Replaces the state.
    ///
    /// - Returns: A sentence for the user if it cannot be stored.
    package func write(_ content: Content) -> String? {
        do throws(StateError) {
            var senders = content.senders[...]
            var record = Self.record(content.seed, senders)
            // The file size is limited and names can be long: the oldest pairings are dropped.
            while record.encoded().count > StateFolder.fileLimit, !senders.isEmpty {
                senders = senders.dropFirst()
                record = Self.record(content.seed, senders)
            }
            try folder.replace(file, with: record)
            return nil
        } catch {
            return error.message
        }
    }

    private static func record(_ seed: [UInt8], _ senders: ArraySlice<Sender>) -> StateRecord {
        var record = StateRecord(kind: kind, version: version)
        record["seed"] = text(seed)
        for (index, sender) in senders.enumerated() {
            record["sender-\(index + 1)"] = text(sender.name) + " " + text(sender.key)
        }
        return record
    }

    private static func text(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
    }

    private static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0]! << 4 | digits[$0 + 1]!) }
    }
}
