internal import MediaCore

/// The settings that all outputs of a renderer follow.
struct SoundSettings {
    /// Media seconds per second of audio; takes effect with a restart.
    var speed = 1.0
    /// Including the part of the renderer's volume above 1.
    var processing = AudioProcessing.none
    var allowsPassThrough = true
    /// The item that the outputs display; nil: none.
    var nowPlaying: NowPlaying?
}

/// The state of an output's feed that other threads and its feeder share: the position in the store, the output, the
/// settings, pending commands and the progress. Guarded by the feed's lock.
struct FeedState {
    /// A discontinuity of the timebase below this is no seek: a rounded stop, or a followed clock.
    private static let minJump: Duration = .milliseconds(5)

    /// The timeline of the output.
    let timebase: Timebase
    /// The enqueued audio of the renderer.
    let store: SoundStore
    /// The next buffer to deliver; nil: an output that receives no audio yet.
    private(set) var cursor: SoundCursor?
    /// Whether a partial flush of all outputs is decided here and audio is removed from the store next.
    private var isCutPending = false
    var partialFlushes = PartialFlushQueue()
    /// Whether the feeder has to flush the output.
    private var flushRequested = false
    /// Used with a flush: audio before this media time only primes the codecs and is not delivered.
    private var resumesFrom: MediaTime?
    /// The output while it is open.
    private(set) var output: (any AudioOutput)?
    /// Whether the feeder has to adopt `output`.
    private var outputChanged = false
    /// The delivery for which it is prepared.
    private var delivery: AudioDelivery?
    private(set) var settings: SoundSettings
    /// Media seconds per second of audio since the last restart.
    private(set) var speed: Double
    /// The linear gain; nil: the output keeps its own volume.
    private var gain: Float?
    /// Applies gain and item to the output.
    private var pass = SettingsPass()
    /// What was not applied yet.
    private var (isGainNew, isItemNew) = (false, false)
    /// Whether a gain was applied to the output, which it keeps when it is closed.
    private var hasSetGain = false
    /// The progress, without the values that are read from the store.
    private var status = AudioRenderer.Progress(
        acceptedUntil: nil, enqueuedUntil: nil, isDrained: false, hasFailed: false, decodeErrorCount: 0)
    /// Undecodable audio that was not yet queried.
    private var undecodable: [UndecodableSound] = []
    /// The timebase segment of the last change notification.
    private var line: TimebaseSegment?
    /// The delivery for which the output was prepared again; nil: the feeder has adopted it.
    private var prepared: AudioDelivery?
    /// Whether the feed has ended.
    private(set) var isStopping = false

    init(_ timebase: Timebase, reading store: SoundStore, _ settings: SoundSettings) {
        (self.timebase, self.store, self.settings) = (timebase, store, settings)
        speed = settings.speed
    }

    // MARK: Reading

    /// Whether all stored audio was delivered.
    var isAllRead: Bool { cursor.map { store.isRead(by: $0) } ?? false }

    /// Begins to read at the playhead.
    mutating func beginReading() {
        var position = store.start
        store.move(&position, to: timebase.currentTime)
        cursor = position
    }

    /// Returns the next buffer, unless a command is pending that affects it.
    mutating func takeNext() -> SampleBuffer? {
        guard !flushRequested, !outputChanged, !isCutPending, var position = cursor else { return nil }
        let buffer = store.next(&position)
        cursor = position
        if buffer != nil { status.isDrained = false }
        return buffer
    }

    /// Returns whether all audio is taken, and no more is expected before it has played.
    var isAtEnd: Bool {
        guard isAllRead, !status.isDrained, !flushRequested, !isCutPending else { return false }
        return store.level.isAtEnd(at: timebase.currentTime, acceptedUntil: status.acceptedUntil)
    }

    /// When the playhead reaches the end of the audio, or a scheduled change of the timeline; nil: not scheduled.
    var nextNeed: HostInstant? {
        store.level.nextNeed(
            timebase, acceptedUntil: status.acceptedUntil, isLast: !status.isDrained && isAllRead, wanted: nil)
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

    // MARK: Flushes

    /// Requests a flush of the output, which then receives audio from a position on.
    ///
    /// - Parameters:
    ///   - moment: Earlier audio only primes the codecs; nil: all audio is delivered.
    ///   - delay: How much later than the renderer the output plays: it has not played that much before the moment.
    mutating func restart(
        at position: SoundCursor, resumingFrom moment: MediaTime? = nil, playingLaterBy delay: Duration = .zero
    ) {
        cursor = position
        resumesFrom = moment
        isCutPending = false
        if let moment, delay > .zero {
            var position = position
            let own = moment.advanced(by: .zero - delay * max(speed, settings.speed))
            resumesFrom = store.move(&position, to: own) ? own : nil
            cursor = position
        }
        restart()
        status.undecodable = nil
        undecodable = []
    }

    /// Moves to a media time and requests a flush of the output.
    private mutating func restart(from moment: MediaTime) {
        restart()
        guard var position = cursor else { return }
        resumesFrom = store.move(&position, to: moment) ? moment : nil
        cursor = position
    }

    private mutating func restart() {
        flushRequested = true
        partialFlushes.overtake()
        speed = settings.speed
        status.acceptedUntil = nil
        status.isDrained = false
    }

    /// Same at the playhead.
    mutating func restartAtPlayhead() { restart(from: timebase.currentTime) }

    /// Applies a seek without a flush beyond everything that the output holds. Such audio is never played and would
    /// keep the output full while the timebase is stopped.
    mutating func followTimebase() {
        let (line, before) = (timebase.snapshot.upcoming, line)
        self.line = line
        guard let before, line.skips(before, acceptedUntil: status.acceptedUntil, minJump: Self.minJump) else { return }
        restart(from: line.mediaAnchor)
        guard var position = cursor else { return }
        store.skip(&position, to: line.mediaAnchor)
        cursor = position
    }

    /// Adds a partial flush; returns false if the feed has ended.
    ///
    /// - Parameter isFirst: Whether waiting ones take precedence over it.
    mutating func request(_ flush: PartialFlushRequest, isFirst: Bool = false) -> Bool {
        guard !isStopping else { return false }
        if isFirst { partialFlushes.insertFirst(flush) } else { partialFlushes.append(flush) }
        return true
    }

    /// Returns the next partial flush, which is processed until `endPartialFlush`.
    mutating func beginPartialFlush() -> PartialFlushRequest? {
        flushRequested || outputChanged ? nil : partialFlushes.begin()
    }

    /// Takes nothing until audio from a time on is removed from the store (`endCut`).
    ///
    /// - Parameter isLast: Whether the audio that was taken ends at the time.
    /// - Returns: Whether no audio before the time remains to be taken.
    mutating func cut(at time: MediaTime, isLast: Bool) -> Bool {
        guard var cursor else { return false }
        isCutPending = true
        cursor.cut(at: time)
        self.cursor = cursor
        if let end = store.level.enqueuedUntil, end <= time, !isLast { return false }
        status.isDrained = false
        return isLast || !store.hasUnread(cursor, before: time)
    }

    /// Same after the output has flushed.
    ///
    /// - Parameter end: The end of the audio that the output has kept.
    mutating func cutAccepted(at time: MediaTime, keptUntil end: MediaTime?) {
        _ = cut(at: time, isLast: true)
        status.acceptedUntil = end
    }

    /// Permits to take audio after a partial flush.
    mutating func endCut() { isCutPending = false }

    /// Restarts at the playhead once the audio of a partial flush is removed, because the output refused that flush.
    mutating func restartAfterCut() {
        restartAtPlayhead()
        isCutPending = true
    }

    // MARK: Output and settings

    /// Sets the output, which is prepared for a delivery; nil: it is closed.
    mutating func setOutput(_ output: (any AudioOutput)?, preparedFor delivery: AudioDelivery?) {
        (self.output, self.delivery, prepared) = (output, delivery, nil)
        outputChanged = true
        restartAtPlayhead()
        (isGainNew, isItemNew) = (output != nil && (gain != nil || hasSetGain), output != nil)
    }

    /// Records that the output was prepared for another delivery.
    mutating func setPrepared(for delivery: AudioDelivery) { prepared = delivery }

    /// Applies the settings of the renderer.
    mutating func apply(_ settings: SoundSettings) {
        if settings.nowPlaying != self.settings.nowPlaying { isItemNew = output != nil }
        self.settings = settings
    }

    /// The processing of the samples, including the part of the gain above 1.
    private var processing: AudioProcessing {
        var processing = settings.processing
        processing.gain *= max(1, gain ?? 1)
        return processing
    }

    /// Whether packets must not be passed through, regardless of the output.
    var mustDecode: Bool { !settings.allowsPassThrough || processing.changesSamples }

    /// Sets the gain; nil restores the output's own.
    ///
    /// - Parameter repeats: Whether the same gain is sent to the output again.
    mutating func setGain(_ gain: Float?, repeats: Bool = true) {
        if output != nil, repeats || gain != self.gain { isGainNew = true }
        self.gain = gain
    }

    /// Returns whether the caller has to apply what was set, until `takeOutputSettings` returns nil.
    mutating func beginOutputSettings() -> Bool { (isGainNew || isItemNew) && pass.begin() }

    /// Settings to apply to an output, without a lock.
    struct OutputSettings {
        var output: (any AudioOutput)?
        var isGainNew: Bool
        var gain: Float?
        var isItemNew: Bool
        var item: NowPlaying?
    }

    /// Returns what was not applied yet.
    mutating func takeOutputSettings() -> OutputSettings? {
        guard pass.next() else { return nil }
        defer { (isGainNew, isItemNew) = (false, false) }
        if isGainNew { hasSetGain = gain != nil }
        return OutputSettings(
            output: output, isGainNew: isGainNew, gain: gain.map { min(1, $0) }, isItemNew: isItemNew,
            item: settings.nowPlaying)
    }

    /// Ends the feed.
    mutating func stop() {
        restart()
        isStopping = true
    }

    // MARK: Commands for the feeder

    /// What the feeder has to apply.
    struct Command {
        var isFlush: Bool
        var isOutputChange: Bool
        var output: (any AudioOutput)?
        var delivery: AudioDelivery?
        /// The delivery for which the same output was prepared again.
        var prepared: AudioDelivery?
        var speed: Double
        var processing: AudioProcessing
        var resumesFrom: MediaTime?
    }

    /// Returns the pending commands once. No audio reaches a new output before its gain is set.
    mutating func takeCommand() -> Command {
        guard !outputChanged || pass.isIdle else {
            return Command(isFlush: false, isOutputChange: false, speed: speed, processing: processing)
        }
        defer { (flushRequested, outputChanged, prepared, resumesFrom) = (false, false, nil, nil) }
        return Command(
            isFlush: flushRequested, isOutputChange: outputChanged, output: output, delivery: delivery,
            prepared: prepared, speed: speed, processing: processing, resumesFrom: resumesFrom)
    }

    // MARK: Progress

    /// The progress, as one consistent reading.
    var progress: AudioRenderer.Progress {
        var progress = status
        progress.enqueuedUntil = store.level.enqueuedUntil
        progress.isDrained = status.isDrained && isAllRead
        return progress
    }

    /// Records the end of the audio that the output has accepted.
    mutating func accept(until: MediaTime?) {
        guard !flushRequested else { return }
        if let before = status.acceptedUntil, until.map({ $0 < before }) ?? true { status.isDrained = false }
        status.acceptedUntil = until
    }

    /// Records that the output has converted all audio; audio that arrived meanwhile keeps the feed undrained.
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
        undecodable.add(lost)
        status.undecodable = status.undecodable?.adding(lost) ?? lost
    }

    /// Returns the audio that could not be decoded since the last call.
    mutating func takeUndecodable() -> [UndecodableSound] {
        defer { undecodable = [] }
        return undecodable
    }
}

extension SoundStore.Level {
    /// Requests have stopped and less audio than this remains: the audio is considered complete and the converters are
    /// drained. See `nextNeed`.
    private static let lastMoment: Duration = .milliseconds(250)

    /// Returns whether no more audio is expected before that which was read has played.
    func isAtEnd(at playhead: MediaTime, acceptedUntil: MediaTime?) -> Bool {
        guard !isFinished else { return true }
        guard isEnding, let last = enqueuedUntil else { return false }
        return ((acceptedUntil ?? last) - playhead).duration < Self.lastMoment
    }

    /// Returns when the playhead reaches the point at which the end of the audio is near or more audio is wanted; nil:
    /// not scheduled. The playhead advances without a signal.
    ///
    /// - Parameters:
    ///   - isLast: Whether all audio is read and not yet drained.
    ///   - depth: The media ahead of the playhead below which more is wanted; nil: none is.
    func nextNeed(_ timebase: Timebase, acceptedUntil: MediaTime?, isLast: Bool, wanted depth: Duration?)
        -> HostInstant?
    {
        let snapshot = timebase.snapshot
        let now = timebase.clock.now
        let segment = snapshot.segment(at: now)
        var due: HostInstant?
        if let next = snapshot.scheduled, next.hostAnchor > now { due = next.hostAnchor }
        guard segment.rate > 0, let until = enqueuedUntil else { return due }
        func include(_ moment: MediaTime) {
            guard let instant = segment.hostInstant(of: moment) else { return }
            // A margin of 1 ms, so that the compared time has certainly passed. Later demands raise the signal.
            let later = instant.advanced(by: .milliseconds(1))
            if later > now { due = min(due ?? later, later) }
        }
        if let depth { include(until.advanced(by: .zero - depth)) }
        if isEnding, isLast { include((acceptedUntil ?? until).advanced(by: .zero - Self.lastMoment)) }
        return due
    }
}

extension TimebaseSegment {
    /// Whether a stopped timeline has jumped beyond the audio that an output holds.
    func skips(_ before: TimebaseSegment, acceptedUntil: MediaTime?, minJump: Duration) -> Bool {
        guard rate == 0, let acceptedUntil, mediaAnchor > acceptedUntil else { return false }
        return (mediaAnchor - before.mediaTime(at: hostAnchor)).duration > minJump
    }
}
