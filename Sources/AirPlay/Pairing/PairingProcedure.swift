package import AirPlayWire

/// Everything that has to be said to a speaker until there is a secret, whichever way it takes. No I/O: the caller
/// carries the messages, opens connections and asks the user.
///
///     var step = try procedure.begin()
///     loop: switch step { case .send(let request): step = try procedure.receive(reply to request) … }
package struct PairingProcedure: Sendable {
    package enum Goal: Sendable {
        /// Keys for a session: those of an earlier pairing, else those of a password, else those everybody gets. What is
        /// kept must be proved: whatever a stranger answers or says of itself, nothing less follows.
        case session(stored: PairedAccessory?, password: String?)
        /// A person gives a speaker its password: tried first, and where it is refused the keys everybody gets, so that it
        /// can be said that the speaker plays without one.
        case introduction(password: String)
        /// A pairing by PIN that lasts. Without a PIN the speaker is asked to show one.
        case registration(pin: String?)
    }

    package enum Step: Sendable {
        /// Send this on the present connection and give the answer to `receive`.
        case send(PairingRequest)
        /// Close the connection, open a new one and call `reconnected`: a refused attempt leaves most speakers
        /// unusable, and a pairing does not encrypt the connection it was made on.
        case reconnect
        /// The speaker shows a PIN; give what the user read to `answer`. Minutes may pass.
        case askForPIN
        case finished(Result)
    }

    package struct Result: Sendable {
        /// Every key of this connection derives from it, from the next byte on.
        package let secret: SecretBytes
        /// Whether the password was of use, so that it is worth keeping.
        package let usedPassword: Bool
    }

    private let identity: PairingIdentity
    private let goal: Goal
    private let traits: SpeakerTraits
    /// What is left to try, first to last.
    private var attempts: [PairingAttempt.Kind] = []
    private var attempt: PairingAttempt?
    private var isStartingPIN = false

    /// New keys to keep, as soon as there are some, whatever happens afterwards: the speaker knows them already.
    package private(set) var learned: PairedAccessory?

    package init(_ goal: Goal, identity: PairingIdentity, traits: SpeakerTraits) {
        self.goal = goal
        self.identity = identity
        self.traits = traits
    }

    /// The first step, on a fresh connection.
    ///
    /// - Throws: `pinRequired` or `passwordRequired` when the speaker says beforehand that it will want one.
    package mutating func begin() throws(PairingFailure) -> Step {
        switch goal {
        case .session(let stored?, _): attempts = [.verify(stored)]
        case .session(nil, let password?): attempts = proofs(of: password)
        case .session(nil, nil):
            if traits.needsPIN { throw Self.pinRequired }
            if traits.needsPassword, !traits.isHomePod { throw Self.passwordRequired }
            attempts = [Self.everybody]
        case .introduction(let password):
            if traits.needsPIN { throw Self.pinRequired }
            attempts = proofs(of: password) + [Self.everybody]
        case .registration(nil):
            isStartingPIN = true
            return .send(PairingRequest("/pair-pin-start", kind: "3"))
        case .registration(let pin?): attempts = [.persistent(code: pin)]
        }
        return next()
    }

    /// The speaker's answer to the request that was sent last.
    ///
    /// - Throws: when nothing is left to try. The connection must be closed.
    package mutating func receive(_ reply: PairingReply) throws(PairingFailure) -> Step {
        if isStartingPIN {
            // Any status will do: speakers whose PIN is printed on them show none.
            isStartingPIN = false
            return .askForPIN
        }
        guard attempt != nil else { throw PairingFailure(.malformed, "The speaker answered before it was asked.") }
        do throws(PairingFailure) {
            switch try attempt!.receive(reply) {
            case .send(let request): return .send(request)
            case .secret(let secret): return .finished(Result(secret: secret, usedPassword: usesPassword))
            case .paired(let accessory):
                learned = accessory
                // Only now is it known that the speaker kept them too.
                attempts = [.verify(accessory)]
                return .reconnect
            }
        } catch {
            return try recover(from: error)
        }
    }

    /// A new connection is open.
    package mutating func reconnected() -> Step { next() }

    /// What the user read from the speaker.
    package mutating func answer(pin: String) -> Step {
        attempts = [.persistent(code: pin)]
        return .reconnect
    }

    private mutating func next() -> Step {
        let attempt = PairingAttempt(attempts.removeFirst(), identity: identity)
        self.attempt = attempt
        return .send(attempt.start())
    }

    /// Whether the attempt that succeeded stands on the password.
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

    // MARK: Ways

    private static let everybody = PairingAttempt.Kind.transient(password: PairSetup.transientPassword)

    /// The ways in which a speaker can show that it knows the password; each proves it to both sides. What the speaker
    /// says about itself decides their order and number, never whether it has to prove anything.
    private func proofs(of password: String) -> [PairingAttempt.Kind] {
        // Third parties take the password in place of everybody's. Where only the status flag asks for it, it is a PIN
        // that never changes.
        let transient = PairingAttempt.Kind.transient(password: password)
        let lasting = PairingAttempt.Kind.persistent(code: password)
        guard traits.status?.contains(.passwordRequired) == true else { return [transient] }
        return traits.isApple ? [lasting] : [transient, lasting]
    }

    /// What follows a refused attempt.
    private mutating func recover(from failure: PairingFailure) throws(PairingFailure) -> Step {
        let kind = attempt?.kind
        attempt = nil
        guard failure.isRejection else { throw failure }
        if !attempts.isEmpty { return .reconnect }
        throw explained(failure, after: kind)
    }

    /// The last failure in words that say what the user can do.
    private func explained(_ failure: PairingFailure, after kind: PairingAttempt.Kind?) -> PairingFailure {
        if learned != nil {
            return PairingFailure(
                .refused, "The speaker was paired and then did not recognise this computer; pair it again.",
                pairingError: failure.pairingError, status: failure.status)
        }
        // Anybody can say so, who wants the sound that is meant for the speaker.
        if case .session(_?, _) = goal {
            return PairingFailure(
                .notAuthentic, "The speaker does not know this computer any more, or is not the one that was paired.",
                remedy: .pairAgain(), pairingError: failure.pairingError, status: failure.status)
        }
        if failure.status == 470 { return Self.pinRequired }
        switch goal {
        case .registration:
            return PairingFailure(
                .wrongCode, "The speaker refuses this PIN; run the command again and type the PIN it shows then.",
                pairingError: failure.pairingError, status: failure.status)
        case .session(_, .some), .introduction:
            return PairingFailure(
                .wrongCode, "The speaker refuses this password.", remedy: .correctPassword,
                pairingError: failure.pairingError, status: failure.status)
        case .session(_, nil):
            // Everybody's password is refused: an Apple TV says so for a PIN, others for a password.
            return traits.isApple || failure.status != 401 ? Self.pinRequired : Self.passwordRequired
        }
    }

    private static let pinRequired = PairingFailure(
        .pinRequired, "The speaker plays only for those it was paired with.", remedy: .pairByPIN())
    private static let passwordRequired = PairingFailure(
        .passwordRequired, "The speaker wants its password.", remedy: .givePassword())
}
