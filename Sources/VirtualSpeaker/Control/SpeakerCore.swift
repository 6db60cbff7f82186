internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets
internal import SyncRendering

/// The state shared by all connections of a speaker. Callable from any thread.
final class SpeakerCore: Sendable {
    private struct State {
        var volume: Double
        /// In order of pairing; each identifier once.
        var paired: [PairedAccessory] = []
        var recordings = 0
        var busyUntil: HostInstant?
        var hasSession = false
        var isDead = false
        var freeze: (began: HostInstant, ends: HostInstant)?
    }

    /// Maximum number of stored senders; the one paired longest ago is evicted.
    static let pairedLimit = 256

    let configuration: SpeakerConfiguration
    let identity: SpeakerIdentity
    let record: SpeakerRecord
    let ptp: PTPSockets?
    let codecs: (any AudioCodecs)?
    let oscillator: Oscillator
    /// Used by the threads of all connections.
    private let state: Lock<State>
    /// Used by the threads of all connections.
    private let attempts = Lock(PairingAttempts())
    /// Serializes writes to the speaker's memory, so that the newest state is written last.
    private let writing = Lock(CriticalSection())

    init(
        configuration: SpeakerConfiguration, codecs: (any AudioCodecs)?, record: SpeakerRecord, ptp: PTPSockets?
    ) {
        self.configuration = configuration
        self.codecs = codecs
        self.record = record
        self.ptp = ptp
        let (kept, note) = configuration.memory?.recall() ?? (nil, nil)
        identity = SpeakerIdentity(name: configuration.name, seed: kept?.seed)
        oscillator = Oscillator(
            partsPerMillion: configuration.quirks.clockPartsPerMillion, sender: configuration.senderClock)
        state = Lock(State(volume: configuration.volume, paired: (kept?.senders ?? []).suffix(Self.pairedLimit)))
        if let note { record.record(.damaged(reason: note)) }
        if kept == nil { remember(reported: note) }
    }

    var volume: Double {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = newValue } }
    }

    /// Returns the delay before a pairing step of an address may proceed, or nil. The call
    /// counts the challenge or proof.
    func judge(
        _ step: PairSetupResponder.Step, from address: NetworkAddress, at now: HostInstant = .now
    ) -> PairSetupResponder.Refusal? {
        let refusal = attempts.withLock { attempts in
            switch step {
            case .challenge: attempts.consumeChallenge(address, at: now)
            case .proof: attempts.countAttempt(address, at: now)
            }
        }
        return refusal.map { PairSetupResponder.Refusal($0.error, after: $0.wait) }
    }

    func refundProof(from address: NetworkAddress) { attempts.withLock { $0.succeeded(address) } }

    func pairedKey(of sender: [UInt8]) -> [UInt8]? {
        state.withLock { state in state.paired.first { $0.identifier == sender }?.publicKey }
    }

    func store(_ paired: PairedAccessory) {
        state.withLock { state in
            state.paired.removeAll { $0.identifier == paired.identifier }
            state.paired.append(paired)
            if state.paired.count > Self.pairedLimit { state.paired.removeFirst() }
        }
        remember()
    }

    /// Writes the key and the paired senders to the speaker's memory; may block on the disk.
    ///
    /// - Parameter reported: An error message that has been reported already.
    private func remember(reported: String? = nil) {
        guard let memory = configuration.memory else { return }
        let seed = identity.pairing.withSeed { Array($0) }
        let complaint = writing.withLock { _ in
            memory.save(SpeakerKeepsake(seed: seed, senders: state.withLock { $0.paired }))
        }
        if let complaint, complaint != reported { record.record(.damaged(reason: complaint)) }
    }

    /// Returns the output of the next stream. With a file output each stream gets its own file.
    func nextOutput() -> SpeakerConfiguration.Output {
        guard case .file(let path) = configuration.output else { return configuration.output }
        let number = state.withLock { state in
            state.recordings += 1
            return state.recordings
        }
        guard number > 1 else { return .file(path: path) }
        return .file(path: path.hasSuffix(".wav") ? "\(path.dropLast(4))-\(number).wav" : "\(path)-\(number)")
    }

    /// Whether a session exists or the quirk `takenOver` is in effect.
    var isBusy: Bool { state.withLock { $0.hasSession } || isTaken }

    var isTaken: Bool { state.withLock { $0.busyUntil.map { $0 > .now } ?? false } }

    func setHasSession(_ active: Bool) { state.withLock { $0.hasSession = active } }

    /// Simulates that another sender uses the speaker for `duration`.
    func occupy(for duration: Duration) { state.withLock { $0.busyUntil = .now.advanced(by: duration) } }

    /// Starts the quirk `freezes`: connections are not served for `duration`. Only the first call has an effect.
    func freeze(for duration: Duration) {
        state.withLock { if $0.freeze == nil { $0.freeze = (.now, .now.advanced(by: duration)) } }
    }

    var freeze: (began: HostInstant, ends: HostInstant)? { state.withLock { $0.freeze } }

    var isDead: Bool {
        get { state.withLock { $0.isDead } }
        set { state.withLock { $0.isDead = newValue } }
    }
}
