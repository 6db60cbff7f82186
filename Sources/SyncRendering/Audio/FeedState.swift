internal import MediaCore

/// The state of an output's feed that other threads and its feeder share: the position in the store, the output, the
/// settings, pending commands and the progress. Guarded by the feed's lock.
struct FeedState {
    /// The timeline of the output.
    let timebase: Timebase
    /// The enqueued audio of the renderer.
    let store: AudioStore
    /// The next buffer to deliver; nil: an output that receives no audio yet.
    private(set) var cursor: AudioCursor?
    /// Whether a partial flush of all outputs is decided here and audio is removed from the store next.
    private var isCutPending = false
    let partialFlushes = PartialFlushQueue()
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
    /// The settings of the renderer.
    let settings: Lock<AudioSettings>
    /// Media seconds per second of audio since the last restart.
    private(set) var speed: Double
    /// The channels that the output plays.
    private(set) var channels: ChannelSelection
    /// The linear gain; nil: the output keeps its own volume.
    private var gain: Float?
    /// Applies gain and item to the output.
    private var pass = SettingsPass()
    /// Whether the gain is to be applied.
    private var isGainNew = false
    /// The item that the output displays; nil: unknown.
    private var item: NowPlaying??
    /// Whether a gain was applied to the output, which it keeps when it is closed.
    private var hasSetGain = false
    /// The progress, without the values that are read from the store.
    private var status = AudioRenderer.Progress(
        acceptedUntil: nil, enqueuedUntil: nil, isDrained: false, hasFailed: false, decodeErrorCount: 0)
    /// Undecodable audio that was not yet queried.
    private var undecodable: [UndecodableAudio] = []
    /// The timebase segment of the last change notification.
    private var segment: TimebaseSegment?
    /// The delivery for which the output was prepared again; nil: the feeder has adopted it.
    private var prepared: AudioDelivery?
    /// Whether the feed has ended.
    private(set) var isStopping = false

    init(
        _ timebase: Timebase, reading store: AudioStore, _ settings: Lock<AudioSettings>,
        channels: ChannelSelection = .whole
    ) {
        (self.timebase, self.store, self.settings, self.channels) = (timebase, store, settings, channels)
        speed = settings.withLock { $0.speed }
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
    mutating func dequeue() -> SampleBuffer? {
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
    mutating func move(to time: MediaTime, isDiscontinuous: Bool) {
        guard var position = cursor else { return }
        store.move(&position, to: time, isDiscontinuous: isDiscontinuous)
        cursor = position
    }

    /// Same after the output has flushed.
    ///
    /// - Parameter end: The end of the audio that the output has kept.
    mutating func move(to time: MediaTime, acceptedUntil end: MediaTime?) {
        move(to: time, isDiscontinuous: true)
        status.acceptedUntil = end
        status.isDrained = false
    }

    // MARK: Flushes

    /// Requests a flush of the output, which then receives audio from a position on.
    mutating func restart(at position: AudioCursor, resumingFrom time: MediaTime? = nil) {
        isCutPending = false
        restart(at: position, from: time)
        status.undecodable = nil
        undecodable = []
    }

    /// Same at a media time; nil: with all stored audio.
    ///
    /// - Parameter delay: How much later than the renderer the output plays: it has not played that much before the
    ///   time.
    mutating func restart(from time: MediaTime?, playingLaterBy delay: Duration) {
        guard let time else { return restart(at: store.start) }
        let speed = max(speed, settings.withLock { $0.speed })
        let own = delay > .zero ? time.advanced(by: .zero - delay * speed) : time
        var position = store.start
        let isEarlier = store.move(&position, to: own)
        restart(at: position, resumingFrom: isEarlier ? own : nil)
    }

    /// Same, if the output receives audio; does not end a partial flush of all outputs.
    private mutating func restart(from time: MediaTime) {
        guard var position = cursor else { return restart(at: nil, from: nil) }
        let isEarlier = store.move(&position, to: time)
        restart(at: position, from: isEarlier ? time : nil)
    }

    /// - Parameter time: Earlier audio only primes the codecs; nil: all audio is delivered.
    private mutating func restart(at position: AudioCursor?, from time: MediaTime?) {
        (cursor, resumesFrom, flushRequested) = (position, time, true)
        partialFlushes.overtake()
        speed = settings.withLock { $0.speed }
        status.restart()
    }

    /// Same at the playhead.
    mutating func restartAtPlayhead() { restart(from: timebase.currentTime) }

    /// Applies a seek without a flush beyond everything that the output holds. Such audio is never played and would
    /// keep the output full while the timebase is stopped.
    mutating func applyTimebase() {
        let (line, before) = (timebase.snapshot.upcoming, segment)
        self.segment = line
        if line.skips(before, acceptedUntil: status.acceptedUntil) { restart(from: line.mediaAnchor) }
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
        isGainNew = output != nil && (gain != nil || hasSetGain)
        item = nil
    }

    /// Records that the output was prepared for another delivery.
    mutating func setPrepared(for delivery: AudioDelivery) { prepared = delivery }

    /// The processing of the samples, including the part of the gain above 1.
    private var processing: AudioProcessing {
        var processing = settings.withLock { $0.amplifiedProcessing }
        processing.gain *= max(1, gain ?? 1)
        return processing
    }

    /// Whether packets must not be passed through, regardless of the output.
    var mustDecode: Bool {
        channels != .whole || !settings.withLock { $0.allowsPassThrough } || processing.changesSamples
    }

    /// Sets the channels that the output plays; it is flushed, and continues at the playhead.
    mutating func setChannels(_ channels: ChannelSelection) {
        guard channels != self.channels else { return }
        self.channels = channels
        restartAtPlayhead()
    }

    /// Sets the gain; nil restores the output's own.
    ///
    /// - Parameter repeats: Whether the same gain is sent to the output again.
    mutating func setGain(_ gain: Float?, repeats: Bool = true) {
        if output != nil, repeats || gain != self.gain { isGainNew = true }
        self.gain = gain
    }

    /// Returns whether the caller has to apply what was set, until `consumeOutputSettings` returns nil.
    mutating func beginOutputSettings() -> Bool { (isGainNew || isItemNew) && pass.begin() }

    /// Whether the renderer's item is to be displayed.
    private var isItemNew: Bool { output != nil && item != .some(settings.withLock { $0.nowPlaying }) }

    /// Settings to apply to an output, without a lock.
    struct OutputSettings {
        var isGainNew: Bool
        var gain: Float?
        var isItemNew: Bool
        var item: NowPlaying?
    }

    /// Returns what was not applied yet.
    mutating func consumeOutputSettings() -> OutputSettings? {
        guard pass.next() else { return nil }
        let item = settings.withLock { $0.nowPlaying }
        defer { (isGainNew, self.item) = (false, item) }
        if isGainNew { hasSetGain = gain != nil }
        return OutputSettings(
            isGainNew: isGainNew, gain: gain.map { min(1, $0) }, isItemNew: isItemNew, item: item)
    }

    /// Ends the feed.
    mutating func stop() {
        restart(at: cursor, from: nil)
        isStopping = true
        partialFlushes.overtake(isEnd: true)
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
        var channels: ChannelSelection
        var processing: AudioProcessing
        var resumesFrom: MediaTime?
    }

    /// Returns the pending commands once. No audio reaches a new output before its gain is set.
    mutating func consumeCommand() -> Command {
        guard !outputChanged || pass.isIdle else {
            return Command(
                isFlush: false, isOutputChange: false, speed: speed, channels: channels, processing: processing)
        }
        defer { (flushRequested, outputChanged, prepared, resumesFrom) = (false, false, nil, nil) }
        return Command(
            isFlush: flushRequested, isOutputChange: outputChanged, output: output, delivery: delivery,
            prepared: prepared, speed: speed, channels: channels, processing: processing, resumesFrom: resumesFrom)
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
        if !flushRequested { status.accept(until: until) }
    }

    /// Records that the output has converted all audio; audio that arrived meanwhile keeps the feed undrained.
    mutating func drain(acceptedUntil until: MediaTime?) {
        if !flushRequested, isAllRead { status.drain(acceptedUntil: until, store.level) }
    }

    /// Records the number of undecodable packets and their audio.
    mutating func recordDamage(_ count: Int, _ lost: UndecodableAudio?) {
        status.decodeErrorCount = count
        guard let lost else { return }
        undecodable.add(lost)
        status.undecodable = status.undecodable?.adding(lost) ?? lost
    }

    /// Returns the audio that could not be decoded since the last call.
    mutating func consumeUndecodable() -> [UndecodableAudio] {
        defer { undecodable = [] }
        return undecodable
    }
}

extension AudioRenderer.Progress {
    /// Resets what a flush ends.
    mutating func restart() { (acceptedUntil, isDrained) = (nil, false) }

    /// Records the end of the accepted audio; returns whether it has changed.
    ///
    /// An earlier end than before, as that of a group whose member has returned, ends the drained state.
    @discardableResult
    mutating func accept(until: MediaTime?) -> Bool {
        guard acceptedUntil != until else { return false }
        if let before = acceptedUntil, until.map({ $0 < before }) ?? true { isDrained = false }
        acceptedUntil = until
        return true
    }

    /// Records that all audio is read, converted and accepted, if no more is expected. The end is published together
    /// with the drained state.
    mutating func drain(acceptedUntil until: MediaTime?, _ level: AudioStore.Level) {
        if level.isFinished || level.isEnding { (acceptedUntil, isDrained) = (until, true) }
    }
}

extension AudioStore.Level {
    /// Requests have stopped and less audio than this remains: the audio is considered complete and the converters are
    /// drained. See `nextNeed`.
    private static let drainThreshold: Duration = .milliseconds(250)

    /// Returns whether no more audio is expected before that which was read has played.
    func isAtEnd(at playhead: MediaTime, acceptedUntil: MediaTime?) -> Bool {
        guard !isFinished else { return true }
        guard isEnding, let last = enqueuedUntil else { return false }
        return ((acceptedUntil ?? last) - playhead).duration < Self.drainThreshold
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
        func include(_ time: MediaTime) {
            guard let instant = segment.hostInstant(of: time) else { return }
            // A margin of 1 ms, so that the compared time has certainly passed. Later demands raise the signal.
            let later = instant.advanced(by: .milliseconds(1))
            if later > now { due = min(due ?? later, later) }
        }
        if let depth { include(until.advanced(by: .zero - depth)) }
        if isEnding, isLast { include((acceptedUntil ?? until).advanced(by: .zero - Self.drainThreshold)) }
        return due
    }
}

extension TimebaseSegment {
    /// A discontinuity below this is no seek: a rounded stop, or a followed clock.
    private static let minJump: Duration = .milliseconds(5)

    /// Whether a stopped timeline has jumped beyond the audio that an output holds.
    ///
    /// - Parameter before: The preceding segment; nil: unknown.
    func skips(_ before: TimebaseSegment?, acceptedUntil: MediaTime?) -> Bool {
        guard rate == 0, let before, let acceptedUntil, mediaAnchor > acceptedUntil else { return false }
        return (mediaAnchor - before.mediaTime(at: hostAnchor)).duration > Self.minJump
    }
}
