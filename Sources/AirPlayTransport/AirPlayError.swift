package import AirPlayWire
public import MediaCore
package import Sockets

/// An error of a session with an AirPlay speaker, or of pairing with it.
public struct AirPlayError: Error, Hashable, CustomStringConvertible {
    /// An error code. The set is open: later versions may add codes.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The stable identifier of the code.
        public let rawValue: String
        /// Creates a code from its identifier.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// No response from the address.
        public static let unreachable = Code(rawValue: "unreachable")
        /// A response did not arrive in time; the connection may still be usable.
        public static let timedOut = Code(rawValue: "timed-out")
        /// The connection is lost; a new one is required.
        public static let lost = Code(rawValue: "lost")
        /// The speaker ended the session: it restarted, or another sender took it over.
        public static let ended = Code(rawValue: "ended")
        /// The speaker refused a request; see `status`.
        public static let refused = Code(rawValue: "refused")
        /// The speaker requires a PIN or a password.
        public static let pairingRequired = Code(rawValue: "pairing-required")
        /// The PIN or password is wrong, or the speaker is not the paired one.
        public static let notAuthentic = Code(rawValue: "not-authentic")
        /// Another sender is playing on the speaker.
        public static let busy = Code(rawValue: "busy")
        /// The speaker has not measured our clock yet; retry with a later instant.
        public static let clockNotReady = Code(rawValue: "clock-not-ready")
        /// This computer cannot serve time to speakers or lacks the permission.
        public static let timingUnavailable = Code(rawValue: "timing-unavailable")
        /// The response is malformed.
        public static let protocolViolation = Code(rawValue: "protocol-violation")
        /// The request is invalid in the current state of the session.
        public static let outOfOrder = Code(rawValue: "out-of-order")
        /// The system cannot provide another thread or connection.
        public static let exhausted = Code(rawValue: "exhausted")
    }

    /// The error code.
    public let code: Code
    /// The message without the remedy.
    public let problem: String
    /// The action that resolves the error; nil if the application cannot assist.
    public let remedy: Remedy?
    /// A sentence for the user: the problem and the remedy.
    public var message: String { remedy?.sentence(after: problem) ?? problem }
    /// The RTSP status code of a refused request.
    public let status: Int?
    /// The error in the speaker's response to a pairing request, if any.
    package let pairingError: PairingError?

    /// Creates an error; `message` becomes `problem`.
    public init(_ code: Code, _ message: String, remedy: Remedy? = nil, status: Int? = nil) {
        self.init(code, message, remedy: remedy, status: status, pairingError: nil)
    }

    package init(
        _ code: Code, _ message: String, remedy: Remedy? = nil, status: Int?, pairingError: PairingError?
    ) {
        self.code = code
        self.problem = message
        self.remedy = remedy
        self.status = status
        self.pairingError = pairingError
    }

    /// Same as `message`.
    public var description: String { message }

    /// Whether authentication failed: every retry fails until the user pairs the speaker.
    package var isMistrust: Bool { code == .pairingRequired || code == .notAuthentic }

    /// Returns the error with the advice of its remedy replaced; a nil advice leaves it unchanged.
    package func saying(_ words: (Remedy) -> String?) -> Self {
        Self(
            code, problem, remedy: remedy.map { $0.saying(words($0)) }, status: status, pairingError: pairingError)
    }
}

extension AirPlayError {
    package init(_ error: ExhaustionError) {
        self.init(.exhausted, "Cannot connect to the speaker: \(error.message).")
    }

    /// Converts an error of a pairing message.
    package init(_ error: WireError) {
        let code: Code =
            switch error.code {
            case .notAuthentic: .notAuthentic
            case .pairingRefused: error.pairingError == .authentication ? .notAuthentic : .refused
            default: .protocolViolation
            }
        self.init(code, error.message, status: nil, pairingError: error.pairingError)
    }

    /// Converts an error of an established connection.
    package init(_ error: SocketError) {
        switch error.code {
        case .timedOut: self.init(.timedOut, "The speaker did not answer in time.")
        case .lost: self.init(.lost, "The connection to the speaker was lost (\(error.message)).")
        case .exhausted: self.init(.exhausted, "Cannot connect to the speaker: \(error.message).")
        default: self.init(.unreachable, "The speaker cannot be reached (\(error.message)).")
        }
    }
}
