internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering

/// Pairs speakers with the user of a running kiosk, for a controller: the keys are stored where this process reads
/// them. Any thread.
final class KioskPairing: Sendable {
    private struct Pending {
        var name: String
        /// Replies to the last command; nil after the reply.
        var reply: ControlReply?
        /// Whether a speaker displays a PIN that no controller has sent yet.
        var isAsking = false
        var pin: String?
        let interruption = Interruption()
    }

    /// How a command pairs: the meaning of its code.
    enum Method: String, CaseIterable {
        case password
        /// A PIN that the user knows already.
        case pin
        /// Without a code: removes the stored credentials.
        case forget
    }

    private let registry: OutputRegistry
    private let run: BackgroundWork
    /// How long a PIN is awaited: speakers display one for about a minute.
    private let timeout: Duration
    private let pending = Lock<Pending?>(nil)
    /// The speaker whose PIN did not arrive in time: a later one must not begin another pairing.
    private let expired = Lock<String?>(nil)
    private let answered = Signal()

    /// - Parameter run: Runs work that may block.
    init(_ registry: OutputRegistry, timeout: Duration = .seconds(120), run: @escaping BackgroundWork) {
        (self.registry, self.timeout, self.run) = (registry, timeout, run)
    }

    /// Pairs with a speaker. Without a code the speaker displays its PIN, with which the command is repeated; both
    /// receivers of a stereo pair display one, one after the other.
    ///
    /// - Parameters:
    ///   - code: The PIN that is awaited, or what the method says.
    ///   - reply: Called once, on any thread, with a sentence for the user.
    func pair(_ name: String, code: String?, _ method: Method = .password, _ reply: @escaping ControlReply) {
        enum Start { case answer, new, wantsPIN, busy }
        let isAsked = pending.withLock { $0?.name == name && $0?.isAsking == true }
        let isLate = expired.withLock { expired -> Bool in
            guard expired == name, !isAsked else { return false }
            expired = nil
            return code != nil && method == .password
        }
        guard !isLate else {
            return reply(.failure(ControlError(.unavailable, "the PIN is no longer awaited; begin the pairing again")))
        }
        let start = pending.withLock { pending -> Start in
            guard pending != nil else {
                pending = Pending(name: name, reply: reply)
                return .new
            }
            guard pending?.name == name, pending?.isAsking == true else { return .busy }
            // The controller that was asked may have ended.
            guard let code else { return .wantsPIN }
            pending?.isAsking = false
            pending?.pin = code
            pending?.reply = reply
            return .answer
        }
        switch start {
        case .answer: answered.raise()
        case .wantsPIN: reply(Self.wantsPIN)
        case .busy:
            reply(
                .failure(ControlError(.unavailable, "another pairing is in progress; try again later")))
        case .new:
            do throws(ExhaustionError) {
                try run("kiosk pairing", .normal) { [self] in finish(result(name, code, method)) }
            } catch { finish(.failure(ControlError(.failed, error.message))) }
        }
    }

    /// Cancels a pairing. Returns at once.
    func stop() {
        pending.withLock { $0 }?.interruption.raise(status: 0)
        answered.raise()
    }

    private func result(_ name: String, _ code: String?, _ method: Method) -> Result<JSONValue, ControlError> {
        guard let interruption = pending.withLock({ $0?.interruption }) else {
            return .failure(ControlError(.unavailable, "the kiosk ends"))
        }
        do throws(TalkieError) {
            let action: PairingAction =
                switch method {
                case .forget: .forget
                case .pin: .pin(code)
                case .password: code.map { .password($0) } ?? .pin(nil)
                }
            let outcome = try registry.pair(name, action, until: interruption) { [self] _ in
                pin(of: name, until: interruption)
            }
            return .success(.text(outcome.message))
        } catch { return .failure(ControlError(error)) }
    }

    private static let wantsPIN = Result<JSONValue, ControlError>.success(.object([("wants", .text("pin"))]))

    /// Returns the PIN that a controller sends for one receiver; nil if none arrives.
    private func pin(of name: String, until interruption: Interruption) -> String? {
        let reply = pending.withLock { pending -> ControlReply? in
            pending?.isAsking = true
            defer { pending?.reply = nil }
            return pending?.reply
        }
        reply?(Self.wantsPIN)
        let deadline = HostInstant.now.advanced(by: timeout)
        while HostInstant.now < deadline, interruption.status == nil {
            if let pin = pending.withLock({ $0?.pin.take() }) { return pin }
            answered.wait(until: deadline)
            answered.clear()
        }
        pending.withLock { $0?.isAsking = false }
        if interruption.status == nil { expired.withLock { $0 = name } }
        return nil
    }

    private func finish(_ result: Result<JSONValue, ControlError>) {
        let reply = pending.withLock { pending -> ControlReply? in
            defer { pending = nil }
            return pending?.reply
        }
        reply?(result)
    }
}

extension ControlError {
    /// The error of the program's own work, with its code: `KioskClient` ends with its exit status.
    init(_ error: TalkieError) { self.init(Code(rawValue: error.code.rawValue), error.message) }
}
