internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

extension AirPlaySpeaker {
    /// How long to wait before each attempt. A new connection each time, with timers of our own: the kernel's grow
    /// past a minute while a network is away.
    private static let eager: (pause: Duration, span: Duration) = (.milliseconds(500), .seconds(120))
    private static let patient: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(40)]
    /// A speaker that ended the session by itself is asked after this: by then a sender that took it shows in its flags.
    private static let courtesy: Duration = .seconds(1)
    /// A session that lasted less than this, so often in a row, tells that somebody else wants the speaker.
    private static let evictions: (span: Duration, count: Int) = (.seconds(5), 6)

    /// A speaker that does not take a connection within this is not there; a host on the same network does at once.
    private static let connectPatience: Duration = .seconds(1)
    /// Our own old session may still have the speaker, which has only now heard that it is over: so long it is let be.
    private static let farewell: Duration = .seconds(1)
    /// How long a speaker is waited for that says it is busy: one whose announcements tell that it is somebody else's, and
    /// one that does not say whose, which may be our own session until the receiver ends that (60 s after the last word
    /// from us with shairport-sync and others).
    private static let busyPatience: (told: Duration, untold: Duration) = (.seconds(3), .seconds(130))

    /// The session is lost: brings the sound back in sync as soon as the speaker answers, on a thread of its own.
    ///
    /// What the speaker had not yet played is sent again. The thread ends when it succeeds, when somebody else plays
    /// there, or when the speaker is closed.
    func rejoin(after session: AirPlaySession, because error: AirPlayError, use: UInt64) {
        let context = state.withLock { state -> AudioOutputContext? in
            guard state.use == use, state.session === session else { return nil }
            state.session = nil
            state.takeBackFirstStart(at: host.now)
            state.interruption = error.saying(configuration.phrases.inErrors).message
            state.evictions = host.now - state.adopted < Self.evictions.span ? state.evictions + 1 : 0
            return state.context
        }
        guard let context else { return }
        context.events.note(.outputLost(output: context.id))
        // A start that lies ahead waits for its return.
        context.room.raise()
        let isUnwelcome = state.withLock { $0.evictions >= Self.evictions.count }
        do throws(ExhaustionError) {
            run(
                try BackgroundTask(name: "airplay rejoin") { errand in
                    session.end()
                    guard !isUnwelcome else {
                        return self.giveUp(
                            OutputError(.busy, "\(self.name) keeps ending the session; somebody else may want it."),
                            use: use)
                    }
                    if error.code == .ended, !errand.rest(until: .now.advanced(by: Self.courtesy)) { return }
                    self.rejoin(context, use: use, after: session, because: error, errand)
                })
        } catch let exhausted {
            giveUp(OutputError(.lost, "\(name) is lost, and cannot be brought back: \(exhausted.message)."), use: use)
        }
    }

    private func rejoin(
        _ context: AudioOutputContext, use: UInt64, after lost: AirPlaySession, because cause: AirPlayError,
        _ errand: BackgroundTask
    ) {
        let began = HostInstant.now
        let (oldPlace, group) = (lost.configuration.address, lost.configuration.peers.identifier)
        var (tries, busySince) = (0, HostInstant?.none)
        var waits = Self.patient[...]
        while true {
            let attempt = HostInstant.now
            let (stream, store, line, speed) = state.withLock { state in
                state.use == use ? (state.stream, state.store, state.line, state.speed) : (nil, nil, nil, 1)
            }
            guard let stream, let store, let line else { return }
            let now = host.now
            // The speed that the sound was made for: the timeline's is 0 in a pause and before a scheduled start.
            if let heard = line.bound(of: context.timebase.snapshot.mediaTime(at: now), rate: speed) {
                _ = store.rewind(to: heard, gap: Self.gap(line))
            }
            let places = places
            let place = places[tries % places.count]
            tries += 1
            // A speaker that ended the session by itself belongs to whoever made it do so. One that fell silent and still
            // announces our group is ours: it has not noticed that the session is over.
            let isOurs = cause.code != .ended && sighting?.group == group
            let isLetBe = place == oldPlace && busySince.map { attempt - $0 < Self.farewell } ?? true
            do throws(AirPlayError) {
                let (session, setup) = try join(
                    stream, store: store, context, titleAt: store.onWire(line.next), at: place,
                    connectPatience: Self.connectPatience, yielding: !isOurs || isLetBe)
                let isWanted = state.withLock { state in
                    guard state.use == use else { return false }
                    adopt(session, setup, &state)
                    return true
                }
                if isWanted {
                    context.events.note(.outputRestored(output: context.id))
                    context.room.raise()
                } else {
                    session.end()
                }
                return
            } catch {
                // A stranger in its place must not be given attempt after attempt to find the password out.
                if error.isMistrust { return giveUp(outputError(error), use: use) }
                // Whoever has taken the speaker shall keep it.
                let since = busySince ?? .now
                let patience: Duration =
                    cause.code == .ended
                    ? .zero : lost.tellsGroup && !isOurs ? Self.busyPatience.told : Self.busyPatience.untold
                if error.code == .busy { busySince = since }
                if error.code == .busy, .now - since >= patience {
                    return giveUp(OutputError(.busy, "Somebody else plays on \(name) now."), use: use)
                }
            }
            let pause = attempt - began < Self.eager.span ? Self.eager.pause : waits.popFirst() ?? Self.patient.last!
            guard errand.rest(until: attempt.advanced(by: pause)) else { return }
        }
    }

    /// Left unused on the wire where packets are sent again: a tenth of a second.
    static func gap(_ line: RTPTimestampMapper) -> Int64 { Int64(line.sampleRate / 10) }
}
