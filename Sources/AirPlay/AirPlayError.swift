public import MediaCore
package import Sockets

/// Why a speaker cannot be used, or cannot be used any longer.
public struct AirPlayError: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Nothing answers at the address.
        public static let unreachable = Code(rawValue: "unreachable")
        /// An answer did not come in time; the connection may still be good.
        public static let timedOut = Code(rawValue: "timed-out")
        /// The connection is gone: connect anew.
        public static let lost = Code(rawValue: "lost")
        /// The speaker ended the session by itself: it was restarted, or somebody else has taken it.
        public static let ended = Code(rawValue: "ended")
        /// The speaker refused a request; see `status`.
        public static let refused = Code(rawValue: "refused")
        /// The speaker wants a PIN or a password first.
        public static let pairingRequired = Code(rawValue: "pairing-required")
        /// The PIN or password is wrong, or the speaker is not the one it was.
        public static let notAuthentic = Code(rawValue: "not-authentic")
        /// Somebody else is playing there.
        public static let busy = Code(rawValue: "busy")
        /// The speaker has not measured our clock yet: try again with a later instant.
        public static let clockNotReady = Code(rawValue: "clock-not-ready")
        /// This computer may not or cannot serve time to speakers.
        public static let timingUnavailable = Code(rawValue: "timing-unavailable")
        /// The speaker answered what cannot be understood.
        public static let protocolViolation = Code(rawValue: "protocol-violation")
        /// A request that makes no sense in the session's present state.
        public static let outOfOrder = Code(rawValue: "out-of-order")
        /// This computer gives the program no further thread or connection now.
        public static let exhausted = Code(rawValue: "exhausted")
    }

    public let code: Code
    /// The message without the remedy.
    public let problem: String
    /// What a person can do, where a program can help with it.
    public let remedy: Remedy?
    /// One sentence for a person: what is wrong and what to do.
    public var message: String { remedy?.sentence(after: problem) ?? problem }
    /// The speaker's status code, for refusals.
    public let status: Int?

    public init(_ code: Code, _ message: String, remedy: Remedy? = nil, status: Int? = nil) {
        self.code = code
        self.problem = message
        self.remedy = remedy
        self.status = status
    }

    public var description: String { message }

    /// Speaker and computer do not trust each other: no other attempt will do better, before a person has paired them.
    var isMistrust: Bool { code == .pairingRequired || code == .notAuthentic }

    /// The same error with its remedy in other words.
    func saying(_ words: (Remedy) -> String?) -> Self {
        Self(code, problem, remedy: remedy.map { $0.saying(words($0)) }, status: status)
    }
}

extension AirPlayError {
    init(_ error: ExhaustionError) {
        self.init(.exhausted, "The speaker cannot be connected to: \(error.message).")
    }

    /// A connection to a speaker that failed while it was used.
    package init(_ error: SocketError) {
        switch error.code {
        case .timedOut: self.init(.timedOut, "The speaker did not answer in time.")
        case .lost: self.init(.lost, "The connection to the speaker broke (\(error.message)).")
        case .exhausted: self.init(.exhausted, "The speaker cannot be connected to: \(error.message).")
        default: self.init(.unreachable, "The speaker cannot be reached (\(error.message)).")
        }
    }
}
