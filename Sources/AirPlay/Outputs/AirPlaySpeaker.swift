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
package final class AirPlaySpeaker: StartReportingOutput, RecoveringOutput, OwnerVolumeOutput, NowPlayingOutput,
    OwnClockOutput
{
    /// The encoding of audio that cannot be passed through.
    package enum Encoding: Sendable { case lossless, aac }

    /// The display name.
    package let name: String
    /// The kind of the route: buffered or realtime.
    package var kind: AudioRouteKind { route == .buffered ? .bufferedSpeaker : .realtimeSpeaker }
    /// The stream type and the timing protocol. Another one follows if the speaker refuses it.
    var route: Route { state.withLock { $0.routes[0] } }
    let configuration: AirPlaySession.Configuration
    let clocks: PTPDirectory
    /// This computer's clock, on which the timebase runs.
    var host: any HostClock { clocks.clock }
    let encoding: Encoding
    /// The most channels to send, if the speaker offers them: 2, 6 or 8.
    let channels: Int
    let state: Lock<State>
    let volume = Lock(SpeakerVolume())
    /// The current item; nil: none.
    private let shown = Lock<NowPlaying?>(nil)

    /// The mutable state, guarded by the lock `state`.
    struct State {
        /// The current session; nil while closed, lost or failed.
        var session: AirPlaySession?
        var setup: StreamSetup?
        /// The renderer's context since `prepare`.
        var context: AudioOutputContext?
        /// The packets of the stream; nil before `prepare`.
        var input: StreamInput?
        /// Media seconds per second of audio.
        var speed = 1.0
        var anchors = SpeakerAnchors()
        var cuts = StreamCutRecord()
        var reported = ReportedSpeaker()
        /// The current route, and those that may follow it. Never empty.
        var routes: [Route]
        /// The same before the first refusal.
        let allRoutes: [Route]
        var evictions = EvictionCounter()
        /// Incremented by `close`: a rejoin for an older use ends.
        var use: UInt64 = 0
        /// Reads the events of the session.
        var eventTask: Task<Void, Never>?
        /// A rejoin, or the end of a session, on its own thread.
        var backgroundTask: BackgroundTask?
        /// Why the last session was lost; nil if none was.
        var interruption: String?
        /// The permanent failure: audio is accepted and discarded, so that playback reaches the end.
        var failure: OutputError?

        /// Returns the state after `close`. Volume, speed and address are kept for the next use.
        var closed: State {
            var closed = State(
                speed: speed, anchors: SpeakerAnchors(epoch: anchors.epoch + 1), reported: reported, routes: routes,
                allRoutes: allRoutes)
            closed.use = use + 1
            closed.reported.endUse()
            return closed
        }
    }

    /// Creates a speaker without connecting.
    ///
    /// - Parameters:
    ///   - clocks: The PTP instances of this process, shared by speakers that play in sync.
    ///   - alternatives: Further routes in order, if the speaker refuses the stream of a route.
    ///   - encoding: The encoding of buffered audio that cannot be passed through.
    ///   - channels: The most channels to send on the buffered route, if the speaker offers them: 2, 6 or 8.
    package init(
        name: String, configuration: AirPlaySession.Configuration, clocks: PTPDirectory, route: Route = .buffered,
        alternatives: [Route] = [], encoding: Encoding = .lossless, channels: Int = 2
    ) {
        self.name = name
        self.configuration = configuration
        let routes = [route] + alternatives
        state = Lock(State(routes: routes, allRoutes: routes))
        self.clocks = clocks
        self.encoding = encoding
        self.channels = channels
    }

    /// Sets the item that the speaker displays, also for later sessions. Any thread; returns at once.
    package func setNowPlaying(_ nowPlaying: NowPlaying?) {
        let isNew = shown.withLock { shown in
            defer { shown = nowPlaying }
            return shown != nowPlaying
        }
        if isNew { requestAttention() }
    }

    /// The item to display; never without a title, since some speakers are silent until they receive one.
    var nowPlaying: NowPlaying {
        var item = shown.withLock { $0 } ?? NowPlaying(title: "")
        if item.title.isEmpty { item.title = "Talkie" }
        return item
    }

    // MARK: Volume

    /// Sets the gain, limited to −30…0 dB or mute. Until the first call the speaker keeps its owner's volume. Any
    /// thread.
    package func setGain(_ gain: Float) {
        volume.withLock { $0.request(gain: gain) }
        sendVolume()
    }

    /// Restores the owner's volume, if it was changed here. Any thread.
    package func restoreGain() {
        volume.withLock { $0.restore() }
        sendVolume()
    }

    /// The owner's volume, 0…100; an audible one for a speaker that does not report its own. Nil before the first
    /// session. Any thread.
    package var ownVolume: Double? { volume.withLock { $0.own } }

    /// True after the start of the first session, whether the speaker reported its volume or not.
    package var isOwnVolumeKnown: Bool { volume.withLock { $0.isOwnKnown } }

    /// The refusal of the last requested volume or mute; nil if it was accepted. Any thread.
    package var gainFailure: OutputError? { volume.withLock { $0.refusal } }

    private func sendVolume() { if let session = state.withLock({ $0.session }) { sendVolume(in: session) } }

    /// Sends the requested volume on the control thread of a session.
    func sendVolume(in session: AirPlaySession) {
        guard volume.withLock({ $0.queue() }) else { return }
        // One that has ended runs nothing; the next session begins with the volume.
        session.control.post { [weak self] core in
            guard let self else { return }
            _ = volume.sendRequested(to: name) { (decibels) throws(AirPlayError) in
                try core.setVolume(decibels: decibels)
            }
        }
    }

    // MARK: Status

    /// A sentence about the last interruption; kept after the speaker is back. Any thread.
    package var interruption: String? { state.withLock { $0.interruption } }

    /// The permanent failure; nil while the speaker is usable or rejoining. Any thread.
    package var failure: OutputError? { state.withLock { $0.failure } }

    /// The failure, or the loss of the session while it is being re-established. Any thread.
    package var loss: OutputError? {
        state.withLock { state in
            if let failure = state.failure { return failure }
            guard state.session == nil, state.input != nil, let why = state.interruption else { return nil }
            return OutputError(.lost, why)
        }
    }

    /// Whether the speaker shows no sign of life; it may still play its buffered audio. Any thread.
    package var isUnresponsive: Bool { state.withLock { $0.session }?.isUnresponsive ?? false }

    /// Whether the current session is audible, or the speaker has failed. Any thread.
    package var isAudible: Bool {
        let now = host.now
        return state.withLock { $0.anchors.isAudible(at: now) ?? ($0.failure != nil) }
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
        let (session, setup) = state.withLock { ($0.session, $0.setup) }
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

    /// Whether a start is possible: the speaker has begun to measure the clock, has failed, or was audible before. Any
    /// thread.
    ///
    /// After it was audible once, playback continues without the speaker.
    package var isReadyToStart: Bool {
        let now = host.now
        let (session, isDecided) = state.withLock {
            ($0.session, $0.anchors.hasBeenAudible(at: now) || $0.failure != nil)
        }
        return isDecided || session?.clock.ready != nil
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
            SpeakerTiming.depth(of: $0.input?.format, bufferSize: $0.setup?.bufferSize, route: $0.routes[0])
        }
    }

    /// Required audio before a start. One receiver terminates when started with less than half a second.
    package var preroll: Duration { .milliseconds(600) }

    /// Schedules an update of the speaker on its control thread. Returns at once.
    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) { requestAttention() }

    func requestAttention() {
        state.withLock { $0.session }?.control.post { $0.requestAttention() }
    }

    /// Ends the session and stops background work. May block for a few seconds. Volume, speed and address are kept for
    /// the next use.
    package func close() {
        let (session, eventTask, backgroundTask) = state.withLock { state in
            defer {
                state = state.closed
                // A route that has not played is no reason to give up a better one.
                if !configuration.lessons.learned.contains(.played) { state.routes = state.allRoutes }
            }
            return (state.session, state.eventTask, state.backgroundTask)
        }
        volume.withLock { $0.endUse() }
        eventTask?.cancel()
        session?.end()
        backgroundTask?.stop()
    }
}
