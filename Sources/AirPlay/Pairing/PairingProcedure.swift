package import AirPlayTransport
package import AirPlayWire

/// The complete message sequence until a shared secret exists, for all pairing methods.
///
/// Performs no I/O: the caller sends the messages, opens connections and asks the user.
///
///     var step = try procedure.begin()
///     loop: switch step { case .send(let request): step = try procedure.receive(reply to request) … }
package struct PairingProcedure: Sendable {
    /// The purpose of the procedure.
    package enum Goal: Sendable {
        /// Keys for a session: by the stored pairing, otherwise by the password, otherwise by the well-known transient
        /// code.
        ///
        /// Stored secrets must be proved: no response or announcement makes it fall back to a weaker method.
        case session(stored: PairedAccessory?, password: String?)
        /// Checks a user-provided password. If it is refused, the well-known code is tried, to report that the speaker
        /// needs no password.
        case introduction(password: String)
        /// Permanent pairing by PIN. Without a PIN the speaker is asked to display one.
        case registration(pin: String?)
    }

    /// The next action of the caller.
    package enum Step: Sendable {
        /// Send this on the current connection and pass the response to `receive`.
        case send(PairingRequest)
        /// Close the connection, open a new one and call `reconnected`.
        ///
        /// A refused attempt makes most speakers unusable, and permanent pairing does not encrypt its own connection.
        case reconnect
        /// The speaker displays a PIN; pass the user's input to `answer`. The procedure itself has no timeout.
        case askForPIN
        /// The secret is established on the current connection.
        case finished(Result)
    }

    /// The result of a successful procedure.
    package struct Result: Sendable {
        /// The secret from which all keys of this connection derive, from the next byte on.
        package let secret: SecretBytes
        /// Whether the password was used, so that it should be stored.
        package let usedPassword: Bool
    }

    private let identity: PairingIdentity
    private let goal: Goal
    private let traits: SpeakerTraits
    /// The remaining methods, in order.
    private var attempts: [PairingAttempt.Kind] = []
    private var attempt: PairingAttempt?
    private var isStartingPIN = false

    /// New permanent keys, set once the speaker has stored them. Valid even if the procedure fails later.
    package private(set) var learned: PairedAccessory?

    /// Creates a procedure.
    ///
    /// - Parameters:
    ///   - identity: Our identity; only used for permanent keys.
    ///   - traits: The traits that determine the methods.
    package init(_ goal: Goal, identity: PairingIdentity, traits: SpeakerTraits) {
        self.goal = goal
        self.identity = identity
        self.traits = traits
    }

    /// Returns the first step, for a fresh connection.
    ///
    /// - Throws: `pairingRequired` if the speaker announces the requirement.
    package mutating func begin() throws(AirPlayError) -> Step {
        switch goal {
        case .session(let stored?, _): attempts = [.verify(stored)]
        case .session(nil, let password?): attempts = proofs(of: password)
        case .session(nil, nil):
            if traits.needsPIN { throw Self.pinRequired }
            if traits.needsPassword, !traits.isHomePod { throw Self.passwordRequired }
            attempts = [Self.transient]
        case .introduction(let password):
            if traits.needsPIN { throw Self.pinRequired }
            attempts = proofs(of: password) + [Self.transient]
        case .registration(nil):
            isStartingPIN = true
            return .send(PairingRequest("/pair-pin-start", kind: "3"))
        case .registration(let pin?): attempts = [.persistent(code: pin)]
        }
        return next()
    }

    /// Handles the response to the last request.
    ///
    /// - Throws: `AirPlayError` if no method is left. The connection must be closed.
    package mutating func receive(_ reply: PairingReply) throws(AirPlayError) -> Step {
        if isStartingPIN {
            // The status is ignored: speakers with a printed PIN display none.
            isStartingPIN = false
            return .askForPIN
        }
        guard attempt != nil else {
            throw AirPlayError(.protocolViolation, "The speaker sent a response before a request.")
        }
        do throws(AirPlayError) {
            switch try attempt!.receive(reply) {
            case .send(let request): return .send(request)
            case .secret(let secret): return .finished(Result(secret: secret, usedPassword: usesPassword))
            case .paired(let accessory):
                learned = accessory
                // Only verification proves that the speaker has stored the keys.
                attempts = [.verify(accessory)]
                return .reconnect
            }
        } catch {
            return try recover(from: error)
        }
    }

    /// Continues on a new connection.
    package mutating func reconnected() -> Step { next() }

    /// Continues with the PIN entered by the user.
    package mutating func answer(pin: String) -> Step {
        attempts = [.persistent(code: pin)]
        return .reconnect
    }

    private mutating func next() -> Step {
        let attempt = PairingAttempt(attempts.removeFirst(), identity: identity)
        self.attempt = attempt
        return .send(attempt.start())
    }

    /// Whether the speaker has rejected an attempt.
    private var wasRejected = false

    /// Whether the successful attempt used the password.
    private var usesPassword: Bool {
        let password: String
        switch goal {
        case .session(_, let given?), .introduction(let given): password = given
        case .session(_, nil), .registration: return false
        }
        switch attempt?.kind {
        case .transient(let used): return used == password && password != PairSetup.transientPassword
        case .verify: return learned != nil
        default: return false
        }
    }

    // MARK: Methods

    private static let transient = PairingAttempt.Kind.transient(password: PairSetup.transientPassword)

    /// Returns the methods that prove knowledge of the password to both sides.
    ///
    /// The speaker's traits determine their order and number, but a proof is always required.
    private func proofs(of password: String) -> [PairingAttempt.Kind] {
        // Third parties use the password in place of the well-known code. If only the status flag requires it, it is a
        // constant PIN.
        let transient = PairingAttempt.Kind.transient(password: password)
        let lasting = PairingAttempt.Kind.persistent(code: password)
        guard traits.status?.contains(.passwordRequired) == true else { return [transient] }
        return traits.isApple ? [lasting] : [transient, lasting]
    }

    /// Returns the step after a refused attempt.
    private mutating func recover(from failure: AirPlayError) throws(AirPlayError) -> Step {
        let kind = attempt?.kind
        attempt = nil
        // A speaker that counts wrong attempts may refuse the next method without testing it.
        let isBlocked = [.backOff, .maximumTries].contains(failure.pairingError) && wasRejected
        guard failure.isRejection || isBlocked else { throw failure }
        wasRejected = true
        if !attempts.isEmpty, !isBlocked { return .reconnect }
        throw explained(failure, after: kind)
    }

    /// Returns the last failure with a message that contains the remedy.
    private func explained(_ failure: AirPlayError, after kind: PairingAttempt.Kind?) -> AirPlayError {
        if learned != nil {
            return AirPlayError(
                .refused, "The speaker was paired and then did not recognise this computer; pair it again.",
                status: failure.status, pairingError: failure.pairingError)
        }
        // Not trusted: an attacker can claim this to receive the audio meant for the speaker.
        if case .session(_?, _) = goal {
            return AirPlayError(
                .notAuthentic, "The speaker no longer recognises this computer, or is not the one that was paired.",
                remedy: .pairAgain(), status: failure.status, pairingError: failure.pairingError)
        }
        if failure.status == 470 { return Self.pinRequired }
        switch goal {
        case .registration:
            return AirPlayError(
                .notAuthentic, "The speaker rejected this PIN; pair again and enter the new PIN that it shows.",
                status: failure.status, pairingError: failure.pairingError)
        case .session(_, .some), .introduction:
            return AirPlayError(
                .notAuthentic, "The speaker rejected this password.", remedy: .correctPassword,
                status: failure.status, pairingError: failure.pairingError)
        case .session(_, nil):
            // The well-known code is refused: an Apple TV requires a PIN, others a password.
            return traits.isApple || failure.status != 401 ? Self.pinRequired : Self.passwordRequired
        }
    }

    private static let pinRequired = AirPlayError(
        .pairingRequired, "The speaker plays only for paired senders.", remedy: .pairByPIN())
    private static let passwordRequired = AirPlayError(
        .pairingRequired, "The speaker requires its password.", remedy: .enterPassword())
}

extension AirPlayError {
    /// Whether the speaker itself rejected the keys or code, so that other methods may be tried. False for truncated,
    /// forged or missing responses.
    fileprivate var isRejection: Bool {
        if let status { return status == 401 || status == 470 }
        return pairingError == .authentication || pairingError == .unknown
    }
}
