package import AirPlayWire
internal import MediaCore
internal import PTP
package import Storage

/// The identity of this installation to all speakers: a number and a signing key, stored permanently in `identity`.
///
/// The number is the device ID, the PTP clock identity, the remote-control ID and the identifier in pairings; see
/// decision 0003.
package struct InstallationIdentity: Sendable {
    package static let file = "identity"
    package static let kind = "identity"
    package static let version = 1

    /// The identifier from which all others derive; not 0.
    package let number: UInt64
    /// The long-term signing key, with the number as identifier.
    package let pairing: PairingIdentity
    /// Whether it is stored; otherwise pairings made with it end with this process.
    package let isKept: Bool

    private init(number: UInt64, seed: SecretBytes, isKept: Bool) {
        self.number = number
        self.isKept = isKept
        pairing = PairingIdentity(identifier: Self.digits(number), seed: seed)
    }

    /// Returns the identity for a session.
    ///
    /// - Parameter name: The sender name that speakers display, normally the computer's name.
    package func sender(name: String) -> SenderIdentity { SenderIdentity(rawValue: number, name: name) }

    /// Reads the identity, or creates it on first use. Never fails: without storage the identity lasts for this
    /// process, which suffices for speakers without pairing.
    ///
    /// - Returns: The identity, and a sentence for the user about a problem.
    package static func load(from folder: StateFolder) -> (identity: InstallationIdentity, note: String?) {
        var note: String?
        do {
            switch try folder.readRecord(file, kind: kind, version: version) {
            case .record(let record):
                if let identity = InstallationIdentity(record) { return (identity, nil) }
                note = try folder.damaged(file)
            case .damaged(let sentence): note = sentence
            case .newer(let sentence): return (fresh(isKept: false), sentence)
            case .absent: break
            }
            let made = fresh(isKept: true)
            if try folder.create(file, made.record.encoded()) { return (made, note) }
            // Another process has created one concurrently; both must use the same identity.
            if case .record(let record) = try folder.readRecord(file, kind: kind, version: version),
                let identity = InstallationIdentity(record)
            {
                return (identity, note)
            }
            return (fresh(isKept: false), note)
        } catch {
            return (fresh(isKept: false), error.message)
        }
    }

    private static func fresh(isKept: Bool) -> InstallationIdentity {
        InstallationIdentity(
            number: SenderIdentity.random(name: "").clock.rawValue, seed: .random(count: 32), isKept: isKept)
    }

    private init?(_ record: StateRecord) {
        guard let number = record["number"].flatMap({ UInt64($0, radix: 16) }), number != 0,
            let seed = record["seed"].flatMap({ Hexadecimal.bytes($0) }), seed.count == 32
        else { return nil }
        self.init(number: number, seed: SecretBytes(seed), isKept: true)
    }

    private var record: StateRecord {
        var record = StateRecord(kind: Self.kind, version: Self.version)
        record["number"] = Self.digits(number)
        record["seed"] = pairing.withSeed { Hexadecimal.text($0) }
        return record
    }

    private static func digits(_ number: UInt64) -> String {
        Hexadecimal.text(withUnsafeBytes(of: number.bigEndian) { Array($0) })
    }
}
