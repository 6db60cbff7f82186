internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import SyncRendering

/// What all connections of a speaker share.
final class SpeakerCore: Sendable {
    private struct State {
        var volume: Double
        var paired: [[UInt8]: [UInt8]] = [:]
        var recordings = 0
        var busyUntil: HostInstant?
        var hasSession = false
        var isDead = false
    }

    /// Senders that are remembered; a real speaker has room for 16.
    private static let pairedLimit = 16

    let configuration: SpeakerConfiguration
    let identity: SpeakerIdentity
    let record: SpeakerRecord
    let ptp: PTPSockets?
    let codecs: (any AudioCodecs)?
    let oscillator: Oscillator
    private let state: Lock<State>

    init(
        configuration: SpeakerConfiguration, codecs: (any AudioCodecs)?, record: SpeakerRecord, ptp: PTPSockets?
    ) {
        self.configuration = configuration
        self.codecs = codecs
        self.record = record
        self.ptp = ptp
        identity = SpeakerIdentity(name: configuration.name)
        oscillator = Oscillator(
            partsPerMillion: configuration.quirks.clockPartsPerMillion, sender: configuration.senderClock)
        state = Lock(State(volume: configuration.volume))
    }

    var volume: Double {
        get { state.withLock { $0.volume } }
        set { state.withLock { $0.volume = newValue } }
    }

    func pairedKey(of sender: [UInt8]) -> [UInt8]? { state.withLock { $0.paired[sender] } }

    func keep(_ paired: PairedAccessory) {
        state.withLock { state in
            guard state.paired[paired.identifier] != nil || state.paired.count < Self.pairedLimit else { return }
            state.paired[paired.identifier] = paired.publicKey
        }
    }

    /// Where the next stream sounds: each gets a recording of its own.
    func nextOutput() -> SpeakerConfiguration.Output {
        guard case .file(let path) = configuration.output else { return configuration.output }
        let number = state.withLock { state in
            state.recordings += 1
            return state.recordings
        }
        guard number > 1 else { return .file(path: path) }
        return .file(path: path.hasSuffix(".wav") ? "\(path.dropLast(4))-\(number).wav" : "\(path)-\(number)")
    }

    /// A session plays, or another sender is said to have the speaker.
    var isBusy: Bool { state.withLock { $0.hasSession } || isTaken }

    var isTaken: Bool { state.withLock { $0.busyUntil.map { $0 > .now } ?? false } }

    func noteSession(_ active: Bool) { state.withLock { $0.hasSession = active } }

    /// Another sender has the speaker for a while.
    func take(for duration: Duration) { state.withLock { $0.busyUntil = .now.advanced(by: duration) } }

    var isDead: Bool {
        get { state.withLock { $0.isDead } }
        set { state.withLock { $0.isDead = newValue } }
    }
}
