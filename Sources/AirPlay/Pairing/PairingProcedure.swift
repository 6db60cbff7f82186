package import AirPlayWire

/// Everything that has to be said to a speaker until there is a secret, whichever way it takes. No I/O: the caller
/// carries the messages, opens connections and asks the user.
///
///     var step = try procedure.begin()
///     loop: switch step { case .send(let request): step = try procedure.receive(reply to request) … }
package struct PairingProcedure: Sendable {
    package enum Goal: Sendable {
        /// Keys for a session: those of an earlier pairing, those of a password, or those everybody gets.
        case session(stored: PairedAccessory?, password: String?)
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
    /// The speaker itself said that it does not know the stored keys: forget them. Never set by a broken connection or
    /// by an answer whose signature is wrong.
    package private(set) var storedKeysRejected = false

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
        case .session(nil, let password): attempts = try plan(password: password)
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
        guard case .session(_, let password?) = goal else { return false }
        switch attempt?.kind {
        case .transient(let used): return used == password && password != PairSetup.transientPassword
        case .verify: return learned != nil
        default: return false
        }
    }

    // MARK: Ways

    /// What to try without stored keys, by what the speaker says about itself.
    private func plan(password: String?) throws(PairingFailure) -> [PairingAttempt.Kind] {
        let everybody = PairingAttempt.Kind.transient(password: PairSetup.transientPassword)
        if traits.needsPIN { throw Self.pinRequired }
        // A HomePod takes everybody's keys and asks for its password later, by digest.
        if traits.isHomePod { return [everybody] }
        guard traits.needsPassword else {
            return password.map { [everybody, .transient(password: $0)] } ?? [everybody]
        }
        guard let password else { throw Self.passwordRequired }
        // Third parties take the password in place of everybody's. Where only the status flag asks for it, it is a PIN
        // that never changes. A password that is set and not asked for is met with a refusal.
        let lasting = PairingAttempt.Kind.persistent(code: password)
        if traits.status?.contains(.passwordRequired) == true {
            return traits.isApple
                ? [lasting, everybody] : [.transient(password: password), lasting, everybody]
        }
        return [.transient(password: password), everybody]
    }

    /// What follows a refused attempt.
    private mutating func recover(from failure: PairingFailure) throws(PairingFailure) -> Step {
        let kind = attempt?.kind
        attempt = nil
        guard failure.isRejection else { throw failure }
        if case .session(_?, let password) = goal, case .verify = kind, learned == nil, !storedKeysRejected {
            storedKeysRejected = true
            do {
                attempts = try plan(password: password)
            } catch {
                throw PairingFailure(
                    error.code, "The speaker has forgotten this computer.", remedy: .pairAgain,
                    pairingError: failure.pairingError, status: failure.status)
            }
            return .reconnect
        }
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
        if failure.status == 470 { return Self.pinRequired }
        switch goal {
        case .registration:
            return PairingFailure(
                .wrongCode, "The speaker refuses this PIN; run the command again and type the PIN it shows then.",
                pairingError: failure.pairingError, status: failure.status)
        case .session(_, .some):
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
