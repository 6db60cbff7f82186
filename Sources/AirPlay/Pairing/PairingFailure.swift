package import AirPlayWire
package import MediaCore

/// An error of pairing a speaker with this computer.
package struct PairingFailure: Error, Hashable, CustomStringConvertible {
    /// An error code. The set is open: later versions may add codes.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The speaker requires pairing by PIN.
        package static let pinRequired = Code(rawValue: "pin-required")
        /// The speaker requires its password.
        package static let passwordRequired = Code(rawValue: "password-required")
        /// The PIN or password is wrong.
        package static let wrongCode = Code(rawValue: "wrong-code")
        /// The speaker refuses temporarily or permanently; the message states which.
        package static let refused = Code(rawValue: "refused")
        /// A proof or signature is wrong: another speaker, or a man in the middle.
        package static let notAuthentic = Code(rawValue: "not-authentic")
        /// The response is malformed.
        package static let malformed = Code(rawValue: "malformed")
    }

    package let code: Code
    /// The message without the remedy.
    package let problem: String
    /// The action that resolves the error; nil if the application cannot assist.
    package let remedy: Remedy?
    /// A sentence for the user: the problem and the remedy.
    package var message: String { remedy?.sentence(after: problem) ?? problem }
    /// The pairing error in the speaker's response, if any.
    let pairingError: PairingError?
    /// The status of an unsuccessful response.
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

    /// Whether the speaker itself rejected the keys or code, so that other methods may be tried. False for truncated,
    /// forged or missing responses.
    var isRejection: Bool {
        if let status { return status == 401 || status == 470 }
        return pairingError == .authentication || pairingError == .unknown
    }
}
