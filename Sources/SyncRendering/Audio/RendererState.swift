internal import MediaCore

/// The state of a renderer that its callers and its feeder share: the position in the store, the output, the settings,
/// pending commands and the progress. Guarded by the renderer's lock.
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
    /// A discontinuity of the timebase below this is no seek: a rounded stop, or a followed clock.
    private static let minJump: Duration = .milliseconds(5)
    /// Requests have stopped and less audio than this remains: the audio is considered complete and the converter is
    /// drained. See `nextNeed`.
    private static let lastMoment: Duration = .milliseconds(250)

    /// The timebase of the synchronizer, and the same with the requested delay.
    private(set) var master: Timebase
    private(set) var timebase: Timebase
    /// The synchronizer to which the renderer belongs.
    private(set) weak var synchronizer: RenderSynchronizer?
    private var isJoined = false
    /// The enqueued audio; for a member of a group that of the group's renderer.
    let store: SoundStore
    /// Whether audio is enqueued in this renderer.
    let ownsStore: Bool
    /// The next buffer to deliver; nil: a member that receives no audio yet.
    private(set) var cursor: SoundCursor?
    /// Whether a partial flush of all members is decided here and audio is removed from the store next.
    private var isCutPending = false
    private var partialFlushes = PartialFlushQueue()
    /// Whether the feeder has to flush the output.
    private var flushRequested = false
    /// Used with a flush: audio before this media time only primes the codecs and is not delivered.
    private var resumesFrom: MediaTime?
    private(set) var output: (any AudioOutput)?
    private(set) var outputID = OutputID(0)
    /// Whether the feeder has to adopt `output`.
    private var outputChanged = false
    /// The delivery for which it is prepared; nil: it is not.
    private var preparedDelivery: AudioDelivery?
    /// Media seconds per second of audio.
    private(set) var speed: Double = 1
    /// The linear gain; nil: the output keeps its own volume.
    private(set) var volume: Float?
    private(set) var isMuted = false
    /// As requested; see `effectiveProcessing`.
    private(set) var processing = AudioProcessing.none
    private(set) var allowsPassThrough = true
    /// The item that the output displays; nil: none.
    private(set) var nowPlaying: NowPlaying?
    /// The reason why no audio is rendered; nil if there is none.
    var failure: (any Error)?
    /// The progress, without the values that are read from the store and the output.
    private(set) var status = AudioRenderer.Progress(
        acceptedUntil: nil, enqueuedUntil: nil, isDrained: false, hasFailed: false, decodeErrorCount: 0)
    /// Undecodable audio that was not yet queried.
    private var undecodable: UndecodableSound?
    /// Whether a caller has seen the store full and is to be notified of space.
    private var wasFull = false
    /// The timebase segment of the last change notification.
    private var line: TimebaseSegment?
    /// Whether the missing output was reported.
    private var hasComplained = false
    /// Whether a dropped buffer was reported.
    private var hasReportedDrop = false
    /// Whether the renderer is invalidated.
    private(set) var stopping = false
    /// Counts the uses of the renderer; a feeder with another number ends.
    private(set) var life: UInt64 = 0
    /// Called when the feeder of the ended use has closed its output.
    private var onRetired: [@Sendable () -> Void] = []
    var eventHandler: HandlerBox<AudioRenderer.Event>?
    var onAutomaticFlush: HandlerBox<MediaTime>?
    var commandHandler: HandlerBox<(OutputCommand, OutputID)>?

    /// - Parameter store: The store of the group's renderer; nil: the renderer has its own.
    init(_ master: Timebase, reading store: SoundStore? = nil) {
        self.master = master
        self.store = store ?? SoundStore()
        ownsStore = store == nil
        if ownsStore { cursor = self.store.start }
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
        // A device takes up to a second to open: open it before the first audio arrives.
        output?.open()
        return nil
    }

    /// Detaches the renderer from its synchronizer and ends its use.
    ///
    /// - Parameter completion: For `takeRetired`.
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
        (eventHandler, commandHandler) = (nil, nil)
        return synchronizer
    }

    /// Returns true while the given use of the renderer is current.
    func isServed(by life: UInt64) -> Bool { !stopping && self.life == life }

    /// Returns the completion handlers of `detach` once.
    mutating func takeRetired() -> [@Sendable () -> Void] {
        defer { onRetired.removeAll() }
        return onRetired
    }

    // MARK: Queue

    /// Whether the store holds less media than the route's `desiredDepth` ahead of the playhead.
    private var isReady: Bool {
        guard partialFlushes.isIdle else { return false }
        let level = store.level
        guard let until = level.enqueuedUntil else { return true }
        // Before the playhead reaches the first audio, the depth counts from that audio.
        let playhead = max(master.currentTime, level.firstEnqueued ?? .zero)
        let depth = (until - playhead).duration
        return depth < desiredDepth && level.count < Self.maxBuffers
            && (level.byteCount < Self.maxBytes || depth < Self.minDepth)
    }

    private var desiredDepth: Duration { output?.desiredDepth ?? .seconds(1) }

    /// Returns whether the store has space; if not, `takeReadiness` reports it once.
    mutating func requestReadiness() -> Bool {
        let ready = isReady
        if !ready { wasFull = true }
        return ready
    }

    /// Returns true once when the store has space again.
    mutating func takeReadiness() -> Bool {
        guard ownsStore, wasFull, isReady else { return false }
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
        trim()
        if appended.isLate { status.lateBuffers += 1 }
        guard !appended.isDropped else { return false }
        _ = requestReadiness()
        return true
    }

    /// Whether all stored audio was delivered.
    var isAllRead: Bool { cursor.map { store.isRead(by: $0) } ?? false }

    /// Whether no command is pending that affects the audio taken by the feeder of the given use.
    func mayTake(for life: UInt64) -> Bool { !flushRequested && !outputChanged && self.life == life }

    /// Returns the next buffer for the feeder of the given use.
    mutating func takeNext(for life: UInt64) -> SampleBuffer? {
        guard mayTake(for: life), !isCutPending, var position = cursor else { return nil }
        let buffer = store.next(&position)
        cursor = position
        if buffer != nil { status.isDrained = false }
        trim()
        return buffer
    }

    /// Records what the members of a group have read; nil: all audio, as far as any member is concerned.
    mutating func noteReading(until slowest: SoundCursor?) {
        guard !flushRequested, !outputChanged else { return }
        cursor = slowest ?? store.end
        trim()
    }

    /// Removes played audio from the store.
    private func trim() { if ownsStore, let cursor { store.trim(at: timebase, readUntil: cursor) } }

    /// Begins to read at the playhead.
    mutating func beginReading() {
        var position = store.start
        store.move(&position, to: timebase.currentTime)
        cursor = position
    }

    /// Returns whether the feeder has taken all audio, and no more is expected before it has played.
    func isAtEnd(for life: UInt64) -> Bool {
        guard isAllRead, !status.isDrained, !flushRequested, !isCutPending, self.life == life else { return false }
        let level = store.level
        guard !level.isFinished else { return true }
        guard level.isEnding, let last = level.enqueuedUntil else { return false }
        return ((status.acceptedUntil ?? last) - master.currentTime).duration < Self.lastMoment
    }

    /// When the playhead reaches the point at which more audio is wanted or the end of the audio is near; nil: not
    /// scheduled. The playhead advances without a signal.
    var nextNeed: HostInstant? {
        let snapshot = master.snapshot
        let now = master.clock.now
        let segment = snapshot.segment(at: now)
        var due: HostInstant?
        if let next = snapshot.scheduled, next.hostAnchor > now { due = next.hostAnchor }
        let level = store.level
        guard segment.rate > 0, let until = level.enqueuedUntil else { return due }
        func include(_ moment: MediaTime) {
            guard let instant = segment.hostInstant(of: moment) else { return }
            // A margin of 1 ms, so that the compared time has certainly passed. Later demands raise the signal.
            let later = instant.advanced(by: .milliseconds(1))
            if later > now { due = min(due ?? later, later) }
        }
        if ownsStore, wasFull { include(until.advanced(by: .zero - desiredDepth)) }
        if level.isEnding, isAllRead, !status.isDrained {
            include((status.acceptedUntil ?? until).advanced(by: .zero - Self.lastMoment))
        }
        return due
    }

    // MARK: Flushes

    /// Drops all unplayed audio and requests a flush of the output.
    mutating func flush() {
        if ownsStore { store.flush() }
        restart(at: store.start)
    }

    /// Requests a flush of the output, which then receives audio from a position on.
    mutating func restart(at position: SoundCursor, resumingFrom moment: MediaTime? = nil) {
        cursor = position
        resumesFrom = moment
        isCutPending = false
        restart()
        status.lateBuffers = 0
        status.undecodable = nil
        wasFull = false
    }

    /// Moves to a media time and requests a flush of the output.
    mutating func feedAgain(from moment: MediaTime) {
        restart()
        guard var position = cursor else { return }
        resumesFrom = store.move(&position, to: moment) ? moment : nil
        cursor = position
    }

    private mutating func restart() {
        flushRequested = true
        partialFlushes.overtake()
        status.acceptedUntil = nil
        status.isDrained = false
        clearFailure()
    }

    /// Same from the playhead on, which is returned.
    @discardableResult
    mutating func feedAgain() -> MediaTime {
        let moment = timebase.currentTime
        feedAgain(from: moment)
        return moment
    }

    /// Moves to a media time, for a converter that starts afresh.
    mutating func move(to moment: MediaTime, isDiscontinuous: Bool) {
        guard var position = cursor else { return }
        store.move(&position, to: moment, isDiscontinuous: isDiscontinuous)
        cursor = position
    }

    /// Same after the output has flushed.
    ///
    /// - Parameter end: The end of the audio that the output has kept.
    mutating func move(to moment: MediaTime, acceptedUntil end: MediaTime?) {
        move(to: moment, isDiscontinuous: true)
        status.acceptedUntil = end
        status.isDrained = false
    }

    /// Adds a partial flush; returns false if the renderer is invalidated.
    ///
    /// - Parameter isFirst: Whether waiting ones take precedence over it.
    mutating func request(_ flush: PartialFlushRequest, isFirst: Bool = false) -> Bool {
        guard !stopping else { return false }
        if isFirst { partialFlushes.insertFirst(flush) } else { partialFlushes.append(flush) }
        return true
    }

    /// Returns the next partial flush, which is processed until `endPartialFlush`.
    mutating func beginPartialFlush() -> PartialFlushRequest? {
        flushRequested || outputChanged ? nil : partialFlushes.begin()
    }

    /// Returns the result for the caller. If no audio was enqueued up to the time of the flush, playback ends where the
    /// stored audio ended.
    mutating func endPartialFlush(_ result: PartialFlushResult) -> PartialFlushResult {
        partialFlushes.end()
        guard case .flushed(let time) = result, ownsStore, let end = store.level.enqueuedUntil, end < time
        else { return result }
        return .flushed(from: end)
    }

    /// Returns the superseded partial flushes once.
    mutating func takeOvertaken() -> [PartialFlushRequest] { partialFlushes.takeOvertaken() }

    /// Removes audio from a time on. A member of a group takes nothing until the group has done so (`endCut`).
    ///
    /// - Parameter isLast: Whether the audio that was taken ends at the time.
    /// - Returns: Whether no audio before the time remains to be taken.
    mutating func cut(at time: MediaTime, isLast: Bool) -> Bool {
        guard let cursor else { return false }
        let isAllRead: Bool
        if ownsStore {
            guard let result = store.cut(at: time, reader: cursor, isLast: isLast) else { return false }
            isAllRead = result
            wasFull = true
        } else {
            isCutPending = true
            if let end = store.level.enqueuedUntil, end <= time, !isLast { return false }
            isAllRead = isLast || !store.hasUnread(cursor, before: time)
        }
        status.isDrained = false
        return isAllRead
    }

    /// Removes all audio that was not taken, after the output has flushed from a time on.
    ///
    /// - Parameter end: The end of the audio that the output has kept.
    mutating func cutAccepted(at time: MediaTime, keptUntil end: MediaTime?) {
        _ = cut(at: time, isLast: true)
        status.acceptedUntil = end
    }

    /// Same for an output that converts audio itself, after `cut`.
    mutating func noteCut(keptUntil end: MediaTime?) {
        status.isDrained = false
        status.acceptedUntil = end
        wasFull = true
    }

    /// Permits a member to take audio after a partial flush of the group.
    mutating func endCut() { isCutPending = false }

    /// Restarts at the playhead once the audio of a partial flush is removed, because the output refused that flush.
    mutating func restartAfterCut() {
        feedAgain()
        isCutPending = true
    }

    // MARK: Output and settings

    /// Replaces the output, which receives the unplayed audio.
    mutating func setOutput(_ output: (any AudioOutput)?, id: OutputID, preparedFor delivery: AudioDelivery? = nil) {
        self.output = output
        preparedDelivery = delivery
        (output as? OutputGroup)?.allowsPassThrough = allowsPassThrough
        outputID = id
        outputChanged = true
        feedAgain()
        output?.setNowPlaying(nowPlaying)
        if isJoined { output?.open() }
    }

    mutating func setNowPlaying(_ nowPlaying: NowPlaying?) {
        guard nowPlaying != self.nowPlaying else { return }
        self.nowPlaying = nowPlaying
        output?.setNowPlaying(nowPlaying)
    }

    /// Sets the speed; returns false if it is the same.
    mutating func setSpeed(_ speed: Double) -> Bool {
        guard speed.isFinite, abs(speed / self.speed - 1) > Self.speedTolerance else { return false }
        let held = RenderSynchronizer.held(speed)
        guard held != self.speed else { return false }
        self.speed = held
        let line = timebase.snapshot.upcoming
        feedAgain(from: line.mediaTime(at: max(timebase.clock.now, line.hostAnchor)))
        return true
    }

    /// The gain of the output, at most 0 dB; the excess is applied to the samples.
    private var gain: Float? { isMuted ? 0 : volume.map { min(1, $0) } }

    /// The requested processing, including the part of the volume above 1.
    private var effectiveProcessing: AudioProcessing {
        var processing = processing
        processing.gain *= max(1, volume ?? 1)
        return processing
    }

    mutating func setAllowsPassThrough(_ allowed: Bool) {
        allowsPassThrough = allowed
        (output as? OutputGroup)?.allowsPassThrough = allowed
    }

    /// Whether packets must not be passed through, regardless of the output.
    var mustDecode: Bool { !allowsPassThrough || effectiveProcessing.changesSamples }

    /// Sets the volume; nil restores the output's own. Returns whether the processing has changed.
    mutating func setVolume(_ volume: Float?) -> Bool {
        let before = effectiveProcessing
        self.volume = volume
        applyGain()
        return applyProcessing(after: before)
    }

    mutating func setMuted(_ isMuted: Bool) {
        guard isMuted != self.isMuted else { return }
        self.isMuted = isMuted
        applyGain()
    }

    /// Sets the processing; returns whether it has changed.
    mutating func setProcessing(_ processing: AudioProcessing) -> Bool {
        let before = effectiveProcessing
        self.processing = processing
        return applyProcessing(after: before)
    }

    /// Sets the gain of an output that the feeder has adopted. Under the lock, as other changes of the gain: the last
    /// one is applied last.
    func applyGain(to adopted: (any AudioOutput)?) { if let gain { adopted?.setGain(gain) } }

    private func applyGain() {
        if let gain { output?.setGain(gain) } else { output?.restoreGain() }
    }

    private func applyProcessing(after before: AudioProcessing) -> Bool {
        let processing = effectiveProcessing
        guard processing != before else { return false }
        output?.setProcessing(processing)
        return true
    }

    // MARK: Commands for the feeder

    /// What the feeder has to apply.
    struct Command {
        var isFlush: Bool
        /// The position from which audio follows a flush.
        var cursor: SoundCursor?
        var isOutputChange: Bool
        var output: (any AudioOutput)?
        var outputID: OutputID
        var delivery: AudioDelivery?
        var speed: Double
        var processing: AudioProcessing
        var resumesFrom: MediaTime?
    }

    /// Returns the pending commands once. Those for a later use of the renderer are not for this feeder.
    mutating func takeCommand(for life: UInt64) -> Command {
        let isCurrent = self.life == life
        defer { if isCurrent { (flushRequested, outputChanged, resumesFrom) = (false, false, nil) } }
        return Command(
            isFlush: flushRequested || !isCurrent, cursor: cursor, isOutputChange: outputChanged && isCurrent,
            output: output,
            outputID: outputID, delivery: preparedDelivery, speed: speed, processing: effectiveProcessing,
            resumesFrom: isCurrent ? resumesFrom : nil)
    }

    /// Applies a changed timeline. A stopped one leaves the speed unchanged.
    ///
    /// - Returns: True once, if the timebase advances and the renderer has audio but no output.
    mutating func followTimebase() -> Bool {
        let upcoming = master.snapshot.upcoming
        if upcoming.speed > 0 { _ = setSpeed(upcoming.speed) }
        dropPassed()
        guard output == nil, !hasComplained, store.level.enqueueCount > 0, upcoming.rate > 0 else { return false }
        hasComplained = true
        return true
    }

    /// Drops audio after a seek without a flush beyond everything that the output holds. Such audio is never played and
    /// would keep the output full while the timebase is stopped.
    private mutating func dropPassed() {
        let (line, before) = (timebase.snapshot.upcoming, line)
        self.line = line
        guard let before, line.rate == 0, let until = status.acceptedUntil, line.mediaAnchor > until,
            (line.mediaAnchor - before.mediaTime(at: line.hostAnchor)).duration > Self.minJump
        else { return }
        feedAgain(from: line.mediaAnchor)
        guard var position = cursor else { return }
        store.skip(&position, to: line.mediaAnchor)
        cursor = position
    }

    // MARK: Progress

    /// The progress, as one consistent reading.
    var progress: AudioRenderer.Progress {
        var progress = status
        progress.enqueuedUntil = store.level.enqueuedUntil
        progress.isDrained = status.isDrained && isAllRead
        progress.isReadyToStart = output?.isReadyToStart ?? true
        progress.earliestStart = output?.earliestStart
        return progress
    }

    /// Records the end of the audio that the output has accepted; returns whether it has changed.
    ///
    /// An earlier end than before, as that of a group whose member has returned, keeps the renderer undrained.
    @discardableResult
    mutating func accept(until: MediaTime?) -> Bool {
        guard !flushRequested, status.acceptedUntil != until else { return false }
        if let before = status.acceptedUntil, until.map({ $0 < before }) ?? true { status.isDrained = false }
        status.acceptedUntil = until
        return true
    }

    /// Records that the output has converted all audio; audio that arrived meanwhile keeps the renderer undrained.
    mutating func drain(acceptedUntil until: MediaTime?) {
        let level = store.level
        guard !flushRequested, isAllRead, level.isFinished || level.isEnding else { return }
        // `acceptedUntil` is published together with `isDrained`.
        status.acceptedUntil = until
        status.isDrained = true
    }

    /// Records the number of undecodable packets and their audio.
    mutating func noteDamage(_ count: Int, _ lost: UndecodableSound?) {
        status.decodeErrorCount = count
        guard let lost else { return }
        undecodable = undecodable?.adding(lost) ?? lost
        status.undecodable = status.undecodable?.adding(lost) ?? lost
    }

    /// Returns the audio that could not be decoded since the last call.
    mutating func takeUndecodable() -> UndecodableSound? { undecodable.take() }

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

    /// Clears the failure of a format, whose audio has passed.
    mutating func clearDecodingFailure() { if failure is MediaError { clearFailure() } }

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
