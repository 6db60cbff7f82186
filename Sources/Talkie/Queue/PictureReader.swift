internal import MediaCore
internal import SyncRendering

/// Reads and decodes the pictures of a queue's items and hands them to the layer, in order, each in its place on the queue's
/// timeline.
///
/// Two threads take the items in turns: while the pictures of one are handed over, the next is opened and its first pictures
/// are decoded, however long that takes. The layer's room is what both wait for, so that pictures stay near the playhead.
///
/// `@unchecked Sendable`: each element of `desks` is touched by its own thread only.
final class PictureReader: @unchecked Sendable {
    struct Setup: Sendable {
        var open: @Sendable (String, OpenCancellation) throws(MediaError) -> any MediaSource
        var makeDecoder: @Sendable (VideoFormat) throws(MediaError) -> any PictureDecoder
        var layer: DisplayLayer
        var timebase: Timebase
        var events: EventLog
    }

    private struct State {
        var jobs: [PictureJob] = []
        /// What each thread is at, and how to end it.
        var taken: [(serial: Int, cancellation: OpenCancellation, source: (any SampleSource)?)?]
        /// Those of the jobs whose pictures have all been handed over.
        var finished: Set<Int> = []
        var failures: [(serial: Int, error: MediaError)] = []
        var isStopping = false

        func isWanted(_ serial: Int) -> Bool {
            !finished.contains(serial) && jobs.contains { $0.serial == serial }
        }
    }

    /// What one thread works at.
    private final class Desk {
        var serial = 0
        var pictures: ItemPictures?
    }

    static let threadCount = 2
    /// Decoded pictures kept beside those in the layer: so that the first is there when the item's turn comes.
    private static let ahead = 2
    /// Who comes later than that begins where the playhead is.
    private static let lateness: Duration = .seconds(1)

    private let setup: Setup
    private let state: Lock<State>
    private let signals: [Signal]
    private let news: Signal
    private let desks: [Desk]
    private let threads = Lock<[WorkerThread]>([])

    /// - Parameter news: raised when an item's first picture is in the layer, and when its last is.
    init(_ setup: Setup, news: Signal) {
        self.setup = setup
        self.news = news
        state = Lock(State(taken: Array(repeating: nil, count: Self.threadCount)))
        signals = (0..<Self.threadCount).map { _ in Signal() }
        desks = (0..<Self.threadCount).map { _ in Desk() }
        setup.layer.onReadyForMoreMediaData { [signals] in for signal in signals { signal.raise() } }
    }

    func start() {
        let workers = (0..<Self.threadCount).map { number in
            WorkerThread.start(name: "queue pictures") { [self] in
                while true {
                    switch turn(number) {
                    case .again: continue
                    case .rest:
                        signals[number].wait()
                        signals[number].clear()
                    case .over: return
                    }
                }
            }
        }
        threads.withLock { $0 = workers }
    }

    /// Ends the threads and waits for them.
    func stop() {
        setup.layer.onReadyForMoreMediaData(nil)
        state.withLock { state in
            state.isStopping = true
            for number in state.taken.indices { Self.release(number, in: &state) }
        }
        wakeAll()
        for thread in threads.withLock({ $0 }) { thread.join() }
    }

    // MARK: What is wanted

    /// What to show, in this order. Pictures of anything else, and those behind an end that was not known before, are taken
    /// out of the layer.
    ///
    /// - Parameter heardFrom: what began before that is over and stays as it was shown.
    func plan(_ jobs: [PictureJob], heardFrom: MediaTime) {
        let hasChanged = state.withLock { state -> Bool in
            let isSame = jobs.count == state.jobs.count && zip(jobs, state.jobs).allSatisfy { $0.isSame(as: $1) }
            if isSame { return false }
            if let time = Self.unwanted(of: state.jobs, after: jobs, heardFrom: heardFrom) {
                setup.layer.flush(fromSourceTime: time)
            }
            state.jobs = jobs
            state.finished.formIntersection(jobs.map(\.serial))
            for number in state.taken.indices {
                if let taken = state.taken[number], !state.isWanted(taken.serial) { Self.release(number, in: &state) }
            }
            return true
        }
        if hasChanged { wakeAll() }
    }

    /// Everything begins anew: nothing is wanted, and nothing waits in the layer.
    func clear() {
        state.withLock { state in
            state.jobs = []
            state.finished = []
            for number in state.taken.indices { Self.release(number, in: &state) }
            setup.layer.flush()
        }
        wakeAll()
    }

    /// From where on the layer may hold what is not to be shown.
    private static func unwanted(of old: [PictureJob], after new: [PictureJob], heardFrom: MediaTime) -> MediaTime? {
        var times: [MediaTime] = []
        for job in old {
            guard let start = job.start else { continue }
            if let same = new.first(where: { $0.serial == job.serial }) {
                if same.start != start { times.append(start) }
                if let end = same.end, end != job.end { times.append(end) }
            } else if start >= heardFrom {
                times.append(start)
            }
        }
        return times.min()
    }

    private static func release(_ number: Int, in state: inout State) {
        guard let taken = state.taken[number] else { return }
        taken.cancellation.cancel()
        taken.source?.cancel()
        state.taken[number] = nil
    }

    /// Whether all pictures of an item that there are have been handed over.
    func hasFinished(_ serial: Int) -> Bool { state.withLock { $0.finished.contains(serial) } }

    /// Items whose pictures cannot be shown, or no further.
    func takeFailures() -> [(serial: Int, error: MediaError)] {
        state.withLock { state in
            defer { state.failures = [] }
            return state.failures
        }
    }

    private func wakeAll() { for signal in signals { signal.raise() } }

    // MARK: The threads

    private enum Errand { case over, rest, open(PictureJob, OpenCancellation), work(Int) }

    /// One turn of a thread, without waiting for anything but the source. Tests call it in place of the threads.
    func turn(_ number: Int) -> QueueReader.Turn {
        let desk = desks[number]
        switch errand(number, has: desk.pictures == nil ? nil : desk.serial) {
        case .over:
            desk.pictures = nil
            return .over
        case .rest:
            desk.pictures = nil
            return .rest
        case .open(let job, let cancellation):
            desk.pictures = nil
            desk.serial = job.serial
            do throws(MediaError) {
                desk.pictures = try open(job, cancellation)
            } catch {
                finish(job.serial, error)
            }
            return .again
        case .work(let serial):
            guard let pictures = desk.pictures else { return .again }
            return work(serial, pictures)
        }
    }

    private func errand(_ number: Int, has serial: Int?) -> Errand {
        state.withLock { state in
            if state.isStopping { return .over }
            if let taken = state.taken[number], state.isWanted(taken.serial) {
                if taken.serial == serial { return .work(taken.serial) }
            } else {
                state.taken[number] = nil
                let busy = state.taken.compactMap { $0?.serial }
                let next = state.jobs.first { !state.finished.contains($0.serial) && !busy.contains($0.serial) }
                guard let next else { return .rest }
                state.taken[number] = (next.serial, OpenCancellation(), next.source)
            }
            guard let taken = state.taken[number], let job = state.jobs.first(where: { $0.serial == taken.serial })
            else { return .rest }
            return .open(job, taken.cancellation)
        }
    }

    private func open(_ job: PictureJob, _ cancellation: OpenCancellation) throws(MediaError) -> ItemPictures {
        let (track, isStill): (Track, Bool)
        switch job.kind {
        case .blank: return ItemPictures(blankFrom: job.offset)
        case .still(let cover): (track, isStill) = (cover, true)
        case .film(let film): (track, isStill) = (film, false)
        }
        guard let format = track.videoFormat else { throw MediaError(.unsupported, "it holds no pictures") }
        let source: any SampleSource
        if let shared = job.source {
            source = shared
        } else {
            let media = try setup.open(job.item.address, cancellation)
            let same = media.summary.tracks.first { $0.id == track.id && $0.kind == .video }
            source = try media.source(for: same ?? track)
        }
        var first = job.offset
        if let start = job.start, !isStill {
            let behind = setup.timebase.currentTime - start
            if behind.duration > Self.lateness { first += behind }
        }
        return try ItemPictures(source, try setup.makeDecoder(format), isStill: isStill, from: first)
    }

    private enum Handing { case handed(SampleBuffer, isFirst: Bool), left, past, wait }

    private func work(_ serial: Int, _ pictures: ItemPictures) -> QueueReader.Turn {
        guard let next = pictures.waiting.first else {
            if pictures.hasEnded { finish(serial, pictures.failure) } else { pictures.step() }
            return .again
        }
        switch hand(next, of: serial) {
        case .handed(let placed, let isFirst):
            pictures.removeFirst()
            if isFirst { news.raise() }
            if setup.timebase.rate > 0 {
                pictures.adaptEffort(to: placed, now: setup.timebase.currentTime, events: setup.events)
            }
            return .again
        case .left:
            pictures.removeFirst()
            return .again
        case .past:
            finish(serial, nil)
            return .again
        case .wait:
            guard pictures.waiting.count < Self.ahead, !pictures.hasEnded else { return .rest }
            pictures.step()
            return .again
        }
    }

    /// Under the lock, so that nothing comes into the layer behind a flush.
    private func hand(_ picture: SampleBuffer, of serial: Int) -> Handing {
        state.withLock { state in
            guard let index = state.jobs.firstIndex(where: { $0.serial == serial }) else { return .past }
            let job = state.jobs[index]
            guard job.start != nil, state.jobs[..<index].allSatisfy({ state.finished.contains($0.serial) }),
                setup.layer.isReadyForMoreMediaData
            else { return .wait }
            guard let placed = job.placed(picture) else { return job.isOver(at: picture) ? .past : .left }
            let isFirst = setup.layer.count == 0
            setup.layer.enqueue(placed)
            return .handed(placed, isFirst: isFirst)
        }
    }

    private func finish(_ serial: Int, _ error: MediaError?) {
        state.withLock { state in
            guard state.jobs.contains(where: { $0.serial == serial }) else { return }
            state.finished.insert(serial)
            if let error, error.code != .cancelled { state.failures.append((serial, error)) }
        }
        wakeAll()
        news.raise()
    }
}
