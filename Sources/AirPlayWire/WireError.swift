/// Why bytes from a speaker were refused, or why a message could not be made.
public struct WireError: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The bytes do not follow their format.
        public static let malformed = Code(rawValue: "malformed")
        /// The bytes follow their format and ask for more memory or depth than is granted.
        public static let limitExceeded = Code(rawValue: "limit-exceeded")
        /// A tag, proof or signature does not match: the peer is not who it says, or the stream was altered.
        public static let notAuthentic = Code(rawValue: "not-authentic")
        /// The speaker answered a pairing step with an error; see `pairingError`.
        public static let pairingRefused = Code(rawValue: "pairing-refused")
    }

    public let code: Code
    /// One sentence for a person.
    public let message: String
    /// What the speaker said, for `pairingRefused`.
    public let pairingError: PairingError?

    public init(_ code: Code, _ message: String, pairingError: PairingError? = nil) {
        self.code = code
        self.message = message
        self.pairingError = pairingError
    }

    public var description: String { message }

    static func malformed(_ message: String) -> WireError { WireError(.malformed, message) }
    static func tooMuch(_ message: String) -> WireError { WireError(.limitExceeded, message) }
}

/// What a speaker says when it refuses a pairing step (HomeKit Accessory Protocol, TLV type 0x07).
public struct PairingError: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let unknown = PairingError(rawValue: 1)
    /// Wrong PIN, password or key: ask again.
    public static let authentication = PairingError(rawValue: 2)
    /// Too many attempts: wait for the stated seconds.
    public static let backOff = PairingError(rawValue: 3)
    /// The speaker keeps no more pairings: one must be removed there.
    public static let maximumPeers = PairingError(rawValue: 4)
    /// Too many wrong attempts: the speaker must be switched off and on.
    public static let maximumTries = PairingError(rawValue: 5)
    public static let unavailable = PairingError(rawValue: 6)
    public static let busy = PairingError(rawValue: 7)
}
