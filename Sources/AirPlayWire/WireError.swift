/// The error of a parser, a cryptographic check or an encoder.
package struct WireError: Error, Hashable, CustomStringConvertible {
    /// An open set of error codes; later versions may add codes.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes violate their format.
        package static let malformed = Code(rawValue: "malformed")
        /// The bytes are well-formed but exceed the granted memory or nesting depth.
        static let limitExceeded = Code(rawValue: "limit-exceeded")
        /// A tag, proof or signature does not match: the peer is not authentic, or the stream was altered.
        package static let notAuthentic = Code(rawValue: "not-authentic")
        /// The receiver answered a pairing step with an error; see `pairingError`.
        package static let pairingRefused = Code(rawValue: "pairing-refused")
    }

    package let code: Code
    /// One sentence for the user: what happened, then what to do.
    package let message: String
    /// The error code of the receiver, for `pairingRefused`.
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

/// The error code of a rejected pairing step (HomeKit Accessory Protocol, TLV type 0x07).
package struct PairingError: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let unknown = PairingError(rawValue: 1)
    /// Wrong PIN, password or key: ask the user again.
    package static let authentication = PairingError(rawValue: 2)
    /// Too many attempts: retry after the number of seconds in the message.
    package static let backOff = PairingError(rawValue: 3)
    /// The receiver can store no more pairings: one must be removed on it.
    static let maximumPeers = PairingError(rawValue: 4)
    /// Too many wrong attempts: the receiver must be power-cycled.
    package static let maximumTries = PairingError(rawValue: 5)
    static let unavailable = PairingError(rawValue: 6)
    package static let busy = PairingError(rawValue: 7)
}
