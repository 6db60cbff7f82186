internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Synchronization

/// A session of this sender with one classic receiver. Requests run in order on a control thread.
///
/// Blocking methods must not be called on the control thread. A lost or ended session cannot be reused.
final class ClassicSession: Sendable {
    /// The parameters of a session.
    struct Configuration: Sendable {
        var address: SpeakerAddress
        var identity: SenderIdentity
        var method: ClassicMethod
        /// The receiver's password, if any.
        var password: String?
        /// The device identifier, if known.
        var id: SpeakerID?
        /// Looks up the current address by `id`; nil: only `address` is used.
        var network: (any SpeakerSource)?
        /// Receives the receiver's commands by DACP.
        var remote: RemoteControlServer?
        /// The application's wording of remedies.
        var phrases = RemedyPhrases()
        /// Timeout for establishing a connection.
        var connectTimeout = Duration.seconds(3)
        /// Timeout since the last response, after which an unresponsive receiver counts as lost. Receivers hold two
        /// seconds of audio.
        var timeout = Duration.seconds(20)
    }

    /// An event of a session.
    enum Event: Sendable {
        /// A command from the receiver: a button, or its remote control.
        case command(RemoteCommand)
        /// The session has failed; sent once. The owner calls `end`.
        case lost(AirPlayError)
    }

    /// State shared by the threads of the session. Any thread.
    final class Shared: Sendable {
        let events: AsyncStream<Event>
        private let continuation: AsyncStream<Event>.Continuation
        private let commandRate = Lock(CommandRateLimit())
        private let failure = Lock<AirPlayError?>(nil)
        /// When the last request was answered, in nanoseconds of the machine's clock.
        private let answered = Atomic<Int64>(HostInstant.now.nanoseconds)
        let sender = Lock<RealtimeSender?>(nil)
        let timing = Lock<TimingResponder?>(nil)
        let latency = Lock(ClassicLatency())

        /// A receiver without any sign of life for this long is unresponsive.
        private static let answerTimeout: Duration = .seconds(5)

        init() { (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256)) }

        /// Publishes a command of the receiver, unless it sends too many or the session has failed: the stream drops
        /// its oldest event first, which would be the failure.
        func publish(_ command: RemoteCommand) {
            if !isLost, commandRate.withLock({ $0.admit(at: .now) }) { continuation.yield(.command(command)) }
        }

        /// Marks the session as failed. Only the first cause is reported.
        func fail(_ error: AirPlayError) {
            let isFirst = failure.withLock { failure in
                defer { failure = failure ?? error }
                return failure == nil
            }
            if isFirst { continuation.yield(.lost(error)) }
        }

        /// Marks the session as ended by us, so that the closed connection is not reported.
        func expectEnd() {
            failure.withLock { $0 = $0 ?? AirPlayError(.outOfOrder, "The session has ended.") }
        }

        var isLost: Bool { failure.withLock { $0 != nil } }

        func noteAnswer(at instant: HostInstant) { answered.store(instant.nanoseconds, ordering: .relaxed) }

        /// Whether the receiver has sent no response and no timing request for `answerTimeout`.
        var isUnresponsive: Bool {
            let answer = HostInstant(nanoseconds: answered.load(ordering: .relaxed))
            let request = timing.withLock { $0 }.flatMap { timing in
                timing.lastQuestion.map(timing.served.clock.machineInstant(of:))
            }
            return .now - max(answer, request ?? answer) >= Self.answerTimeout
        }

        /// The synchronization state of the receiver's clock, and when it is ready, if known.
        var clock: (readiness: ClockReadiness, ready: HostInstant?) {
            timing.withLock { $0 }.map { $0.state(at: $0.served.clock.now) } ?? (.cold, nil)
        }

        func finish() { continuation.finish() }
    }

    let configuration: Configuration
    let shared: Shared
    let control: ControlThread<ClassicSessionCore>

    /// Creates a session; its control thread starts at once.
    ///
    /// - Parameter served: The time for receivers, shared by the speakers of a group.
    init(_ configuration: Configuration, serving served: ServedTimeline) {
        let shared = Shared()
        (self.configuration, self.shared) = (configuration, shared)
        control = ControlThread { ClassicSessionCore(configuration: configuration, serving: served, shared: shared) }
    }

    deinit {
        // Ends the session if the owner did not call `end`. `close` blocks, so the thread is not joined here.
        let control = control
        control.post { $0.end() }
        control.closeWithoutWaiting()
    }

    /// Whether the session has failed or ended.
    var isLost: Bool { shared.isLost }

    /// Connects and sets up a stream. Blocks for up to a few seconds.
    ///
    /// - Parameters:
    ///   - first: The timestamp of the first frame.
    ///   - onWritable: Called on the sending thread once there is space again; must not block.
    func begin(
        _ format: StreamFormat, store: PacketStore, first: RTPTimestamp, onWritable: @escaping @Sendable () -> Void
    ) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in
            try core.begin(format, store: store, first: first, onWritable: onWritable)
        }
    }

    /// Returns whether the receiver asks for its password, which it accepted then. Blocks for a second.
    func checkPassword() throws(AirPlayError) -> Bool {
        try control.perform { (core) throws(AirPlayError) in try core.checkPassword() }
    }

    /// Wakes the sending thread for new packets in the store.
    func wakeWriter() { shared.sender.withLock { $0 }?.wake() }

    /// Stops sending until the next start; the receiver plays what it has.
    func haltStream() { shared.sender.withLock { $0 }?.halt() }

    /// Sends what the receiver displays. Returns false if it refuses.
    func show(_ request: NowPlayingUpdates.Request) throws(AirPlayError) -> Bool {
        try control.perform { (core) throws(AirPlayError) in try core.show(request) }
    }

    /// Sets the volume in dB: −144 is mute, otherwise −30…0.
    func setVolume(decibels: Double) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in try core.setVolume(decibels: decibels) }
    }

    /// Releases the receiver and closes all connections; blocks for about a second.
    func end() {
        control.post { $0.end() }
        control.close()
        shared.finish()
    }
}
