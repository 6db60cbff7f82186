internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

extension AirPlaySpeaker {
    /// Intervals of the attempts. Each uses a new connection and our own timers, since TCP's grow past a minute during
    /// an outage.
    private static let eager: (pause: Duration, span: Duration) = (.milliseconds(500), .seconds(120))
    private static let patient: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(40)]
    /// Delay after the speaker ended the session: by then a new sender shows in its flags.
    private static let courtesy: Duration = .seconds(1)
    /// So many sessions in a row, each shorter than `span`, mean that another sender competes for the speaker.
    private static let evictions: (span: Duration, count: Int) = (.seconds(5), 6)

    /// Connection timeout; an available host on the same network accepts at once.
    private static let connectPatience: Duration = .seconds(1)
    /// How long a busy speaker is not taken over: it may only now be ending our previous session.
    private static let farewell: Duration = .seconds(1)
    /// How long a busy speaker is retried.
    ///
    /// `told`: its announcements show that another sender owns it. `untold`: the owner is unknown and may be our own
    /// session, which shairport-sync and others end 60 s after our last message.
    private static let busyPatience: (told: Duration, untold: Duration) = (.seconds(3), .seconds(130))

    /// Re-establishes a lost session on a background thread and resumes in sync.
    ///
    /// Packets not yet played are sent again. The thread ends on success, when another sender plays there, or at
    /// `close`.
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
        // A pending start must wait for the rejoin.
        context.room.raise()
        let isUnwelcome = state.withLock { $0.evictions >= Self.evictions.count }
        do throws(ExhaustionError) {
            run(
                try BackgroundTask(name: "airplay rejoin") { errand in
                    session.end()
                    guard !isUnwelcome else {
                        return self.giveUp(
                            OutputError(
                                .busy, "\(self.name) keeps ending the session; another sender may be using it."),
                            use: use)
                    }
                    if error.code == .ended, !errand.rest(until: .now.advanced(by: Self.courtesy)) { return }
                    self.rejoin(context, use: use, after: session, because: error, errand)
                })
        } catch let exhausted {
            giveUp(OutputError(.lost, "\(name) was lost and cannot be reconnected: \(exhausted.message)."), use: use)
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
            // Uses the speed of the audio: that of the timeline is 0 in a pause and before a scheduled start.
            if let heard = line.bound(of: context.timebase.snapshot.mediaTime(at: now), rate: speed) {
                _ = store.rewind(to: heard, gap: Self.gap(line))
            }
            let places = places
            let place = places[tries % places.count]
            tries += 1
            // A speaker that ended the session belongs to another sender. One that became silent and still announces
            // our group has not noticed the end of our session.
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
                // A spoofed speaker must not get repeated attempts to guess the password.
                if error.isMistrust { return giveUp(outputError(error), use: use) }
                // The speaker is left to a sender that took it over.
                let since = busySince ?? .now
                let patience: Duration =
                    cause.code == .ended
                    ? .zero : lost.tellsGroup && !isOurs ? Self.busyPatience.told : Self.busyPatience.untold
                if error.code == .busy { busySince = since }
                if error.code == .busy, .now - since >= patience {
                    return giveUp(OutputError(.busy, "Another sender is now playing on \(name)."), use: use)
                }
            }
            let pause = attempt - began < Self.eager.span ? Self.eager.pause : waits.popFirst() ?? Self.patient.last!
            guard errand.rest(until: attempt.advanced(by: pause)) else { return }
        }
    }

    /// Timestamps skipped on the wire before repeated packets: a tenth of a second.
    static func gap(_ line: RTPTimestampMapper) -> Int64 { Int64(line.sampleRate / 10) }
}
