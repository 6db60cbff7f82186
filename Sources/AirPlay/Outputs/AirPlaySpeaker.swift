internal import AirPlayWire
internal import Glibc
internal import MediaCore
package import PTP
public import SyncRendering

/// An AirPlay 2 speaker as an output.
///
/// On the buffered route AAC is passed through if the speaker can decode it. Realtime routes carry lossless audio at
/// 44.1 kHz.
///
/// Media time M is heard at host instant H because the speaker receives one anchor on the clock that this computer
/// serves. The speaker compensates its own delay. Requests run on the session's control thread.
public final class AirPlaySpeaker: AudioOutput {
    /// The encoding of audio that cannot be passed through.
    public enum Encoding: Sendable { case lossless, aac }

    /// The display name.
    public let name: String
    /// The kind of the route: buffered or realtime.
    public var kind: AudioRouteKind { route == .buffered ? .bufferedSpeaker : .realtimeSpeaker }
    /// The stream type and the timing protocol.
    package var route: Route { configuration.route }
    let configuration: AirPlaySession.Configuration
    let clocks: PTPDirectory
    /// This computer's clock, on which the timebase runs.
    var host: any HostClock { clocks.clock }
    let encoding: Encoding
    let state = Lock(State())
    let loudness = SpeakerLoudness()
    /// The title of the current item; nil until set.
    private let shownTitle = Lock<String?>(nil)

    /// The mutable state, guarded by the lock `state`.
    struct State {
        /// The current session; nil while closed, lost or failed.
        var session: AirPlaySession?
        var stream: StreamFormat?
        var setup: StreamSetup?
        /// The renderer's context since `prepare`.
        var context: AudioOutputContext?
        /// Maps media time to RTP timestamps; nil before `prepare`.
        var line: RTPTimestampMapper?
        /// The packets, which outlive a lost session.
        var store: PacketStore?
        var isPassThrough = false
        /// Whether packets of another kind follow in the same stream: those that overlap the last one are dropped.
        var isJoining = false
        /// Media seconds per second of audio.
        var speed = 1.0
        /// Media time of the end of the accepted packets.
        var acceptedUntil: MediaTime?
        /// Whether `finish` was called after the last packet.
        var isFinished = false
        /// The anchor of the current session; nil while paused.
        var told: SentAnchor?
        /// The number of sessions renewed because of a stalled clock.
        var renewals = 0
        /// Incremented at seeks and new streams: an anchor of an older epoch is void.
        var epoch: UInt64 = 0
        /// Incremented by `close`: a rejoin for an older use ends.
        var use: UInt64 = 0
        /// The requested volume in dB; nil: the owner's setting is unchanged.
        var volume: Double?
        /// Reads the events of the session.
        var news: Task<Void, Never>?
        /// When the current session was adopted, and how many in a row before it lasted less than 5 s.
        var adopted = HostInstant(nanoseconds: 0)
        var evictions = 0
        /// The status flags before we played.
        var idleFlags: StatusFlags = []
        /// The flags that show another sender.
        ///
        /// Some speakers have no flag for that. `playing` is used only if it was clear while idle, since some speakers
        /// always set it.
        var busyFlags: StatusFlags { idleFlags.contains(.playing) ? .busy : [.busy, .playing] }
        /// A rejoin, or the end of a session, on its own thread.
        var errand: BackgroundTask?
        /// Why the last session was lost; nil if none was.
        var interruption: String?
        /// The instant of the first start that was accepted and not revoked before it came.
        var firstHeard: HostInstant?
        /// The instant from which the current session is audible; nil before its first start.
        var audibleFrom: HostInstant?
        func isHeard(at now: HostInstant) -> Bool { firstHeard.map { $0 <= now } ?? false }

        /// Revokes a future first start, after the session was lost or stopped.
        mutating func takeBackFirstStart(at now: HostInstant) {
            if !isHeard(at: now) { firstHeard = nil }
        }
        /// The state of the last flush.
        var recall: Recall?
        /// The due instants of packets to skip, one per request that the speaker still holds.
        var recalls: [HostInstant] = []
        /// The last known address and device identifier; nil until a session has connected.
        var place: SpeakerAddress?
        var deviceID: SpeakerID?
        /// The title that the session was set up with.
        var sentTitle: String?
        /// The model name reported by the speaker.
        var model: String?
        /// The permanent failure: audio is accepted and discarded, so that playback reaches the end.
        var failure: OutputError?
        /// The refusal of the last requested volume.
        var gainFailure: OutputError?
    }

    /// Creates a speaker without connecting.
    ///
    /// - Parameters:
    ///   - clocks: The PTP instances of this process, shared by speakers that play in sync.
    ///   - encoding: The encoding of buffered audio that cannot be passed through.
    package init(
        name: String, configuration: AirPlaySession.Configuration, clocks: PTPDirectory, route: Route = .buffered,
        encoding: Encoding = .lossless
    ) {
        self.name = name
        var configuration = configuration
        configuration.route = route
        self.configuration = configuration
        self.clocks = clocks
        self.encoding = encoding
    }

    /// Sets the title that speakers display, also for later sessions. Any thread; returns at once.
    public func setTitle(_ title: String) {
        shownTitle.withLock { $0 = title }
        let (session, moment) = state.withLock { state -> (AirPlaySession?, RTPTimestamp?) in
            guard let line = state.line, let store = state.store else { return (state.session, nil) }
            let now = host.now
            let segment = state.context?.timebase.snapshot.segment(at: now)
            let heard = segment.flatMap { line.timestamp(of: $0.mediaTime(at: now), rate: state.speed) }
            return (state.session, store.onWire(heard ?? line.next))
        }
        guard let session, let moment else { return }
        // ignored: a refused title is inaudible, and a lost session is reported by its events.
        session.control.post { core in try? core.setMetadata(title: title, at: moment) }
    }

    /// The title to send; never empty by default, since some speakers are silent until they receive one.
    var title: String { shownTitle.withLock { $0 } ?? "Talkie" }

    // MARK: Control

    /// Schedules an update of the speaker on its control thread. Returns at once.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { requestAttention() }

    func requestAttention() {
        state.withLock { $0.session }?.control.post { $0.requestAttention() }
    }

    /// Sets the gain, limited to −30…0 dB or mute. Until the first call the speaker keeps its owner's volume. Any
    /// thread.
    public func setGain(_ gain: Float) {
        let decibels = gain > 0 ? max(-30, min(0, 20 * log10(Double(gain)))) : -144
        setVolume(decibels)
    }

    /// Restores the owner's volume, if it was changed here. Any thread.
    public func restoreGain() {
        guard state.withLock({ $0.volume != nil }) else { return }
        setVolume(loudness.owner ?? SpeakerLoudness.modest)
    }

    /// The owner's volume, 0…100; `SpeakerLoudness.modest` for a speaker that does not report its own. Nil before the
    /// first session. Any thread.
    public var ownVolume: Double? {
        isOwnVolumeKnown ? VolumeCurve.volume(decibels: loudness.owner ?? SpeakerLoudness.modest) : nil
    }

    /// True after the start of the first session, whether the speaker reported its volume or not.
    public var isOwnVolumeKnown: Bool { loudness.hasAsked }

    private func setVolume(_ decibels: Double) {
        let session = state.withLock { state in
            state.volume = decibels
            return state.session
        }
        session?.control.post { [weak self] core in self?.apply(decibels, in: core) }
    }

    /// Ends the session and stops background work. May block for a few seconds. Volume, speed and address are kept for
    /// the next use.
    public func close() {
        let (session, news, errand) = state.withLock { state in
            defer {
                state = State(
                    speed: state.speed, epoch: state.epoch + 1, use: state.use + 1, volume: state.volume,
                    place: state.place, deviceID: state.deviceID)
            }
            return (state.session, state.news, state.errand)
        }
        news?.cancel()
        session?.end()
        errand?.stop()
    }
}
