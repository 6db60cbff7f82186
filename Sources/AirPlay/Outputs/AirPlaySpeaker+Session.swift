package import AirPlayTransport
package import AirPlayWire
package import MediaCore
package import SyncRendering

/// How a session with the speaker begins.
extension AirPlaySpeaker {
    /// Opens a session and a stream.
    ///
    /// - Throws: After a refusal of the stream, with the next route chosen if there is one: the renderer asks for the
    ///   delivery again.
    func open(_ choice: DeliveryChoice, _ context: AudioOutputContext) throws(OutputError) {
        let first = (configuration(in: context).firstCounters ?? .random()).timestamp
        do throws(AirPlayError) {
            let joined = try begin(choice.stream, store: nil, context, shownAt: first)
            let session = joined.session
            guard let store = session.store else {
                session.end()
                throw AirPlayError(.lost, "The speaker has ended the session.")
            }
            state.withLock { state in
                state.input = StreamInput(
                    format: choice.stream, store: store, first: first, isPassThrough: choice.isPassThrough,
                    speed: state.speed)
                state.context = context
                adopt(joined, &state)
            }
        } catch {
            let isSame = changeRoutes { state in
                guard configuration.observations.refusals.isStreamRefused else { return false }
                guard state.details.routes.count > 1 else {
                    // A further attempt begins with the best route: the speaker may have been restarting.
                    state.details.routes = state.details.allRoutes
                    return false
                }
                state.details.routes.removeFirst()
                configuration.observations.forget()
                // Both realtime routes carry the same packets.
                return state.details.routes[0] != .buffered && choice.stream == .lossless44100 && !choice.isPassThrough
            }
            if isSame { return try open(choice, context) }
            var failure = OutputError(error, of: name)
            if configuration.isRouteRequested, configuration.observations.refusals.isStreamRefused,
                failure.remedy == nil
            {
                failure = OutputError(failure.code, failure.problem, remedy: .resetRoute(of: name))
            }
            throw failure.saying(phrases.inErrors)
        }
    }

    /// Returns the configuration with what a group shares.
    private func configuration(in context: AudioOutputContext) -> AirPlaySession.Configuration {
        var configuration = configuration
        if let group = context.group { configuration.peers = group.shared { PTPPeerGroup() } }
        if configuration.firstCounters == nil, let pair = configuration.traits.group.stereoPair {
            configuration.firstCounters = configuration.peers.counters(ofPair: pair)
        }
        return configuration
    }

    private var sighting: SpeakerSighting? { configuration.id.flatMap { configuration.network?.sighting(of: $0) } }

    package var addresses: [SpeakerAddress] {
        state.withLock { $0.details.reported }
            .addresses(configured: configuration.address, announced: sighting?.addresses ?? [])
    }

    /// Returns a new session with a stream. On failure it is ended.
    ///
    /// - Parameters:
    ///   - store: The packets of a lost session; nil: a new stream.
    ///   - address: Nil: the first of `addresses`.
    ///   - isYielding: Whether a busy speaker is left to the other sender.
    private func begin(
        _ stream: StreamFormat, store: PacketStore?, _ context: AudioOutputContext, shownAt moment: RTPTimestamp,
        at address: SpeakerAddress? = nil, connectTimeout: Duration? = nil, isYielding: Bool = false
    ) throws(AirPlayError) -> JoinedSession<AirPlaySession, StreamSetup> {
        var configuration = configuration(in: context)
        configuration.route = route
        let address = address ?? addresses[0]
        configuration.address = address
        let reported = state.withLock { $0.details.reported }
        configuration.expected = reported.deviceID ?? configuration.expected
        if let connectTimeout { configuration.connectTimeout = connectTimeout }
        let session = AirPlaySession(configuration, clocks: clocks)
        return try begin(session) { () throws(AirPlayError) in
            let info = try session.connect(yieldingTo: isYielding ? reported.busyFlags : [])
            state.withLock { $0.details.reported.record(info, at: address, isFirst: store == nil) }
            volume.withLock { $0.recordReport(info.initialVolume) }
            if route == .buffered, state.withLock({ $0.details.reported.offered?.contains(stream) == false }) {
                throw AirPlayError(.refused, "\(name) does not offer \(stream.name).")
            }
            let setup: StreamSetup
            let onWritable: @Sendable () -> Void = { [weak self] in self?.raiseWritable() }
            if let store {
                setup = try session.startStream(stream, store: store, onWritable: onWritable)
            } else {
                setup = try session.startStream(stream, onWritable: onWritable)
            }
            // Some speakers are silent until they receive a title, and some forget a volume that precedes it.
            let item = nowPlaying
            // ignored: a refused title is inaudible, and a lost session is reported by its events.
            _ = try? session.show(.text(item, at: moment))
            let updates = NowPlayingUpdates(
                shown: item, at: moment, features: info.features ?? configuration.traits.features ?? [],
                readsAll: configuration.traits.updated(by: info).isShairportSync)
            let decibels = volume.sendRequested(to: name) { (decibels) throws(AirPlayError) in
                try session.setVolume(decibels: decibels)
            }
            return JoinedSession(session: session, setup: setup, updates: updates, decibels: decibels)
        }
    }

    package func announcesGroup(of lost: AirPlaySession) -> Bool {
        sighting?.group == lost.configuration.peers.identifier
    }

    package func begin(
        _ input: StreamInput, _ context: AudioOutputContext, at address: SpeakerAddress, timeout: Duration,
        isYielding: Bool
    ) throws(AirPlayError) -> JoinedSession<AirPlaySession, StreamSetup> {
        try begin(
            input.format, store: input.store, context, shownAt: input.timestampOnWire(audibleAt: nil), at: address,
            connectTimeout: timeout, isYielding: isYielding)
    }

    package func record(_ setup: StreamSetup, in details: inout Details) {
        (details.setup, details.hasPlayedForLong) = (setup, false)
    }

    package func supervision(_ updates: NowPlayingUpdates) -> @Sendable (SessionCore) -> HostInstant? {
        PlaybackSupervisor(speaker: self, display: SpeakerDisplay(updates)).performDueWork
    }
}
