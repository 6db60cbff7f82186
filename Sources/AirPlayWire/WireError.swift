/// Why bytes from a speaker were refused, or why a message could not be made.
package struct WireError: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes do not follow their format.
        package static let malformed = Code(rawValue: "malformed")
        /// The bytes follow their format and ask for more memory or depth than is granted.
        package static let limitExceeded = Code(rawValue: "limit-exceeded")
        /// A tag, proof or signature does not match: the peer is not who it says, or the stream was altered.
        package static let notAuthentic = Code(rawValue: "not-authentic")
        /// The speaker answered a pairing step with an error; see `pairingError`.
        package static let pairingRefused = Code(rawValue: "pairing-refused")
    }

    package let code: Code
    /// One sentence for a person.
    package let message: String
    /// What the speaker said, for `pairingRefused`.
    package let pairingError: PairingError?

    package init(_ code: Code, _ message: String, pairingError: PairingError? = nil) {
        self.code = code
        self.message = message
        self.pairingError = pairingError
    }

    package var description: String { message }

    static func malformed(_ message: String) -> WireError { WireError(.malformed, message) }
    static func tooMuch(_ message: String) -> WireError { WireError(.limitExceeded, message) }
}

/// What a speaker says when it refuses a pairing step (HomeKit Accessory Protocol, TLV type 0x07).
package struct PairingError: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let unknown = PairingError(rawValue: 1)
    /// Wrong PIN, password or key: ask again.
    package static let authentication = PairingError(rawValue: 2)
    /// Too many attempts: wait for the stated seconds.
    package static let backOff = PairingError(rawValue: 3)
    /// The speaker keeps no more pairings: one must be removed there.
    package static let maximumPeers = PairingError(rawValue: 4)
    /// Too many wrong attempts: the speaker must be switched off and on.
    package static let maximumTries = PairingError(rawValue: 5)
    package static let unavailable = PairingError(rawValue: 6)
    package static let busy = PairingError(rawValue: 7)
}
