package import AirPlayTransport
internal import AirPlayWire
package import MediaCore
package import SyncRendering

/// How a session with the receiver begins.
extension ClassicSpeaker {
    package var addresses: [SpeakerAddress] {
        let known = state.withLock { $0.details.address } ?? configuration.address
        let announced = configuration.id.flatMap { configuration.network?.classicAddresses(of: $0) } ?? []
        return announced.contains(known) ? [known] + announced.filter { $0 != known } : announced + [known]
    }

    /// Returns a new session with a stream. On failure it is ended.
    ///
    /// - Parameters:
    ///   - store: The packets of the stream, perhaps of a lost session.
    ///   - address: Nil: the first of `addresses`.
    func begin(
        _ store: PacketStore, shownAt timestamp: RTPTimestamp,
        at address: SpeakerAddress? = nil, connectTimeout: Duration? = nil
    ) throws(AirPlayError) -> JoinedSession<ClassicSession, Void> {
        var configuration = configuration
        configuration.address = address ?? addresses[0]
        if let connectTimeout { configuration.connectTimeout = connectTimeout }
        let session = ClassicSession(configuration, serving: served)
        return try begin(session) { () throws(AirPlayError) in
            try session.begin(Self.format, store: store, first: timestamp) { [weak self] in self?.raiseWritable() }
            state.withLock { $0.details.address = configuration.address }
            volume.withLock { $0.recordReport(nil) }
            // Some receivers are silent until they receive a title, and some forget a volume that precedes it.
            let item = nowPlaying
            // ignored: a refused title is inaudible, and a lost session is reported by its events.
            _ = try? session.show(.text(item, at: timestamp))
            let decibels = volume.sendRequested(to: name) { (decibels) throws(AirPlayError) in
                try session.setVolume(decibels: decibels)
            }
            return JoinedSession(
                session: session, setup: (), updates: updates(shown: item, at: timestamp), decibels: decibels)
        }
    }

    package func announcesGroup(of lost: ClassicSession) -> Bool { false }

    package func begin(
        _ input: StreamInput, _ context: AudioOutputContext, at address: SpeakerAddress, timeout: Duration,
        isYielding: Bool
    ) throws(AirPlayError) -> JoinedSession<ClassicSession, Void> {
        try begin(
            input.store, shownAt: input.timestampOnWire(audibleAt: nil), at: address, connectTimeout: timeout)
    }

    package func record(_ setup: Void, in details: inout Details) {}

    package func supervision(_ updates: NowPlayingUpdates) -> @Sendable (ClassicSessionCore) -> HostInstant? {
        ClassicSupervisor(speaker: self, display: SpeakerDisplay(updates)).performDueWork
    }
}
