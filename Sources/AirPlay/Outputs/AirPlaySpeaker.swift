internal import AirPlayWire
internal import Glibc
internal import MediaCore
package import PTP
public import SyncRendering

/// One AirPlay 2 speaker as a place where sound goes.
///
/// On the buffered route the film's own AAC goes through untouched where the speaker can decode it; realtime routes
/// carry lossless sound at 44.1 kHz. Film moment M is heard at host instant
/// H because the speaker is told so once, as a line on the clock that this computer serves; it compensates its own
/// delay itself. Requests run on the session's control thread.
public final class AirPlaySpeaker: AudioOutput {
    /// How sound is encoded that cannot go through untouched.
    public enum Encoding: Sendable { case lossless, aac }

    public let name: String
    public var kind: AudioRouteKind { route == .buffered ? .bufferedSpeaker : .realtimeSpeaker }
    /// What kind of stream, and whose time it runs on.
    package var route: Route { configuration.route }
    let configuration: AirPlaySession.Configuration
    let clocks: PTPDirectory
    /// This computer's clock, which the timebase is on.
    var host: any HostClock { clocks.clock }
    let encoding: Encoding
    let state = Lock(State())
    let loudness = SpeakerLoudness()
    /// What plays, when somebody has said.
    private let shownTitle = Lock<String?>(nil)

    struct State {
        var session: AirPlaySession?
        var stream: StreamFormat?
        var setup: StreamSetup?
        var context: AudioOutputContext?
        var line: SoundLine?
        /// The packets, which outlive a lost session.
        var store: PacketStore?
        var isPassThrough = false
        /// Packets of another kind come next in the same stream: those that overlap the last are left out.
        var isJoining = false
        /// Film seconds per second of sound.
        var speed = 1.0
        var acceptedUntil: MediaTime?
        var isFinished = false
        /// What the present session was told to play by.
        var told: SentAnchor?
        /// Sessions made anew because the clock had stalled.
        var renewals = 0
        /// Counts jumps and new streams: an anchor for an older one is void.
        var epoch: UInt64 = 0
        /// Counts `close`: a rejoin for an older use of the speaker gives up.
        var use: UInt64 = 0
        /// dB asked for; nil leaves the speaker as its owner set it.
        var volume: Double?
        var news: Task<Void, Never>?
        /// When the present session was made, and how many before it were ended by the speaker at once.
        var adopted = HostInstant(nanoseconds: 0)
        var evictions = 0
        /// What the speaker showed before we played there.
        var idleFlags: StatusFlags = []
        /// What it shows when somebody else plays there: not every speaker has a flag for that, but one that some show
        /// while they play means something else on those that show it always.
        var busyFlags: StatusFlags { idleFlags.contains(.playing) ? .busy : [.busy, .playing] }
        /// What is done for it on a thread of its own: bringing it back, or ending a session.
        var errand: BackgroundTask?
        /// Why the last session was lost; nil when it ended as it should.
        var interruption: String?
        /// The first instant for which the speaker took a start that was not taken back before it came.
        var firstHeard: HostInstant?
        /// The instant from which the present session is heard; nil before its first start.
        var audibleFrom: HostInstant?
        func isHeard(at now: HostInstant) -> Bool { firstHeard.map { $0 <= now } ?? false }

        /// The session is lost, or the start taken back: what was promised and has not been heard is none.
        mutating func takeBackFirstStart(at now: HostInstant) {
            if !isHeard(at: now) { firstHeard = nil }
        }
        /// The last request to take something back.
        var recall: Recall?
        /// When what the speaker was told to leave out would have been heard, for requests that still wait there.
        var recalls: [HostInstant] = []
        /// Where it was found last, when that is not where it was named, and who it said that it is.
        var place: SpeakerAddress?
        var deviceID: SpeakerID?
        /// The title that the session was made with.
        var sentTitle: String?
        /// What the speaker calls its make.
        var model: String?
        /// It is given up: sound is taken and forgotten, so that the film gets to its end.
        var failure: OutputError?
        /// It refuses the volume that was set last.
        var gainFailure: OutputError?
    }

    /// - Parameters:
    ///   - clocks: this process's PTP instances; speakers that play together are made with the same.
    ///   - encoding: for buffered sound that cannot go through untouched.
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

    /// What plays, for speakers that show it: the film's title. Kept for later sessions. Any thread; returns at once.
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
        // ignored: a title that is refused changes nothing that is heard, and a lost session is told by its news.
        session.control.post { core in try? core.setMetadata(title: title, at: moment) }
    }

    /// Some speakers are silent until they have seen a title, so there is always one.
    var title: String { shownTitle.withLock { $0 } ?? "Talkie" }

    // MARK: Control

    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { requestAttention() }

    func requestAttention() {
        state.withLock { $0.session }?.control.post { $0.requestAttention() }
    }

    /// Bounded to what speakers have: −30…0 dB, and silence. Without a call the speaker has the volume its owner chose.
    public func setGain(_ gain: Float) {
        let decibels = gain > 0 ? max(-30, min(0, 20 * log10(Double(gain)))) : -144
        setVolume(decibels)
    }

    public func restoreGain() {
        guard state.withLock({ $0.volume != nil }) else { return }
        setVolume(loudness.owner ?? SpeakerLoudness.modest)
    }

    /// A modest volume for a speaker that does not report its own.
    public var ownVolume: Double? {
        isOwnVolumeKnown ? VolumeCurve.volume(decibels: loudness.owner ?? SpeakerLoudness.modest) : nil
    }

    /// True from the first session on, whether the speaker reported its volume or not.
    public var isOwnVolumeKnown: Bool { loudness.hasAsked }

    private func setVolume(_ decibels: Double) {
        let session = state.withLock { state in
            state.volume = decibels
            return state.session
        }
        session?.control.post { [weak self] core in self?.apply(decibels, in: core) }
    }

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
