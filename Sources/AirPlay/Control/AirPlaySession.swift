package import AirPlayTransport
package import AirPlayWire
package import MediaCore
package import PTP

/// A session of this sender with one speaker. Requests run in order on a control thread; audio has its own thread.
///
/// `connect`, `startStream`, `play` and the other requests block until the response or their deadline. `write` never
/// blocks. All members are callable from any thread; blocking methods must not be called on the control thread. A lost
/// or ended session cannot be reused.
package final class AirPlaySession: SenderSession {
    /// The parameters of a session.
    package struct Configuration: Sendable {
        var address: SpeakerAddress
        package var identity: SenderIdentity
        /// The keys of an earlier PIN pairing; nil: keys are agreed on for this session only.
        var pairing: (identity: PairingIdentity, accessory: PairedAccessory)?
        /// The identity to register with the speaker if its password requires persistent pairing.
        var pairingIdentity: PairingIdentity?
        /// The speaker's password, if any.
        package var password: String?
        /// The known traits of the speaker, updated by its `/info` response.
        var traits = SpeakerTraits()
        /// The stream type and the timing protocol.
        package var route = Route.buffered
        /// Whether the user wants no other route.
        var isRouteRequested = false
        /// Called after a refusal or a close has changed the route of an output, on the thread that opens or closes it.
        var onRouteChange: @Sendable () -> Void = {}
        /// The speakers that play in sync with this one.
        package var peers = PTPPeerGroup()
        /// Collects what the sessions reveal about the speaker.
        var observations = SpeakerObservations()
        /// What the speaker stated about its own delay at its last use.
        var stated = StatedLatency()
        /// The known PTP behaviour of the speaker.
        package var readiness = PeerReadiness()
        /// The clock role of this computer.
        ///
        /// `follower`: the speaker is known to require its own clock and is followed at once. Otherwise this is
        /// detected within a few seconds.
        package var clockRole = ClockRole.grandmaster
        /// The device identifier, if known.
        package var id: SpeakerID?
        /// Looks up the current address by `id`; nil: only `address` is used.
        package var network: (any SpeakerSource)?
        /// Timeout since the last response, after which an unresponsive speaker counts as lost.
        ///
        /// A speaker with minutes of buffered audio keeps playing during a network outage, and continues without a gap
        /// if the session survives: shairport-sync ends one without requests for 60 s (`session_timeout`).
        /// On kernels without a configurable limit (`TCPSocket.Persistence`) TCP retransmits 25 and 51 s after the
        /// first loss.
        package var timeout: Duration { ownTimeout ?? (route == .buffered ? .seconds(57) : .seconds(35)) }
        /// Replaces that timeout, for tests.
        package var ownTimeout: Duration?
        /// Receives the speaker's commands by DACP; nil: only the event channel does.
        package var remote: RemoteControlServer?
        /// The application's wording of remedies.
        var phrases = RemedyPhrases()
        /// Timeout for establishing a connection.
        var connectTimeout = Duration.seconds(3)
        /// Records the conversation; nil: it is not recorded.
        var trace: ConversationTrace?
        /// Initial counters of the stream; nil: random, as RFC 3550, section 5.1 requires.
        var firstCounters: StreamCounters?
        /// Maximum age of an anchor before it is renewed; nil: `SentAnchor.longestReach`.
        var longestAnchor: Duration?
        /// The device identifier that `/info` must return; nil: any.
        package var expected: SpeakerID?

        package init(address: SpeakerAddress, identity: SenderIdentity) {
            self.address = address
            self.identity = identity
        }
    }

    /// The result of `write`.
    package enum WriteResult: Sendable {
        /// The packet is queued.
        case accepted
        /// No space; `room` is called once there is some.
        case full
        /// There is no stream, or the speaker closed it.
        case closed
    }

    package let configuration: Configuration
    private let shared: SessionShared
    package let control: ControlThread<SessionCore>

    /// Creates a session; its control thread starts at once.
    ///
    /// - Parameter clocks: The PTP instances of this process, shared by all speakers of a group.
    package init(_ configuration: Configuration, clocks: PTPDirectory) {
        self.configuration = configuration
        let shared = SessionShared()
        self.shared = shared
        control = ControlThread { SessionCore(configuration: configuration, clocks: clocks, shared: shared) }
    }

    deinit {
        // Ends the session if the owner did not call `end`. `close` blocks, so the thread is not joined here.
        configuration.peers.remove(self)
        let control = control
        control.post { $0.end() }
        control.closeWithoutWaiting()
    }

    package var tellsGroup: Bool { shared.tellsGroup }

    /// Whether the speaker shows no sign of life; it may still play its buffered audio. Any thread.
    package var isUnresponsive: Bool { shared.isUnresponsive }

    package var events: AsyncStream<SenderSessionEvent> { shared.status.events }
    package var address: SpeakerAddress { configuration.address }

    /// Whether the session has failed or ended.
    package var isLost: Bool { shared.status.isLost }

    /// Connects, pairs and sets up the session. Blocks for up to a few seconds.
    ///
    /// - Parameter busy: Fails with the code `busy` if the speaker reports any of these flags.
    package func connect(yieldingTo busy: StatusFlags = []) throws(AirPlayError) -> ReceiverInfo {
        do throws(AirPlayError) {
            let info = try control.perform { (core) throws(AirPlayError) in try core.connect(yieldingTo: busy) }
            configuration.observations.recordConnection()
            return info
        } catch {
            configuration.observations.recordFailure(error, yieldingTo: busy)
            // ignored: a control thread that has ended has not authenticated this sender.
            if (try? control.perform({ $0.isAuthenticated })) == true {
                configuration.observations.recordStreamRefusal(error)
            }
            throw error
        }
    }

    /// Returns a store for a route.
    ///
    /// Buffered: the capacity of a speaker, so that all of it can be sent again. The number of entries exceeds the
    /// packets of eight minutes of AAC. Realtime: eight seconds of lossless audio.
    private static func emptyStore(_ route: Route) -> PacketStore {
        route == .buffered
            ? PacketStore(bytes: 8 << 20, packets: 1 << 15) : PacketStore(bytes: 3 << 19, packets: 1 << 10)
    }

    /// Sets up the stream of the configured route: buffered (type 103) or realtime (type 96).
    ///
    /// - Parameter onWritable: Called on the sending thread once there is space again after `full`; must not block.
    package func startStream(
        _ format: StreamFormat, onWritable: @escaping @Sendable () -> Void = {}
    ) throws(AirPlayError) -> StreamSetup {
        try startStream(format, store: Self.emptyStore(configuration.route), onWritable: onWritable)
    }

    /// Sets up a stream that continues with the packets of an earlier session.
    func startStream(
        _ format: StreamFormat, store: PacketStore, onWritable: @escaping @Sendable () -> Void
    ) throws(AirPlayError) -> StreamSetup {
        // Added first, so that the peer lists of this speaker and the others include it.
        if case .ptp(_, let address) = shared.clock { configuration.peers.add(self, at: address) }
        do throws(AirPlayError) {
            return try control.perform { (core) throws(AirPlayError) in
                try core.startStream(format, store: store, onWritable: onWritable)
            }
        } catch {
            configuration.observations.recordStreamRefusal(error)
            throw error
        }
    }

    package func haltStream() { shared.writer?.halt() }

    /// Sends the changed peer list to the speaker. Returns at once.
    func sharePeersAgain() {
        // ignored: a lost session sends its peers when it is established again.
        control.post { core in try? core.sharePeers() }
    }

    package func wakeWriter() { shared.writer?.wake() }

    /// The packets of the current stream.
    var store: PacketStore? { shared.writer?.store }

    /// Queues one encoded packet. Never blocks.
    ///
    /// - Parameter timestamp: The timestamp of the packet's first decoded frame.
    func write(_ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp) -> WriteResult {
        guard let writer = shared.writer, !writer.isOver else { return .closed }
        // Larger than any audio packet: the stream cannot carry it, and dropping it is harmless.
        guard packet.count <= BufferedPacketizer.payloadLimit else { return .accepted }
        guard writer.store.append(packet, timestamp: timestamp) else { return .full }
        writer.wake()
        return .accepted
    }

    /// Queues one encoded packet from an array. Never blocks.
    package func write(_ packet: [UInt8], timestamp: RTPTimestamp) -> WriteResult {
        packet.withUnsafeBytes { write($0, timestamp: timestamp) }
    }

    /// The number of retransmitted packets of a realtime stream.
    package var resentPackets: Int { shared.writer?.resentPackets ?? 0 }

    /// Whether the speaker measures the clock that synchronizes it, or has asked for a packet. Never blocks.
    var isConfirmed: Bool { (shared.clock?.isAsked ?? false) || resentPackets > 0 }

    /// The number of audio bytes passed to the kernel since the stream started.
    package var sentBytes: Int64 { shared.writer?.sentBytes ?? 0 }

    /// The number of queued packets not yet passed to the kernel.
    package var queuedPackets: Int { shared.writer?.store.waiting ?? 0 }

    /// Maps instants of perception to those sent to the speaker; nil while unknown. Never blocks.
    var timeline: PTPTimeline? { shared.clock?.timeline }

    /// Adjusts the rate of the time served to the speaker; see `ServedTimeline.adjust`. Never blocks.
    func adjustClock(by rateOffset: Double) -> Bool { shared.clock?.served.adjust(by: rateOffset) ?? false }

    /// The synchronization state of the speaker's clock, and when it is ready, if known. Never blocks.
    package var clock: (readiness: ClockReadiness, ready: HostInstant?) {
        shared.clock?.state ?? (.cold, nil)
    }

    /// The minimum times for start commands.
    var startLeads: StartLeads { StartLeads(shared.clock) }

    /// The output latency that the speaker states; nil if it states none. Never blocks.
    var outputLatency: Duration? { shared.outputLatency }

    /// By how much the instants sent to the speaker are earlier because of it; zero if the speaker subtracts it itself.
    /// Never blocks.
    var subtractedLatency: Duration { shared.clock?.outputLatency ?? .zero }

    /// The path delay sent to the speaker, which adds it to our time; zero if it measures the path itself.
    var pathCorrection: Duration { shared.clock?.pathCorrection ?? .zero }

    /// Starts playback or moves its anchor: the frame `position` is heard at `instant`.
    ///
    /// At least half a second of audio must be sent first: one receiver terminates without any.
    /// - Throws: `clockNotReady` if the speaker must be asked again with a later instant.
    package func play(_ position: RTPTimestamp, at instant: HostInstant) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in _ = try core.play(position, at: instant) }
    }

    /// Pauses the speaker at once; it keeps the received packets and discards the anchor.
    package func pause() throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in try core.pause() }
    }

    /// Sets the volume in dB: −144 is mute, otherwise −30…0.
    package func setVolume(decibels: Double) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in try core.setVolume(decibels: decibels) }
    }

    /// Sends what the speaker displays. Returns false if it refuses.
    func show(_ request: NowPlayingUpdates.Request) throws(AirPlayError) -> Bool {
        try control.perform { (core) throws(AirPlayError) in try core.show(request) }
    }

    /// Pauses and releases the speaker and closes all connections; blocks for about a second.
    package func end() {
        configuration.peers.remove(self)
        control.post { $0.end() }
        control.close()
        shared.status.finish()
    }
}
