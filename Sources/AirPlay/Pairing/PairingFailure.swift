package import AirPlayWire
package import MediaCore

/// Why a speaker and this computer did not come to trust each other.
package struct PairingFailure: Error, Hashable, CustomStringConvertible {
    /// An open set: later versions may add codes without breaking anyone.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The speaker wants to be paired by PIN first.
        package static let pinRequired = Code(rawValue: "pin-required")
        /// The speaker wants its password.
        package static let passwordRequired = Code(rawValue: "password-required")
        /// The PIN or password that was given is wrong.
        package static let wrongCode = Code(rawValue: "wrong-code")
        /// The speaker refuses for now or for good; the sentence says which.
        package static let refused = Code(rawValue: "refused")
        /// A proof or signature does not match: this is not the speaker it was, or somebody sits in between.
        package static let notAuthentic = Code(rawValue: "not-authentic")
        /// The speaker's answer cannot be understood.
        package static let malformed = Code(rawValue: "malformed")
    }

    package let code: Code
    /// The message without the remedy.
    package let problem: String
    /// What a person can do, where a program can help with it.
    package let remedy: Remedy?
    /// One sentence that says what to do.
    package var message: String { remedy?.sentence(after: problem) ?? problem }
    /// What the speaker said, when it answered with a pairing error.
    package let pairingError: PairingError?
    /// The status of its answer, when that was no success.
    package let status: Int?

    package init(
        _ code: Code, _ message: String, remedy: Remedy? = nil, pairingError: PairingError? = nil, status: Int? = nil
    ) {
        self.code = code
        self.problem = message
        self.remedy = remedy
        self.pairingError = pairingError
        self.status = status
    }

    init(_ error: WireError) {
        let code: Code =
            switch error.code {
            case .notAuthentic: .notAuthentic
            case .pairingRefused: error.pairingError == .authentication ? .wrongCode : .refused
            default: .malformed
            }
        self.init(code, error.message, pairingError: error.pairingError)
    }

    package var description: String { message }

    /// Whether the speaker itself turned down the keys or code, so that others may be tried. Never true for answers
    /// that were cut, forged or lost.
    var isRejection: Bool {
        if let status { return status == 401 || status == 470 }
        return pairingError == .authentication || pairingError == .unknown
    }
}
