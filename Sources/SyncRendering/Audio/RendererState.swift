internal import MediaCore

/// The state of a renderer that its callers and its feeder share: the outputs, the settings, pending commands and the
/// progress. Guarded by the renderer's lock.
struct RendererState {
    /// The maximum number of stored buffers regardless of their duration: limits a source of many tiny buffers.
    private static let maxBuffers = 16_384
    /// The size in bytes from which on no audio beyond `minDepth` is requested: a speaker with minutes of buffer, and
    /// uncompressed audio of many channels.
    private static let maxBytes = 64 << 20
    private static let minDepth: Duration = .seconds(5)
    /// Rate differences below this are not a change of speed: a timebase that follows a foreign clock differs by at
    /// most 100 ppm. A tenth of a percent is a sixtieth of a semitone.
    private static let speedTolerance = 0.001

    /// The timebase of the synchronizer, and the same with the requested delay.
    private(set) var master: Timebase
    private(set) var timebase: Timebase
    /// The synchronizer to which the renderer belongs.
    private(set) weak var synchronizer: RenderSynchronizer?
    private(set) var isJoined = false
    /// The enqueued audio.
    let store = AudioStore()
    /// The settings that the outputs follow.
    let settings = Lock(AudioSettings())
    let partialFlushes = PartialFlushQueue()
    /// Whether the feeder has to flush the outputs.
    private var flushRequested = false
    /// Used with a flush: the media time from which the outputs receive the stored audio; nil: all of it.
    private var resumesFrom: MediaTime?
    private(set) var outputs: OutputGroup?
    private(set) var outputID = OutputID(0)
    /// Whether the feeder has to adopt `outputs`.
    private var outputChanged = false
    /// See `AudioOutput.desiredDepth`; of the outputs when the feeder has read it last.
    private var desiredDepth: Duration = .seconds(1)
    /// The reason why no audio is rendered; nil if there is none.
    var failure: (any Error)?
    /// The progress, without the values that are read from the store and the output.
    private(set) var status = AudioRenderer.Progress(
        acceptedUntil: nil, enqueuedUntil: nil, isDrained: false, hasFailed: false, decodeErrorCount: 0)
    /// Whether a caller has seen the store full and is to be notified of space.
    private var wasFull = false
    /// The timebase segment of the last change notification.
    private var segment: TimebaseSegment?
    /// Whether the missing output was reported.
    private var hasComplained = false
    /// Whether a dropped buffer was reported.
    private var hasReportedDrop = false
    /// Whether the renderer is invalidated.
    private(set) var stopping = false
    /// Counts the uses of the renderer; a feeder with another number ends.
    private(set) var life: UInt64 = 0
    /// Called when the output of the ended use is closed.
    private var onRetired: [@Sendable () -> Void] = []
    /// The outputs of the ended use, which are being closed.
    var retired: [OutputGroup] = []
    /// Outputs that were replaced before the feeder has adopted them, and may be open ahead.
    private var unadopted: [OutputGroup] = []
    var eventHandler: HandlerBox<AudioRenderer.Event>?
    var onAutomaticFlush: HandlerBox<MediaTime>?
    var commandHandler: HandlerBox<(OutputCommand, OutputID)>?

    init(_ master: Timebase) {
        self.master = master
        timebase = Timebase(following: master)
    }

    // MARK: Uses

    /// Attaches the renderer to a synchronizer; returns an error if that is not possible.
    mutating func join(_ synchronizer: RenderSynchronizer) -> RenderError? {
        if stopping { return RenderError(.invalidated, "this renderer was invalidated; create another one") }
        if isJoined { return RenderError(.alreadyAdded, "this renderer has a synchronizer; remove it there first") }
        let delay = timebase.delay
        master = synchronizer.timebase
        timebase = Timebase(following: master)
        timebase.delay = delay
        self.synchronizer = synchronizer
        isJoined = true
        outputChanged = true
        return nil
    }

    /// Detaches the renderer from its synchronizer and ends its use.
    ///
    /// - Parameter completion: For `consumeRetired`.
    mutating func detach(completion: @escaping @Sendable () -> Void) {
        flush()
        flushRequested = false
        master = Timebase(clock: master.clock)
        timebase = Timebase(following: master)
        synchronizer = nil
        isJoined = false
        life += 1
        onRetired.append(completion)
    }

    /// Ends all use of the renderer. Returns the synchronizer to leave.
    mutating func invalidate() -> RenderSynchronizer? {
        flush()
        stopping = true
        partialFlushes.overtake(isEnd: true)
        (eventHandler, commandHandler) = (nil, nil)
        return synchronizer
    }

    /// Returns true while the given use of the renderer is current.
    func isServed(by life: UInt64) -> Bool { !stopping && self.life == life }

    /// Returns the completion handlers of `detach` once.
    mutating func consumeRetired() -> [@Sendable () -> Void] {
        defer { onRetired.removeAll() }
        return onRetired
    }

    // MARK: Enqueueing

    /// Whether the store holds less media than the route's `desiredDepth` ahead of the playhead.
    private var isReady: Bool {
        // A closure that reads while there is space would otherwise read its whole input.
        guard !stopping, partialFlushes.isIdle else { return false }
        let level = store.level
        guard let until = level.enqueuedUntil else { return true }
        // Before the playhead reaches the first audio, the depth counts from that audio. With a negative delay the
        // outputs play audio from ahead of the synchronizer's timeline.
        let playhead = max(master.currentTime, timebase.currentTime, level.firstEnqueued ?? .zero)
        let depth = (until - playhead).duration
        return depth < desiredDepth && level.count < Self.maxBuffers
            && (level.byteCount < Self.maxBytes || depth < Self.minDepth)
    }

    /// Returns whether the store has space; if not, `consumeReadiness` reports it once.
    mutating func requestReadiness() -> Bool {
        let ready = isReady
        if !ready { wasFull = true }
        return ready
    }

    /// Returns true once when the store has space again.
    ///
    /// - Parameter depth: See `AudioOutput.desiredDepth`.
    mutating func consumeReadiness(_ depth: Duration) -> Bool {
        desiredDepth = depth
        guard wasFull, isReady else { return false }
        wasFull = false
        return true
    }

    /// Appends a buffer unless the renderer is invalidated. Returns true for the first buffer that was dropped.
    mutating func enqueue(_ buffer: SampleBuffer) -> Bool {
        guard !stopping, !append(buffer), !hasReportedDrop else { return false }
        hasReportedDrop = true
        return true
    }

    /// Appends a buffer. Returns false if it was dropped.
    @discardableResult
    mutating func append(_ buffer: SampleBuffer) -> Bool {
        status.isDrained = false
        let appended = store.append(buffer, timebase: timebase, master: master)
        store.trim(at: timebase)
        if appended.isLate { status.lateBuffers += 1 }
        guard !appended.isDropped else { return false }
        _ = requestReadiness()
        return true
    }

    /// Records what the outputs have read, and removes played audio from the store; nil: all audio, as far as any of
    /// them is concerned.
    mutating func recordReading(until slowest: AudioCursor?) {
        guard !flushRequested, !outputChanged else { return }
        store.setRead(until: slowest ?? store.end)
        store.trim(at: timebase)
    }

    /// Returns whether the outputs have read all audio, and no more is expected before it has played.
    func isAtEnd(for life: UInt64) -> Bool {
        let level = store.level
        guard level.isAllRead, !status.isDrained, !flushRequested, self.life == life else { return false }
        return level.isAtEnd(at: master.currentTime, acceptedUntil: status.acceptedUntil)
    }

    /// When the playhead reaches the point at which more audio is wanted or the end of the audio is near; nil: not
    /// scheduled.
    var nextNeed: HostInstant? {
        let level = store.level
        return level.nextNeed(
            timebase.delayInAll < .zero ? timebase : master, acceptedUntil: status.acceptedUntil,
            isLast: !status.isDrained && level.isAllRead,
            wanted: wasFull ? desiredDepth : nil)
    }

    // MARK: Flushes

    /// Drops all unplayed audio and requests a flush of the outputs.
    mutating func flush() {
        store.flush()
        restart(from: nil)
        status.lateBuffers = 0
        wasFull = false
    }

    /// Requests a flush of the outputs, which then receive audio from a media time on; nil: all stored audio.
    private mutating func restart(from time: MediaTime?) {
        (flushRequested, resumesFrom) = (true, time)
        store.setRead(until: store.start)
        partialFlushes.overtake()
        status.restart()
        clearFailure()
    }

    /// Returns the next partial flush, which is processed until `endPartialFlush`.
    mutating func beginPartialFlush() -> PartialFlushRequest? {
        flushRequested || outputChanged ? nil : partialFlushes.begin()
    }

    /// Returns the result for the caller. If no audio was enqueued up to the time of the flush, playback ends where the
    /// stored audio ended.
    mutating func endPartialFlush(_ result: PartialFlushResult) -> PartialFlushResult {
        partialFlushes.end()
        guard case .flushed(let time) = result, let end = store.level.enqueuedUntil, end < time
        else { return result }
        return .flushed(from: end)
    }

    /// Removes audio from a time on.
    ///
    /// - Parameter end: The end of the audio that the outputs have accepted.
    mutating func cut(at time: MediaTime, until end: MediaTime?) {
        guard !flushRequested else { return }
        if store.cut(at: time) { status.isDrained = false }
        status.acceptedUntil = end
        wasFull = true
    }

    // MARK: Output and settings

    /// Replaces the outputs, which receive the unplayed audio.
    mutating func setOutputs(_ outputs: OutputGroup?, id: OutputID, depth: Duration) {
        if outputChanged, let old = self.outputs, old !== outputs { unadopted.append(old) }
        self.outputs = outputs
        (outputID, desiredDepth) = (id, depth)
        outputChanged = true
        restart(from: timebase.currentTime)
    }

    /// Sets the speed, with which the outputs receive the unplayed audio again.
    mutating func setSpeed(_ speed: Double) {
        let before = settings.withLock { $0.speed }
        guard speed.isFinite, abs(speed / before - 1) > Self.speedTolerance else { return }
        let held = RenderSynchronizer.held(speed)
        guard held != before else { return }
        settings.withLock { $0.speed = held }
        let upcoming = timebase.snapshot.upcoming
        restart(from: upcoming.mediaTime(at: max(timebase.clock.now, upcoming.hostAnchor)))
    }

    // MARK: Commands for the feeder

    /// What the feeder has to apply.
    struct Command {
        var isFlush: Bool
        /// The media time from which audio follows a flush; nil: all stored audio does.
        var resumesFrom: MediaTime?
        var isOutputChange: Bool
        var outputs: OutputGroup?
        var outputID: OutputID
    }

    /// Returns the pending commands once. Those for a later use of the renderer are not for this feeder.
    mutating func consumeCommand(for life: UInt64) -> Command {
        let isCurrent = self.life == life
        defer { if isCurrent { (flushRequested, outputChanged, resumesFrom) = (false, false, nil) } }
        return Command(
            isFlush: flushRequested || !isCurrent, resumesFrom: isCurrent ? resumesFrom : nil,
            isOutputChange: outputChanged && isCurrent, outputs: outputs, outputID: outputID)
    }

    /// Returns the outputs that no feeder has adopted and that are not wanted any more, once.
    mutating func removeUnadopted() -> [OutputGroup] {
        defer { unadopted = [] }
        let isUnused = outputChanged && (stopping || !isJoined)
        return unadopted.filter { $0 !== outputs } + (isUnused ? [outputs].compactMap { $0 } : [])
    }

    /// Applies a changed timeline. A stopped one leaves the speed unchanged.
    ///
    /// - Returns: True once, if the timebase advances and the renderer has audio but no output.
    mutating func applyTimebase() -> Bool {
        let upcoming = master.snapshot.upcoming
        if upcoming.speed > 0 { setSpeed(upcoming.speed) }
        dropPassed()
        guard outputs == nil, !hasComplained, store.level.enqueueCount > 0, upcoming.rate > 0 else { return false }
        hasComplained = true
        return true
    }

    /// Drops audio after a seek without a flush beyond everything that the outputs hold. Such audio is never played and
    /// would keep them full while the timebase is stopped.
    private mutating func dropPassed() {
        let (upcoming, before) = (timebase.snapshot.upcoming, segment)
        self.segment = upcoming
        if upcoming.skips(before, acceptedUntil: status.acceptedUntil) { restart(from: upcoming.mediaAnchor) }
    }

    // MARK: Progress

    /// The progress, without the values that are read from the outputs.
    var progress: AudioRenderer.Progress {
        var (progress, level) = (status, store.level)
        progress.enqueuedUntil = level.enqueuedUntil
        progress.isDrained = status.isDrained && level.isAllRead
        return progress
    }

    /// Records the end of the audio that the outputs have accepted; returns whether it has changed.
    @discardableResult
    mutating func accept(until: MediaTime?) -> Bool { !flushRequested && status.accept(until: until) }

    /// Records that the outputs have converted all audio; audio that arrived meanwhile keeps the renderer undrained.
    mutating func drain(acceptedUntil until: MediaTime?) {
        let level = store.level
        if !flushRequested, level.isAllRead { status.drain(acceptedUntil: until, level) }
    }

    /// Records the failure that an event reports; returns the handler of events.
    ///
    /// - Parameter isFailed: Whether the renderer fails permanently.
    mutating func record(_ event: AudioRenderer.Event, isFailed: Bool) -> HandlerBox<AudioRenderer.Event>? {
        if isFailed { status.hasFailed = true }
        switch event {
        case .cannotDecode(let error): failure = error
        case .outputFailed(let error): failure = error
        case .readyForMoreMediaData, .progress: break
        }
        return eventHandler
    }

    mutating func clearFailure() {
        failure = nil
        status.hasFailed = false
    }
}

/// A handler in a box: copying a closure out of a lock allocates each time.
final class HandlerBox<Argument>: Sendable {
    let call: @Sendable (Argument) -> Void
    init(call: @escaping @Sendable (Argument) -> Void) { self.call = call }
}
