package import AirPlayWire
package import MediaCore
package import PTP

/// One sender's session with one speaker: requests in order on a control thread, sound on a thread of its own.
///
/// `connect`, `startStream`, `play` and the other requests wait for the speaker's answer, each with a deadline;
/// call them from a thread that may wait. `write` never waits. A session that was lost or ended stays so: make a new
/// one.
package final class AirPlaySession: Sendable {
    /// What a session needs to know beforehand.
    package struct Configuration: Sendable {
        package var address: SpeakerAddress
        package var identity: SenderIdentity
        /// Keys from an earlier pairing by PIN; nil pairs for this session only.
        package var pairing: (identity: PairingIdentity, accessory: PairedAccessory)?
        /// Whom the speaker gets to know when its password makes it remember this computer.
        package var pairingIdentity: PairingIdentity?
        /// The speaker's password, when it has one.
        package var password: String?
        /// What is known about the speaker already; its own answer completes it.
        package var traits = SpeakerTraits()
        /// What kind of stream, and whose time it runs on.
        package var route = Route.buffered
        /// The speakers that play together with this one.
        package var peers = PTPPeerGroup()
        /// Takes down what the sessions teach about the speaker.
        package var lessons = SpeakerLessons()
        /// What is known about the speaker's way with clocks.
        package var readiness = PeerReadiness()
        /// Follower: the speaker is known to insist on serving time, and is left to it at once. Otherwise that is found
        /// out, which takes some seconds.
        package var clockRole = ClockRole.grandmaster
        /// Who it is on the network, when that is known.
        package var id: SpeakerID?
        /// Where it is looked for by its id when it no longer answers; nil looks at its address only.
        package var network: (any SpeakerSource)?
        /// Since its last answer: a speaker that leaves everything unanswered for longer is lost.
        ///
        /// A speaker that holds minutes of sound plays on while the network is gone. After 20 s without it TCP sends again
        /// up to 28 s after the first loss on kernels that cannot be told to be quicker (`TCPSocket.Persistence`), and the
        /// session goes on without a gap; after a longer absence a new connection is quicker.
        package var patience = Duration.seconds(35)
        /// How the application says what can be done about an error.
        package var phrases = RemedyPhrases()
        /// What a connection may take.
        var connectPatience = Duration.seconds(3)
        /// Where the stream's counters begin; nil is anywhere, as RFC 3550, section 5.1 asks for.
        var firstCounters: StreamCounters?
        /// How old the anchor of a line gets before it is told anew; nil is as old as its frames can be counted from it.
        var longestAnchor: Duration?
        /// Who must answer at `/info`; nil takes whoever is there.
        package var expected: SpeakerID?

        package init(address: SpeakerAddress, identity: SenderIdentity) {
            self.address = address
            self.identity = identity
        }
    }

    /// What a speaker tells, or what becomes of it.
    package enum News: Sendable {
        /// A message of the speaker's own: a button, a volume, its state.
        case message(PropertyList)
        /// The session cannot go on; told once. `end` it.
        case lost(AirPlayError)
    }

    /// What came of an attempt to hand over sound.
    package enum WriteResult: Sendable {
        case accepted
        /// No room at present; `room` is called when there is some.
        case full
        /// There is no stream, or the speaker has closed it.
        case closed
    }

    package let configuration: Configuration
    private let shared: SessionShared
    let control: ControlThread

    /// - Parameter clocks: this process's PTP instances; speakers of one group share it.
    package init(_ configuration: Configuration, clocks: PTPDirectory) {
        self.configuration = configuration
        let shared = SessionShared()
        self.shared = shared
        control = ControlThread { SessionCore(configuration: configuration, clocks: clocks, shared: shared) }
    }

    deinit {
        // Without `end` there is still no thread left behind; closing waits, so somebody else must do it.
        let control = control
        control.post { $0.end() }
        control.closeWithoutWaiting()
    }

    /// Whether the speaker has announced our group while it was ours: then its announcements tell whose it is.
    var tellsGroup: Bool { shared.tellsGroup }

    /// True while the speaker shows no sign of life; it may still play the sound that it holds. Any thread.
    package var isUnresponsive: Bool { shared.isUnresponsive }

    /// At most 256 untold messages are kept, the newest ones. One consumer.
    package var news: AsyncStream<News> { shared.news }

    /// True once the session cannot go on.
    package var isLost: Bool { shared.isLost }

    /// Connects, pairs and sets the session up. Waits up to a few seconds.
    ///
    /// - Parameter busy: gives up with the code `busy` when the speaker shows any of these flags.
    package func connect(yieldingTo busy: StatusFlags = []) throws(AirPlayError) -> ReceiverInfo {
        try control.perform { (core) throws(AirPlayError) in try core.connect(yieldingTo: busy) }
    }

    /// Memory for packets. Buffered: as much as a speaker holds, so that all of it can be sent again; at 40 bytes each,
    /// more packets than eight minutes of AAC has. Realtime: eight seconds of lossless sound.
    private static func emptyStore(_ route: Route) -> PacketStore {
        route == .buffered
            ? PacketStore(bytes: 8 << 20, packets: 1 << 15) : PacketStore(bytes: 3 << 19, packets: 1 << 10)
    }

    /// Sets up the stream that the configuration's route names: buffered (type 103) or realtime (type 96).
    ///
    /// - Parameter room: called on the sending thread when sound fits again after `full`; must return at once.
    package func startStream(
        _ format: StreamFormat, room: @escaping @Sendable () -> Void = {}
    ) throws(AirPlayError) -> StreamSetup {
        try startStream(format, store: Self.emptyStore(configuration.route), room: room)
    }

    /// The same with packets from an earlier session.
    func startStream(
        _ format: StreamFormat, store: PacketStore, room: @escaping @Sendable () -> Void
    ) throws(AirPlayError) -> StreamSetup {
        // First, so that the speaker is told of the others, and they of it.
        if case .ptp(_, let address) = shared.clock { configuration.peers.add(self, at: address) }
        return try control.perform { (core) throws(AirPlayError) in
            try core.startStream(format, store: store, room: room)
        }
    }

    /// Nothing more leaves on a realtime stream until the next `play`; what the speaker holds it goes on with.
    func haltStream() { shared.writer?.halt() }

    /// Others have come or gone.
    func sharePeersAgain() {
        // ignored: a session that is lost shares its peers when it is made again.
        control.post { core in try? core.sharePeers() }
    }

    /// There are new packets in the store.
    func wakeWriter() { shared.writer?.wake() }

    /// The packets of the present stream.
    var store: PacketStore? { shared.writer?.store }

    /// Queues one encoded packet. Never waits.
    ///
    /// - Parameter timestamp: where the packet's decoded sound begins.
    package func write(_ packet: UnsafeRawBufferPointer, timestamp: RTPTimestamp) -> WriteResult {
        guard let writer = shared.writer, !writer.isOver else { return .closed }
        // Larger than any packet of sound: the stream could not carry it, and leaving it out harms nobody.
        guard packet.count <= BufferedPacketizer.payloadLimit else { return .accepted }
        guard writer.store.append(packet, timestamp: timestamp) else { return .full }
        writer.wake()
        return .accepted
    }

    /// The same for bytes in an array.
    package func write(_ packet: [UInt8], timestamp: RTPTimestamp) -> WriteResult {
        packet.withUnsafeBytes { write($0, timestamp: timestamp) }
    }

    /// Packets of a realtime stream that were sent once more because the speaker had missed them.
    package var resentPackets: Int { (shared.writer as? RealtimeSender)?.resentPackets ?? 0 }

    /// Bytes of sound given to the network since the stream began.
    package var sentBytes: Int64 { shared.writer?.sentBytes ?? 0 }

    /// Packets accepted and not yet given to the network.
    package var queuedPackets: Int { shared.writer?.store.waiting ?? 0 }

    /// The speaker insists on a clock of its own, which is followed. Never waits.
    package var isClockFollowed: Bool { shared.clock?.isFollowed ?? false }

    /// What moments given to the speaker are written on; nil while that is not known. Never waits.
    var timeline: PTPTimeline? { shared.clock?.timeline }

    /// How far the speaker is with the clock, and from when on it is ready as far as that can be said. Never waits.
    package var clock: (readiness: ClockReadiness, ready: HostInstant?) {
        shared.clock?.state ?? (.cold, nil)
    }

    /// How early the speaker must be told of a start.
    var startLeads: StartLeads { StartLeads(isAsking: shared.clock?.isAsked ?? false) }

    /// How much later our time reaches the speaker than it was sent, as far as it is told to add that; zero when the
    /// speaker measures the path itself.
    package var pathCorrection: Duration { shared.clock?.pathCorrection ?? .zero }

    /// Starts or moves the line of sound: the frame `position` is heard at `instant`.
    ///
    /// Send at least half a second of sound first: without any, one receiver ends.
    /// - Throws: `clockNotReady` when the speaker wants to be asked again, with a later instant.
    package func play(_ position: RTPTimestamp, at instant: HostInstant) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in _ = try core.play(position, at: instant) }
    }

    /// Silences the speaker at once; it keeps what was sent, and forgets the line.
    package func pause() throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in try core.pause() }
    }

    /// Drops everything that was written and not yet heard; a new `play` is needed. What is written next carries
    /// timestamps from `next` on.
    package func flush(next: RTPTimestamp) throws(AirPlayError) {
        guard let store else { return }
        let position = store.removeAll(next: next)
        try control.perform { (core) throws(AirPlayError) in try core.flush(until: position) }
    }

    /// Loudness in dB: −144 is mute, −30…0 otherwise.
    package func setVolume(decibels: Double) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in try core.setVolume(decibels: decibels) }
    }

    /// The title to show; some speakers are silent until they have seen one.
    package func setTitle(_ title: String, at timestamp: RTPTimestamp) throws(AirPlayError) {
        try control.perform { (core) throws(AirPlayError) in try core.setMetadata(title: title, at: timestamp) }
    }

    /// Silences the speaker, gives it back and closes every connection; waits up to a second or so.
    package func end() {
        configuration.peers.remove(self)
        control.post { $0.end() }
        control.close()
        shared.finish()
    }
}
