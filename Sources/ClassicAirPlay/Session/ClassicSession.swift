package import AirPlayTransport
internal import AirPlayWire
package import MediaCore
package import PTP

/// A session of this sender with one classic receiver. Requests run in order on a control thread.
///
/// Blocking methods must not be called on the control thread. A lost or ended session cannot be reused.
package final class ClassicSession: SenderSession {
    /// The parameters of a session.
    struct Configuration: Sendable {
        var address: SpeakerAddress
        var identity: SenderIdentity
        var method: ClassicMethod
        /// The receiver's password, if any.
        var password: String?
        /// Whether 24 bits per sample are requested, which classic AirPlay does not have.
        var wants24Bits = false
        /// The device identifier, if known.
        var id: SpeakerID?
        /// Looks up the current address by `id`; nil: only `address` is used.
        var network: (any SpeakerSource)?
        /// Receives the receiver's commands by DACP.
        var remote: RemoteControlServer?
        /// Records the conversation; nil: it is not recorded.
        var trace: ConversationTrace?
        /// The application's wording of remedies.
        var phrases = RemedyPhrases()
        /// Timeout for establishing a connection.
        var connectTimeout = Duration.seconds(3)
        /// Timeout since the last response, after which an unresponsive receiver counts as lost. Receivers hold two
        /// seconds of audio.
        var timeout = Duration.seconds(20)
    }

    /// State shared by the threads of the session. Any thread.
    final class Shared: Sendable {
        let status = SessionStatus()
        let sender = Lock<RealtimeSender?>(nil)
        let timing = Lock<TimingResponder?>(nil)
        let latency = Lock(ClassicLatency())

        /// Whether the receiver has sent no response and no timing request for a while.
        var isUnresponsive: Bool {
            status.isUnresponsive(
                lastSign: timing.withLock { $0 }.flatMap { timing in
                    timing.lastQuestion.map(timing.served.clock.machineInstant(of:))
                })
        }

        /// The synchronization state of the receiver's clock, and when it is ready, if known.
        var clock: (readiness: ClockReadiness, ready: HostInstant?) {
            timing.withLock { $0 }.map { $0.state(at: $0.served.clock.now) } ?? (.cold, nil)
        }
    }

    let configuration: Configuration
    let shared: Shared
    package let control: ControlThread<ClassicSessionCore>

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

    package var events: AsyncStream<SenderSessionEvent> { shared.status.events }
    package var address: SpeakerAddress { configuration.address }
    package var isLost: Bool { shared.status.isLost }
    package var isUnresponsive: Bool { shared.isUnresponsive }
    /// False: classic receivers announce no group.
    package var tellsGroup: Bool { false }
    package var clock: (readiness: ClockReadiness, ready: HostInstant?) { shared.clock }

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

    package func wakeWriter() { shared.sender.withLock { $0 }?.wake() }

    package func haltStream() { shared.sender.withLock { $0 }?.halt() }

    /// Sends what the receiver displays. Returns false if it refuses.
    func show(_ request: NowPlayingUpdates.Request) throws(AirPlayError) -> Bool {
        try control.perform { (core) throws(AirPlayError) in try core.show(request) }
    }

    /// Sets the volume in dB: −144 is mute, otherwise −30…0.
    func setVolume(decibels: Double) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in try core.setVolume(decibels: decibels) }
    }

    package func end() {
        control.post { $0.end() }
        control.close()
        shared.status.finish()
    }
}
