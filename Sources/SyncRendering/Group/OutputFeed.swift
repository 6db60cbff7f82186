internal import MediaCore
internal import Synchronization

/// An output of a renderer: its position in the renderer's store, its timeline with a gate and a delay, and the thread
/// that opens and closes it, with retries. An `OutputFeeder` converts and delivers the audio. Any thread unless stated
/// otherwise.
final class OutputFeed: Sendable {
    private enum Condition {
        case opening, open
        case failed(OutputError)
    }

    /// The role of the output in the group.
    enum Role: UInt8, AtomicRepresentable { case playing, joining, leaving }

    let member: any AudioOutput
    let abilities: OutputAbilities
    let id: OutputID
    let codecs: any AudioCodecs
    let store: AudioStore
    /// The timeline of the output: that of the renderer with a gate and a delay.
    let timebase: Timebase
    /// The settings of the renderer.
    private let settings: Lock<AudioSettings>
    let state: Lock<FeedState>
    let partialFlushes: PartialFlushQueue
    /// Wakes the feeder: audio arrived, space became available, or the state changed. That of the renderer's thread if
    /// this runs the feeder.
    let wake: Signal
    /// The context of the renderer.
    private let renderer: AudioOutputContext
    /// The objects shared with the renderer's other outputs.
    let scope: GroupSharedContext
    let work: GroupWork
    /// Notified of every change of state here.
    private let changes: MemberChanges
    /// Whether the output is open, guarded by its own lock.
    private let condition = Lock(Condition.opening)
    /// The format for which the output is opened, guarded by its own lock.
    private let format = Lock<AudioFormat?>(nil)
    /// Stored with release by the thread that changes the group's members.
    private let currentRole: Atomic<Role>
    /// Whether the output receives new audio: from the start, or since it was filled. Stored with release by `fill`.
    private let fed: Atomic<Bool>
    /// The error of an undecodable format, until audio plays again; guarded by its own lock.
    private let undecodable = Lock<MediaError?>(nil)
    /// Raised after each attempt to open the output.
    private let answer = Signal()
    /// Whether the first attempt has ended, and with it the calls into the output by the thread that made it. Stored
    /// with release.
    private let answered = Atomic<Bool>(false)
    /// Whether the open output is prepared for another delivery. Stored with release.
    private let preparing = Atomic<Bool>(false)
    /// Raised by `close`.
    private let closing = Signal()
    /// Set with release by `close`, before it waits for the worker.
    private let isClosing = Atomic<Bool>(false)
    private let use: OutputUse
    /// The last thread that opens or closes the output, guarded by its own lock. Each waits for the one before it.
    private let worker = Lock<WorkerThread?>(nil)
    /// Called each time that the output has opened, on the thread that opened it, before and after the feeder has it.
    private let opened: @Sendable (OutputFeed, _ isAttached: Bool) -> Void
    /// The feeder; nil once the feed is closed. Held during a whole iteration. Contended only at the end.
    private let feeder = Lock<OutputFeeder?>(nil)
    /// The feeder's thread, guarded by its own lock; nil if there is none.
    private let thread = Lock<WorkerThread?>(nil)
    /// Whether the renderer's thread runs the feeder. Stored with release.
    private let shared: Atomic<Bool>

    /// Longer than an output takes to recover from an underrun, shorter than the store keeps what was played.
    private static let maxLateness: Duration = .milliseconds(1500)
    /// The pauses between attempts to open an unavailable output; the last one is repeated.
    private static let pauses: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(40)]

    /// Creates a feed, which has to be closed; the caller starts it with `start`.
    ///
    /// - Parameters:
    ///   - context: That of the renderer.
    ///   - isShared: Whether the renderer's thread runs the feeder.
    ///   - delay: The delay of this output against the renderer.
    ///   - channels: The channels that it plays.
    init(
        _ abilities: OutputAbilities, id: OutputID, role: Role, context: AudioOutputContext, isShared: Bool,
        codecs: any AudioCodecs, work: GroupWork, scope: GroupSharedContext, changes: MemberChanges, store: AudioStore,
        settings: Lock<AudioSettings>, delay: Duration, channels: ChannelSelection,
        opened: @escaping @Sendable (OutputFeed, _ isAttached: Bool) -> Void
    ) {
        (self.abilities, member, self.id, self.codecs, self.work) = (abilities, abilities.output, id, codecs, work)
        (self.scope, self.changes, self.store, self.opened, renderer) = (scope, changes, store, opened, context)
        self.settings = settings
        wake = isShared ? context.writable : Signal()
        shared = Atomic(isShared)
        use = OutputUse(of: member)
        currentRole = Atomic(role)
        fed = Atomic(role == .playing)
        timebase = Timebase(gating: context.timebase)
        timebase.delay = delay
        if role == .joining { timebase.setGate(OutputGate(isShut: true)) }
        var state = FeedState(timebase, reading: store, settings, channels: channels)
        if role == .playing { state.beginReading() }
        partialFlushes = state.partialFlushes
        self.state = Lock(state)
        feeder.withLock { $0 = OutputFeeder(feed: self) }
    }

    var events: EventLog { renderer.events }
    var role: Role { currentRole.load(ordering: .acquiring) }
    /// Whether the output receives new audio.
    var isFed: Bool { fed.load(ordering: .acquiring) }
    /// Whether the output is open.
    var isOpen: Bool { condition.withLock { if case .open = $0 { true } else { false } } }
    /// Whether the first attempt to open the output has ended.
    var hasAnswered: Bool { answered.load(ordering: .acquiring) }

    /// The reason why the output is silent, its own or undecodable audio; nil while it plays or is being opened.
    var failure: OutputError? {
        outputFailure ?? decodingFailure.map { OutputError(.unsupportedFormat, $0.message) }
    }

    /// The reason why the output is not open; nil while it is, or is being opened.
    private var outputFailure: OutputError? {
        condition.withLock { if case .failed(let error) = $0 { error } else { nil } }
    }

    /// Why the audio cannot be decoded; nil if it can. The output itself is in order.
    var decodingFailure: MediaError? { undecodable.withLock { $0 } }

    /// The reason for the silence of the output itself, also during its own recovery.
    var loss: OutputError? { outputFailure ?? (isOpen ? abilities.loss : nil) }

    /// Whether the open output has left audio in the store that was due a while ago: it does not accept any, or does
    /// not signal that it could.
    var isStarved: Bool {
        guard isOpen, timebase.rate > 0 else { return false }
        let due = renderer.timebase.currentTime.advanced(by: .zero - Self.maxLateness)
        // Nothing is read while the output is prepared for another delivery.
        guard !preparing.load(ordering: .acquiring) else { return false }
        return state.withLock { $0.cursor }.map { store.hasUnread($0, before: due) } ?? false
    }

    /// See `FeedState.mustDecode`.
    var mustDecode: Bool { state.withLock { $0.mustDecode } }

    var progress: AudioRenderer.Progress { state.withLock { $0.progress } }

    /// Whether the feeder has the open output.
    private var isAttached: Bool { state.withLock { $0.output != nil } }

    /// The timeline to which the synchronizer must be steered if the output's timing is fixed; usually nil.
    var remoteTimeline: TimebaseSegment? {
        guard var timeline = abilities.ownClock?.remoteTimeline, isAttached else { return nil }
        timeline.hostAnchor = timeline.hostAnchor.advanced(by: .zero - timebase.delay)
        return timeline
    }

    /// See `OwnClockOutput.adjustRemoteRate`.
    func adjustRemoteRate(by offset: Double) -> Bool {
        isAttached && abilities.ownClock?.adjustRemoteRate(by: offset) ?? false
    }

    // MARK: Commands

    /// Changes the state, and wakes the feeder. Calls no output.
    func change(_ body: (inout FeedState) -> Void) {
        state.withLock(body)
        wake.raise()
    }

    /// Same; applies new settings to the output.
    func update(_ body: (inout FeedState) -> Void) {
        let applies = state.withLock { state in
            body(&state)
            return state.beginOutputSettings()
        }
        while applies, let new = state.withLock({ $0.consumeOutputSettings() }) {
            if new.isItemNew { abilities.display?.setNowPlaying(new.item) }
            guard new.isGainNew else { continue }
            if let gain = new.gain { member.setGain(gain) } else { abilities.restoreGain() }
        }
        wake.raise()
    }

    /// Applies a changed timeline to the output.
    func timebaseDidChange() {
        let output = state.withLock { state in
            state.applyTimebase()
            return state.output
        }
        output?.timebaseDidChange(timebase.snapshot)
        // The playhead may be closer to the end of the audio.
        wake.raise()
    }

    /// Sets the delay against the renderer's timeline.
    func setDelay(_ delay: Duration) {
        timebase.delay = delay
        timebaseDidChange()
    }

    /// Changes the role and the range of media in which the output is audible. The group serializes these calls.
    func setRole(_ role: Role, gate: OutputGate) {
        currentRole.store(role, ordering: .releasing)
        timebase.setGate(gate)
        timebaseDidChange()
    }

    /// Drops the accepted audio, and reads the store from a media time on; the output is silent until its gate opens.
    /// The caller then calls `timebaseDidChange`.
    func fill(from time: MediaTime) {
        timebase.setGate(OutputGate(isShut: true, opens: time))
        fed.store(true, ordering: .releasing)
        change { [store] in $0.restart(at: store.cursor(startingAt: time)) }
    }

    /// Drops the accepted audio, if the output receives any. It then receives audio from a media time on; nil: all
    /// stored audio.
    func restart(from time: MediaTime?) {
        guard isFed else { return }
        // A stopped timeline is at the time with any delay.
        let delay = timebase.snapshot.upcoming.rate > 0 ? timebase.delay : .zero
        change { $0.restart(from: time, playingLaterBy: delay) }
    }

    /// Requests a partial flush.
    ///
    /// - Parameter completion: Called once on the feeder's thread, or on the caller's if the feed has ended.
    func requestFlush(
        fromSourceTime time: MediaTime, completion: @escaping @Sendable (PartialFlushResult) -> Void
    ) {
        partialFlushes.append(PartialFlushRequest(time: time, completion: completion))
        wake.raise()
    }

    // MARK: Reports of the feeder

    /// Reports that the output has accepted audio, or all of it.
    func reportProgress() {
        if progress.acceptedUntil != nil { undecodable.withLock { $0 = nil } }
        // The caller of a shared feeder checks after each iteration.
        if !isShared { renderer.writable.raise() }
        changes.wake()
    }

    /// Reports audio of a format that cannot be decoded.
    func reportUndecodable(_ error: MediaError) {
        undecodable.withLock { $0 = error }
        signalMove()
    }

    /// Reports a failure of the output, which the feeder does not call any more. It is closed, and opened again if that
    /// is useful.
    func lose(_ failure: OutputError) {
        fail(failure)
        update { $0.setOutput(nil, preparedFor: nil) }
        do throws(ExhaustionError) {
            try perform("group closing") { self.member.close() }
        } catch {
            member.close()
        }
        if !timebase.clock.isRealTime { worker.withLock({ $0 })?.join() }
        if mayTryAgain(after: failure) { open(after: Self.pauses[0]) }
    }

    /// Wakes the renderer's feeder and the current change of members.
    private func signalMove() {
        renderer.writable.raise()
        changes.wake()
    }

    // MARK: Opening and closing

    /// Starts the feeder's thread, and to open the output for a format, with retries.
    func start(_ format: AudioFormat) {
        startFeeder()
        self.format.withLock { $0 = format }
        open(after: .zero)
    }

    /// Waits for the first attempt to open the output, for a test with a manually driven clock.
    func waitForAnswer() {
        guard worker.withLock({ $0 }) != nil else { return }
        while !hasAnswered { answer.wait() }
    }

    /// Prepares the open output for another delivery. The feeder makes no call of it until `FeedState.Command.prepared`
    /// has the result.
    func prepareAgain(_ delivery: AudioDelivery, for format: AudioFormat, mustDecode: Bool) {
        // No time passes for a test that drives the clock and the feeder.
        let decided = timebase.clock.isRealTime ? nil : Signal()
        preparing.store(true, ordering: .releasing)
        do throws(ExhaustionError) {
            try perform("group opening") { [self] in
                defer {
                    preparing.store(false, ordering: .releasing)
                    decided?.raise()
                }
                guard !isClosing.load(ordering: .acquiring) else { return }
                do throws(OutputError) {
                    let prepared = try member.prepare(delivery, for: format, mustDecode: mustDecode, context: context)
                    member.timebaseDidChange(timebase.snapshot)
                    change { $0.setPrepared(for: prepared) }
                } catch {
                    fail(error)
                    update { $0.setOutput(nil, preparedFor: nil) }
                    decided?.raise()
                    if mayTryAgain(after: error) { openWithRetries(after: Self.pauses[0]) }
                }
            }
        } catch {
            preparing.store(false, ordering: .releasing)
            return lose(OutputError(error, output: member.name))
        }
        if worker.withLock({ $0 }) != nil { decided?.wait() }
    }

    /// Ends the delivery, before the output is closed. Does not block.
    func stop() {
        isClosing.store(true, ordering: .releasing)
        closing.raise()
        use.cancel()
        change { $0.stop() }
    }

    /// Closes the output. If another feed waits for it, it is flushed and stays open. Blocks until a running attempt to
    /// open it has ended.
    func close() {
        stop()
        endFeeder()
        worker.withLock({ $0 })?.join()
        let passesOn = isOpen && loss == nil && use.isAwaited
        // The next feed may deliver as soon as it has the turn.
        if passesOn { member.flush() }
        // Without the turn another feed has the output, or this one was closed before.
        use.end(passesOn: passesOn) { member.close() }
    }

    /// Records a failure and logs the loss of a playing output.
    private func fail(_ error: OutputError) {
        let isChange = condition.withLock { condition in
            defer { condition = .failed(error) }
            if case .failed = condition { return false }
            if case .opening = condition { scope.unopened.insert(member) }
            return true
        }
        // An output that never joined is not lost.
        if isChange, role == .playing { events.append(.outputLost(output: id)) }
        answered.store(true, ordering: .releasing)
        answer.raise()
        signalMove()
    }

    /// Runs work that may block on a thread, after any that was begun before.
    private func perform(_ name: String, _ body: @escaping @Sendable () -> Void) throws(ExhaustionError) {
        try worker.withLock { (worker) throws(ExhaustionError) in
            let before = worker
            worker = try work.run(name) {
                before?.join()
                body()
            }
        }
    }

    /// Starts a thread that opens the output after a pause.
    private func open(after pause: Duration) {
        guard !isClosing.load(ordering: .acquiring) else { return }
        do throws(ExhaustionError) {
            try perform("group opening") { self.openWithRetries(after: pause) }
        } catch {
            fail(OutputError(error, output: member.name))
        }
    }

    /// Opens the output, with retries while they are useful. Runs on the worker.
    private func openWithRetries(after pause: Duration) {
        var pauses = Self.pauses[...]
        use.waitForTurn()
        work.pause(closing, pause)
        while !isClosing.load(ordering: .acquiring), let format = format.withLock({ $0 }) {
            do throws(OutputError) {
                let (mustDecode, channels) = state.withLock { ($0.mustDecode, $0.channels) }
                let format = channels.presented(format)
                let delivery = member.delivery(for: format, mustDecode: mustDecode)
                // A session begins with it: some speakers are silent until they receive a title.
                abilities.display?.setNowPlaying(settings.withLock { $0.nowPlaying })
                return attach(
                    preparedFor: try member.prepare(delivery, for: format, mustDecode: mustDecode, context: context))
            } catch {
                fail(error)
                guard mayTryAgain(after: error) else { return }
                work.pause(closing, pauses.popFirst() ?? Self.pauses.last!)
            }
        }
    }

    /// The context for the output.
    private var context: AudioOutputContext {
        AudioOutputContext(
            timebase: timebase, writable: wake, events: events, id: id, group: scope, onCommand: renderer.onCommand)
    }

    /// Returns true if a retry is useful. A busy speaker stays with its sender, and missing permission persists. An
    /// output that fails to join during playback is reported to the user instead.
    private func mayTryAgain(after error: OutputError) -> Bool {
        guard role == .playing else { return false }
        return error.code == .unavailable || error.code == .lost || error.code == .failed
    }

    /// Lets the feeder deliver to the open output from the playhead on.
    private func attach(preparedFor delivery: AudioDelivery) {
        let wasLost = condition.withLock { condition in
            defer { condition = .open }
            scope.unopened.remove(member)
            if case .failed = condition { return true }
            return false
        }
        opened(self, false)
        update { $0.setOutput(member, preparedFor: delivery) }
        opened(self, true)
        member.timebaseDidChange(timebase.snapshot)
        if wasLost { events.append(.outputRestored(output: id)) }
        answered.store(true, ordering: .releasing)
        answer.raise()
        signalMove()
    }

    // MARK: The feeder's thread

    /// Whether the renderer's thread runs the feeder. Any thread.
    var isShared: Bool { shared.load(ordering: .acquiring) }

    /// Starts the feeder's thread; if the system provides none, the renderer's thread runs the feeder.
    private func startFeeder() {
        guard !isShared else { return }
        thread.withLock { thread in
            do throws(ExhaustionError) {
                thread = try work.startFeeder(self) { self.run() }
            } catch {
                shared.store(true, ordering: .releasing)
            }
        }
    }

    /// Performs all work that does not block.
    ///
    /// - Parameter limit: The maximum number of steps.
    /// - Returns: Whether audio advanced, and when work is due without a signal.
    @discardableResult
    func runIteration(atMost limit: Int = .max) -> (hasMoved: Bool, due: HostInstant?) {
        feeder.withLock { feeder in
            let before = feeder?.steps
            let due = feeder?.performDueWork(atMost: limit)
            return (feeder?.steps != before, due ?? nil)
        }
    }

    /// The loop of the feeder's thread.
    private func run() {
        while true {
            let (_, due) = runIteration()
            if isClosing.load(ordering: .acquiring) { return }
            wake.waitForWork(until: due, on: timebase.clock)
        }
    }

    /// Ends the feeder after `stop`.
    private func endFeeder() {
        thread.withLock { $0 }?.join()
        runIteration()
        // The feeder refers to its feed.
        feeder.withLock { $0 = nil }
    }
}
