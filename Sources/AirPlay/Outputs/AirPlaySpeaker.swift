package import AirPlayTransport
internal import AirPlayWire
package import MediaCore
package import PTP
package import SyncRendering

/// An AirPlay 2 speaker as an output.
///
/// On the buffered route AAC is passed through if the speaker can decode it. Realtime routes carry lossless audio at
/// 44.1 kHz.
///
/// Media time M is heard at host instant H because the speaker receives one anchor on the clock that this computer
/// serves. The speaker compensates its own delay. Requests run on the session's control thread.
package final class AirPlaySpeaker: SpeakerOutput, OwnClockOutput {
    /// The encoding of audio that cannot be passed through.
    package enum Encoding: Sendable { case lossless, aac }

    /// The display name.
    package let name: String
    /// The kind of the route: buffered or realtime.
    package var kind: AudioRouteKind { route == .buffered ? .bufferedSpeaker : .realtimeSpeaker }
    /// The stream type and the timing protocol. Another one follows if the speaker refuses it.
    var route: Route { state.withLock { $0.details.routes[0] } }
    let configuration: AirPlaySession.Configuration
    package var phrases: RemedyPhrases { configuration.phrases }
    let clocks: PTPDirectory
    package var host: any HostClock { clocks.clock }
    let encoding: Encoding
    /// The requested bits per sample of lossless audio: 16 or 24; nil: 16.
    let bits: Int?
    /// The most channels to send, if the speaker offers them: 2, 6 or 8.
    let channels: Int
    package let state: Lock<SpeakerState<AirPlaySession, Details>>
    package let volume = Lock(SpeakerVolume())
    package let shown = Lock<NowPlaying?>(nil)

    /// What only AirPlay 2 has of the state.
    package struct Details: Sendable {
        var setup: StreamSetup?
        var cuts = StreamCutRecord()
        /// Whether the stream has been audible for `confirmationTimeout` without a pause.
        var hasPlayedForLong = false
        var reported = ReportedSpeaker()
        /// The channels of the audio whose delivery was chosen last.
        var filmChannels = 0
        /// The current route, and those that may follow it. Never empty.
        var routes: [Route]
        /// The same before the first refusal.
        let allRoutes: [Route]
    }

    /// Creates a speaker without connecting.
    ///
    /// - Parameters:
    ///   - clocks: The PTP instances of this process, shared by speakers that play in sync.
    ///   - alternatives: Further routes in order, if the speaker refuses the stream of a route.
    ///   - encoding: The encoding of buffered audio that cannot be passed through.
    ///   - bits: The bits per sample of lossless audio: 16, or 24 if the speaker offers them; nil: 16.
    ///   - channels: The most channels to send on the buffered route, if the speaker offers them: 2, 6 or 8.
    package init(
        name: String, configuration: AirPlaySession.Configuration, clocks: PTPDirectory, route: Route = .buffered,
        alternatives: [Route] = [], encoding: Encoding = .lossless, bits: Int? = nil, channels: Int = 2
    ) {
        self.name = name
        self.configuration = configuration
        let routes = [route] + alternatives
        state = Lock(SpeakerState(Details(routes: routes, allRoutes: routes)))
        self.clocks = clocks
        (self.encoding, self.bits) = (encoding, bits)
        self.channels = channels
    }

    /// The remedy for a speaker that has accepted the stream and never uses its clock. The route changes only if the
    /// user chooses another: it may be a firewall.
    var remedyForSilence: Remedy {
        let others = state.withLock { $0.details.routes.dropFirst() }
        if let other = others.first(where: { !$0.needsPTP }) ?? others.first {
            return .chooseRoute(.only(other), of: name)
        }
        return configuration.isRouteRequested ? .chooseRoute(.best, of: name) : .checkFirewall
    }

    /// The remedy for a speaker that reads nothing of the stream; nil without another route.
    var remedyForUnreadAudio: Remedy? {
        if let other = state.withLock({ $0.details.routes.dropFirst().first }) {
            return .chooseRoute(.only(other), of: name)
        }
        return configuration.isRouteRequested ? .resetRoute(of: name) : nil
    }

    // MARK: Status

    /// A sentence about the last interruption; kept after the speaker is back. Any thread.
    package var interruption: String? { state.withLock { $0.interruption } }

    /// Time after a start within which a receiver of a realtime stream measures the clock; others begin after 1 s.
    private static let confirmationTimeout: Duration = .seconds(8)

    /// Why it may be silent: televisions are known that accept a realtime stream with PTP and ignore the clock. Nil for
    /// a route that the user has requested. Any thread.
    ///
    /// Playback continues: a receiver may listen without requests, and a firewall may block them.
    package var unconfirmedPlayback: OutputError? {
        let limit = host.now.advanced(by: .zero - Self.confirmationTimeout)
        let session = state.withLock { state -> AirPlaySession? in
            let isPlaying = state.anchors.isAudible(at: limit) == true && state.details.routes[0] == .realtime
            // A pause does not end it.
            if isPlaying, !state.details.reported.listensOnly { state.details.hasPlayedForLong = true }
            return state.details.hasPlayedForLong ? state.session : nil
        }
        guard let session, !session.isLost, !session.isConfirmed, !configuration.isRouteRequested else { return nil }
        return OutputError(
            .unavailable,
            "\(name) accepts the stream, but requests neither this computer's time nor packets, and may be silent.",
            remedy: remedyForSilence
        ).saying(phrases.inErrors)
    }

    /// The clock state of the speaker, and when it is ready, if known. Any thread.
    var clock: (state: SpeakerClockState, ready: HostInstant?) {
        guard let clock = state.withLock({ $0.session })?.clock else { return (.cold, nil) }
        return (SpeakerClockState(clock.readiness), clock.ready)
    }

    /// The timeline of the speaker in host time.
    ///
    /// Nil unless its clock has run at another rate than this computer's, or an external clock leads the timebase. Any
    /// thread.
    package var remoteTimeline: TimebaseSegment? {
        let (sent, session, context) = state.withLock { ($0.anchors.sent, $0.session, $0.context) }
        guard let sent, let timeline = session?.timeline, timeline.isSteered || context?.timebase.isLed ?? false else {
            return nil
        }
        return sent.segment(on: timeline, at: host.now)
    }

    /// Adjusts the rate of the clock that this computer serves to its speakers. Any thread.
    package func adjustRemoteRate(by offset: Double) -> Bool {
        state.withLock { $0.session }?.adjustClock(by: offset) ?? false
    }

    // MARK: Starts

    private var timing: SpeakerTiming? {
        let (session, setup) = state.withLock { ($0.session, $0.details.setup) }
        return session.map { SpeakerTiming($0, setup) }
    }

    /// The start lead and the path delay, as known now. Any thread.
    package var latency: OutputLatency {
        SpeakerTiming.latency(timing, known: configuration.stated, at: host.now)
    }

    /// The reason why a start must wait: no session yet, or an unsynchronized clock. Any thread.
    package var wait: OutputWait? {
        failure == nil ? SpeakerTiming.wait(timing, of: name, at: host.now) : nil
    }

    /// The earliest possible start, from the readiness of the speaker's clock; nil once audible or while unknown. Any
    /// thread.
    package var earliestStart: HostInstant? {
        let now = host.now
        return state.withLock { $0.anchors.hasBeenAudible(at: now) } ? nil : timing?.earliestStart
    }

    /// The renderer's fill target: 95 % of the speaker's buffer, at most 240 s; 3 s for realtime streams.
    package var desiredDepth: Duration {
        state.withLock {
            SpeakerTiming.depth(
                of: $0.input?.format, bufferSize: $0.details.setup?.bufferSize, route: $0.details.routes[0])
        }
    }

    /// Ends the session and stops background work. May block for a few seconds. Volume, speed and address are kept for
    /// the next use.
    package func close() {
        endSession()
        // A route that has not played is no reason to give up a better one.
        guard !configuration.observations.learned.contains(.played) else { return }
        changeRoutes { $0.details.routes = $0.details.allRoutes }
    }

    /// Changes the state, and reports whether the route is another one then.
    func changeRoutes<Result>(_ body: (inout SpeakerState<AirPlaySession, Details>) -> Result) -> Result {
        let (result, isOther) = state.withLock { state in
            let before = state.details.routes[0]
            let result = body(&state)
            return (result, state.details.routes[0] != before)
        }
        if isOther { configuration.onRouteChange() }
        return result
    }

    /// Ends the session for another stream of the same use.
    func endSession() {
        // It has accepted a start, but it may not have played.
        if unconfirmedPlayback != nil { configuration.observations.forget() }
        endUse { details in
            (details.setup, details.cuts, details.hasPlayedForLong) = (nil, StreamCutRecord(), false)
            details.reported.endUse()
        }
    }
}
