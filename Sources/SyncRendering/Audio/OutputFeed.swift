internal import MediaCore

/// What an output of a renderer receives: a position in the renderer's store, a timeline with a gate and a delay, and a
/// feeder that converts and delivers the audio. Any thread.
final class OutputFeed: Sendable {
    /// The objects shared with the renderer's other outputs.
    let scope: GroupSharedContext
    let codecs: any AudioCodecs
    let events: EventLog
    let id: OutputID
    /// The timeline of the output: that of the renderer with a gate and a delay.
    let timebase: Timebase
    let store: SoundStore
    let state: Lock<FeedState>
    /// Wakes the feeder: audio arrived, space became available, or the state changed.
    let wake = Signal()
    private let onCommand: @Sendable (OutputCommand, OutputID) -> Void

    init(
        following context: AudioOutputContext, id: OutputID, reading store: SoundStore, _ settings: SoundSettings,
        codecs: any AudioCodecs, scope: GroupSharedContext
    ) {
        (self.id, self.store, self.codecs, self.scope) = (id, store, codecs, scope)
        (events, onCommand) = (context.events, context.onCommand)
        timebase = Timebase(gating: context.timebase)
        state = Lock(FeedState(timebase, reading: store, settings))
    }

    /// Changes the state and wakes the feeder.
    func update(_ body: (inout FeedState) -> Void) {
        state.withLock { body(&$0) }
        wake.raise()
    }

    /// Sets the delay against the renderer's timeline.
    func setDelay(_ delay: Duration) {
        timebase.delay = delay
        timebaseDidChange()
    }

    /// Sets the range of media time in which the output is audible.
    func setGate(_ gate: OutputGate) {
        timebase.setGate(gate)
        timebaseDidChange()
    }

    /// Applies a changed timeline to the output.
    func timebaseDidChange() {
        let output = state.withLock { state in
            state.followTimebase()
            return state.output
        }
        output?.timebaseDidChange(timebase.snapshot)
        // The playhead may be closer to the end of the audio.
        wake.raise()
    }

    /// The context for the output.
    var context: AudioOutputContext {
        AudioOutputContext(
            timebase: timebase, writable: wake, events: events, id: id, group: scope, onCommand: onCommand)
    }

    /// See `FeedState.mustDecode`.
    var mustDecode: Bool { state.withLock { $0.mustDecode } }

    var progress: AudioRenderer.Progress { state.withLock { $0.progress } }

    /// The timeline to which the synchronizer must be steered if the output's timing is fixed; usually nil.
    var remoteTimeline: TimebaseSegment? {
        guard var line = state.withLock({ $0.output })?.ownClock?.remoteTimeline else { return nil }
        line.hostAnchor = line.hostAnchor.advanced(by: .zero - timebase.delay)
        return line
    }

    /// See `OwnClockOutput.adjustRemoteRate`.
    func adjustRemoteRate(by offset: Double) -> Bool {
        state.withLock { $0.output }?.ownClock?.adjustRemoteRate(by: offset) ?? false
    }

    /// Requests a partial flush.
    ///
    /// - Parameter completion: Called once on the feeder's thread, or on the caller's if the feed has ended.
    func requestFlush(
        fromSourceTime time: MediaTime, completion: @escaping @Sendable (PartialFlushResult) -> Void
    ) {
        let request = PartialFlushRequest(time: time, completion: completion)
        if state.withLock({ $0.request(request) }) { wake.raise() } else { completion(.overtaken) }
    }

    /// Completes superseded requests with `overtaken`.
    func reportOvertakenFlushes() {
        for request in state.withLock({ $0.takeOvertaken() }) { request.completion(.overtaken) }
    }

    /// Calls the event handler.
    func report(_ event: AudioRenderer.Event) { state.withLock { $0.eventHandler }?.call(event) }
}

extension Signal {
    /// Polling interval for manually driven clocks, which do not signal their changes.
    private static let handTurnedLook: Duration = .milliseconds(20)

    /// Blocks until the signal is raised or `due`; nil: no deadline.
    func waitForWork(until due: HostInstant?, on clock: any HostClock) {
        if !clock.isRealTime {
            wait(until: .now.advanced(by: Self.handTurnedLook))
        } else if let due {
            wait(until: clock.machineInstant(of: due))
        } else {
            wait()
        }
        clear()
    }
}
