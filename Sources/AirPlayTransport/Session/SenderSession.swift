package import MediaCore
package import PTP

/// The state of a session, as an output uses it. Used on the control thread only.
package protocol SenderSessionCore: ControlledSession {
    /// Performs the output's due work between requests. Returns the instant of the next call; nil: none.
    var service: ((Self) -> HostInstant?)? { get set }
    /// Whether the session is not lost and the speaker shows signs of life.
    var isResponsive: Bool { get }
    /// Schedules a call of `service`.
    func requestAttention()
    /// Sets the volume in dB.
    func setVolume(decibels: Double) throws(AirPlayError)
    /// Sends what the speaker displays. Returns false if it refuses.
    func show(_ request: NowPlayingUpdates.Request) throws(AirPlayError) -> Bool
    /// Returns whether the speaker answers a request.
    func answers() -> Bool
}

/// A session of this sender with one speaker. Requests run in order on a control thread. Any thread.
package protocol SenderSession: AnyObject, Sendable {
    associatedtype Core: SenderSessionCore

    var control: ControlThread<Core> { get }
    var events: AsyncStream<SenderSessionEvent> { get }
    /// The address of the speaker.
    var address: SpeakerAddress { get }
    /// Whether the session has failed or ended.
    var isLost: Bool { get }
    /// Whether the speaker shows no sign of life; it may still play its buffered audio.
    var isUnresponsive: Bool { get }
    /// Whether the speaker has announced our group while we played to it: its announcements then reveal its owner.
    var tellsGroup: Bool { get }
    /// The synchronization state of the speaker's clock, and when it is ready, if known.
    var clock: (readiness: ClockReadiness, ready: HostInstant?) { get }

    /// Wakes the sending thread for new packets in the store.
    func wakeWriter()
    /// Stops sending by a timeline until the next start; the speaker plays what it has buffered.
    func haltStream()
    /// Releases the speaker and closes all connections; blocks for about a second.
    func end()
}

/// Time between the pause and the end of a session that another sender takes over.
private let takeoverTime = Duration.milliseconds(150)

extension SenderSession {
    /// Returns whether the speaker answers a request after the pause that precedes a takeover by another sender.
    func isServedAfterPause() async -> Bool {
        // ignored: a cancelled task belongs to a session that is no longer used.
        try? await Task.sleep(for: takeoverTime)
        return await withCheckedContinuation { continuation in
            let isPosted = control.post { continuation.resume(returning: $0.answers()) }
            if !isPosted { continuation.resume(returning: false) }
        }
    }
}

/// A session with a stream that an output has begun, and what it has sent about the item.
package struct JoinedSession<Session: SenderSession, Setup: Sendable>: Sendable {
    package let session: Session
    /// What the speaker has agreed on.
    package let setup: Setup
    let updates: NowPlayingUpdates
    /// The volume that was sent.
    let decibels: Double?

    package init(session: Session, setup: Setup, updates: NowPlayingUpdates, decibels: Double?) {
        (self.session, self.setup, self.updates, self.decibels) = (session, setup, updates, decibels)
    }
}
