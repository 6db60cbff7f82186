internal import MediaCore
internal import SyncRendering

/// The queue player's state machine. Confined to the player's thread: made there, used there, ended there.
///
/// It lays the list out on the timeline, hands decoded sound to the renderer as it asks for it, and follows edits: what has
/// been handed over and is not wanted any more is taken back with a flush from the place where the list parts from what was
/// laid out. Pictures follow what is laid out (`followPictures`).
final class QueueCore {
    /// A flush that the renderer decides about.
    struct Cut {
        /// The first entry that is not wanted.
        var serial: Int
        var frame: Int64
        /// It lies inside an entry that is heard already.
        var isLate: Bool
        var attempts: Int
    }

    let parts: QueuePlayer.Parts
    let options: QueueOptions
    let synchronizer: RenderSynchronizer
    let renderer: AudioRenderer
    let reader: QueueReader
    let layer: DisplayLayer
    /// Nil where pictures are left out.
    let pictures: PictureReader?
    let mailbox: QueueMailbox
    private let published: Lock<QueueState>
    private let news: @Sendable (QueueNews) -> Void
    let rate: Int32

    var timeline = QueueTimeline()
    /// What is known of the entries, by their serial numbers.
    var opened: [Int: OpenedItem] = [:]
    /// There is a picture on the screen, so that items without one need black.
    var isScreenLit = false
    var state = QueueState()
    var wantsPlay = false
    /// A start or a jump collects what it needs.
    var isStarting = false
    private var startWatch = StartWatch()
    var cut: Cut?
    /// What callers that wait are told when the list and the sound agree again.
    var waiting: [@Sendable (QueueEditOutcome) -> Void] = []
    var outcome = QueueEditOutcome.seamless
    /// Attempts to go on with items that vanished, until sound comes; they are under way while the queue waits.
    var again: Retry?
    var isWaitingForItems = false
    /// The renderer was told that nothing follows.
    var hasFinished = false
    private var announced: Int?
    private var isRunning = true

    init(
        parts: QueuePlayer.Parts, options: QueueOptions, synchronizer: RenderSynchronizer, renderer: AudioRenderer,
        reader: QueueReader, layer: DisplayLayer = DisplayLayer(), pictures: PictureReader? = nil,
        mailbox: QueueMailbox, published: Lock<QueueState>,
        news: @escaping @Sendable (QueueNews) -> Void
    ) {
        self.parts = parts
        self.options = options
        self.synchronizer = synchronizer
        self.renderer = renderer
        self.reader = reader
        self.layer = layer
        self.pictures = pictures
        self.mailbox = mailbox
        self.published = published
        self.news = news
        rate = Int32(clamping: options.format.sampleRate)
        _ = timeline.apply(.loop(item: options.loopItem, queue: options.loopQueue))
        if let volume = options.volume { renderer.setGain(VolumeCurve.gain(volume: volume)) }
    }

    func time(_ frame: Int64) -> MediaTime { MediaTime(value: frame, timescale: rate) }
    var playhead: Int64 { synchronizer.currentTime.rescaled(to: rate) }

    // MARK: The thread

    func run() {
        while turn() {
            mailbox.signal.wait(until: .now.advanced(by: restingTime))
            mailbox.signal.clear()
        }
    }

    /// Carries out what was asked and looks at what moved; false when the player is shut down.
    func turn() -> Bool {
        for command in mailbox.takeAll() { command(self) }
        guard isRunning else {
            settleEdits(.unchanged)
            return false
        }
        tryVanishedItems()
        followPlayhead()
        // Settled before more is handed over, so that nothing is laid out that the list does not say.
        if cut == nil { reconcile() }
        while handOver() {}
        followPictures()
        if isStarting { startIfReady() } else { keepStart() }
        finishIfOver()
        publish()
        return true
    }

    /// How long nothing will happen unless somebody wakes us.
    var restingTime: Duration {
        if isStarting || cut != nil || startWatch.isWatching { return .milliseconds(20) }
        if isWaitingForItems, let again { return max(.milliseconds(1), again.notBefore - parts.clock.now) }
        guard state.phase == .playing else { return .seconds(3600) }
        let next = timeline.entries.dropFirst().first?.start ?? timeline.entries.last?.end
        let remaining = next.map { (time($0) - synchronizer.currentTime).duration } ?? .milliseconds(250)
        return min(.milliseconds(250), max(.milliseconds(2), remaining))
    }

    func hear(_ news: AudioRenderer.News) {
        switch news {
        case .cannotDecode(let error): fail(OutputError(.failed, error.message))
        case .outputFailed(let error): fail(error)
        case .readyForMoreMediaData, .progress: break
        }
    }

    private func fail(_ error: OutputError) {
        isWaitingForItems = false
        synchronizer.setRate(0)
        state.failure = PlayerFailure(exitStatus: error.code == .notPermitted ? 77 : 69, message: error.message)
        enter(.failed)
    }

    func shutDown() {
        isRunning = false
        // Edits among them are answered when this turn ends.
        for command in mailbox.close() { command(self) }
        synchronizer.setRate(0)
        reader.stop()
        pictures?.stop()
        layer.flush()
        renderer.invalidate()
    }

    func enter(_ phase: QueueState.Phase) {
        guard state.phase != phase else { return }
        state.phase = phase
        publish()
        news(.phase(phase))
    }

    func tell(_ item: QueueNews) { news(item) }

    private func publish() {
        state.items = timeline.items
        let entry = timeline.entries.first
        state.current = entry?.item
        state.start = entry.map { time(($0.start ?? 0) - $0.offset) } ?? .zero
        state.position = max(.zero, synchronizer.currentTime - state.start)
        describePictures(of: entry)
        state.handedUntil = renderer.status.enqueuedUntil
        published.withLock { $0 = state }
    }

    private func followPlayhead() {
        if state.phase == .playing { timeline.forget(before: playhead) }
        guard state.phase == .playing || state.phase == .paused, let entry = timeline.entries.first,
            let start = entry.start, entry.serial != announced, synchronizer.currentTime >= time(start)
        else { return }
        announced = entry.serial
        news(.began(entry.item, at: time(start - entry.offset)))
    }

    // MARK: Handing over

    /// One piece from the reader to the renderer; false when there is none, or no room.
    private func handOver() -> Bool {
        guard cut == nil, !timeline.entries.isEmpty, state.phase != .failed else { return false }
        // That an item is over is taken at once: its pictures end there, and the next one's begin.
        guard let piece = reader.take(hasRoom: renderer.isReadyForMoreMediaData) else { return false }
        guard let index = timeline.entries.firstIndex(where: { $0.serial == piece.serial }),
            let start = timeline.entries[index].start
        else { return true }
        switch piece {
        case .sound(_, let block):
            let frame = start + timeline.entries[index].written
            renderer.enqueue(SampleBuffer(plain: block, at: frame))
            timeline.entries[index].written += Int64(block.frames)
            hasFinished = false
            again = nil
        case .ended: complete(index)
        case .failed(_, let error):
            // That vanished items are still away is no news.
            if again == nil { news(.failed(timeline.entries[index].item, error)) }
            complete(index)
        }
        return true
    }

    private func complete(_ index: Int) {
        timeline.complete(index)
        // What holds nothing is no place for the one after it to be compared with.
        if timeline.entries[index].written == 0, index > 0 { dropEmpty(index) }
        layOut()
    }

    private func dropEmpty(_ index: Int) {
        let start = timeline.entries[index].start
        timeline.drop(from: index)
        _ = timeline.extend()
        if let last = timeline.entries.indices.last, last == index { timeline.entries[last].start = start }
    }

    /// Tells the reader what comes: everything laid out that is not complete, and one entry more, so that it is open and
    /// decoded before it is needed.
    func layOut() {
        while let last = timeline.entries.last, last.isComplete || last.written > 0 || timeline.entries.count == 1 {
            guard timeline.extend() else { break }
            if !last.isComplete { break }
        }
        reader.plan(
            timeline.entries.filter { !$0.isComplete }.map {
                QueueReader.Job(serial: $0.serial, item: $0.item, from: $0.offset + $0.written)
            })
    }

    private func finishIfOver() {
        guard cut == nil, let last = timeline.entries.last, last.isComplete else { return }
        if !hasFinished {
            hasFinished = true
            renderer.finish()
        }
        guard state.phase == .playing, let end = last.end, playhead >= end, renderer.status.isDrained else { return }
        synchronizer.setRate(0)
        if timeline.mayComeBack { waitForItems() } else { enter(.ended) }
    }

    private func startIfReady() {
        guard let entry = timeline.entries.first, let start = entry.start else {
            isStarting = false
            return enter(.ended)
        }
        let status = renderer.status
        if let until = status.acceptedUntil {
            let isShort = entry.isComplete && status.isDrained
            guard isShort || (until - time(start)).duration >= renderer.preroll, status.isReadyToStart else { return }
        } else {
            // Nothing comes at all.
            guard entry.isComplete, status.isDrained else { return }
            if again != nil, timeline.mayComeBack { return waitForItems() }
        }
        guard isPictureReady(for: entry) else { return }
        isStarting = false
        guard wantsPlay else { return enter(.paused) }
        runTime()
        startWatch.begin(synchronizer.timebase.snapshot)
    }

    func runTime(from moment: MediaTime? = nil) {
        synchronizer.setRate(1, time: moment, atHostTime: synchronizer.earliestStart)
        enter(.playing)
    }

    /// See `StartWatch`.
    private func keepStart() {
        guard startWatch.isWatching else { return }
        guard state.phase == .playing else { return startWatch.end() }
        switch startWatch.verdict(synchronizer.timebase.snapshot, renderer.status, now: parts.clock.now) {
        case .leave: break
        case .hold(let moment):
            synchronizer.setRate(0, time: moment)
            isStarting = true
            enter(.buffering)
        case .putOff(let moment):
            runTime(from: moment)
            startWatch.begin(synchronizer.timebase.snapshot)
        }
    }

    /// Everything is laid out anew from an item's frame on.
    func begin(with id: QueueItem.ID?, at offset: Int64) -> Bool {
        guard timeline.begin(with: id, at: offset) else { return false }
        cut = nil
        isWaitingForItems = false
        renderer.flush()
        pictures?.clear()
        hasFinished = false
        synchronizer.setRate(0, time: time(offset))
        isStarting = true
        state.failure = nil
        enter(.buffering)
        layOut()
        return true
    }

    /// The same from a moment of the present timeline, because what was handed over is lost.
    func restart(at moment: MediaTime) {
        let frame = moment.rescaled(to: rate)
        guard let entry = timeline.entries.last(where: { $0.start.map { $0 <= frame } ?? false }),
            let start = entry.start
        else { return }
        let isListed = timeline.items.contains { $0.id == entry.item.id }
        let next = isListed ? entry.item.id : timeline.successor(of: entry)?.item.id
        if !begin(with: next, at: isListed ? entry.offset + frame - start : 0) { finishEmpty() }
    }

    func finishEmpty() {
        isWaitingForItems = false
        timeline.entries = []
        cut = nil
        reader.plan([])
        renderer.flush()
        pictures?.clear()
        synchronizer.setRate(0)
        isStarting = false
        if state.phase != .idle { enter(.ended) }
    }
}
