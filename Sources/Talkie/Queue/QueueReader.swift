internal import MediaCore
internal import SyncRendering

/// Reads and decodes the items of a queue ahead of need, in order, on a thread of its own.
///
/// `@unchecked Sendable`: `current` and what belongs to it are touched by the reader's own thread only.
final class QueueReader: @unchecked Sendable {
    /// One playing of one item to be read.
    struct Job: Sendable {
        var serial: Int
        var item: QueueItem
        /// The item's frame to begin with.
        var from: Int64
    }

    /// What came of it.
    enum Piece: Sendable {
        case sound(serial: Int, PCMBlock)
        case ended(serial: Int)
        case failed(serial: Int, MediaError)

        var serial: Int {
            switch self {
            case .sound(let serial, _), .ended(let serial), .failed(let serial, _): serial
            }
        }
        fileprivate var frames: Int { if case .sound(_, let block) = self { block.frames } else { 0 } }
    }

    struct Setup: Sendable {
        var open: @Sendable (String, OpenCancellation) throws(MediaError) -> any MediaSource
        var codecs: any AudioCodecs
        var format: PCMFormat
        /// Frames of each piece, and frames kept ready.
        var pieceFrames: Int
        var readyFrames: Int
        var tap: QueueOptions.Tap?
        /// Whether items last as long as their pictures do.
        var showsPictures = false
    }

    private struct State {
        var jobs: [Job] = []
        var pieces: [Piece] = []
        var readyFrames = 0
        /// Items opened and not yet told.
        var opened: [OpenedItem] = []
        /// What the thread is at, and how to end it.
        var active: (serial: Int, cancellation: OpenCancellation)?
        var isStopping = false
    }

    private let setup: Setup
    private let state = Lock(State())
    private let signal = Signal()
    private let news: Signal
    private let thread = Lock<WorkerThread?>(nil)
    private var current: (job: Job, decoder: ItemDecoder)?
    /// Its pictures come from the same input.
    private var sharesInput = false

    /// - Parameter news: raised when a piece is ready.
    init(_ setup: Setup, news: Signal) {
        self.setup = setup
        self.news = news
    }

    func start() {
        let worker = WorkerThread.start(name: "queue reader") { [self] in
            while true {
                switch turn() {
                case .again: continue
                case .rest: signal.wait()
                case .over: return
                }
            }
        }
        thread.withLock { $0 = worker }
    }

    /// Ends the thread and waits for it.
    func stop() {
        state.withLock { state in
            state.isStopping = true
            state.active?.cancellation.cancel()
        }
        signal.raise()
        thread.withLock { $0 }?.join()
    }

    /// What to read, in this order. What was read of anything else is forgotten.
    func plan(_ jobs: [Job]) {
        state.withLock { state in
            guard jobs.map(\.serial) != state.jobs.map(\.serial) else { return }
            let wanted = Set(jobs.map(\.serial))
            state.pieces.removeAll { !wanted.contains($0.serial) }
            state.readyFrames = state.pieces.reduce(0) { $0 + $1.frames }
            state.jobs = jobs
            if let active = state.active, !wanted.contains(active.serial) { active.cancellation.cancel() }
        }
        signal.raise()
    }

    /// Oldest piece that is ready.
    ///
    /// - Parameter hasRoom: false leaves sound where it is, and takes only the news that an item is over.
    func take(hasRoom: Bool) -> Piece? {
        let piece = state.withLock { state -> Piece? in
            guard let first = state.pieces.first, hasRoom || first.frames == 0 else { return nil }
            let piece = state.pieces.removeFirst()
            state.readyFrames -= piece.frames
            return piece
        }
        if piece != nil { signal.raise() }
        return piece
    }

    /// What was opened since the last call, in order.
    func takeOpened() -> [OpenedItem] {
        state.withLock { state in
            defer { state.opened = [] }
            return state.opened
        }
    }

    // MARK: The thread

    enum Turn { case again, rest, over }

    /// One turn of the thread, without waiting for anything but the source. Tests call it in place of the thread.
    func turn() -> Turn {
        let (job, isStopping, hasRoom) = state.withLock { state -> (Job?, Bool, Bool) in
            if let serial = current?.job.serial, state.jobs.contains(where: { $0.serial == serial }) {
                return (nil, state.isStopping, state.readyFrames < setup.readyFrames)
            }
            return (state.jobs.first { job in !isDone(job.serial) }, state.isStopping, true)
        }
        if isStopping {
            current = nil
            return .over
        }
        if let job {
            begin(job)
            return .again
        }
        guard let current, state.withLock({ $0.jobs.contains { $0.serial == current.job.serial } }) else {
            self.current = nil
            return .rest
        }
        guard hasRoom else { return .rest }
        read(current.job, current.decoder)
        return .again
    }

    /// The newest playing that was read to its end: serials only grow.
    private var done = 0
    private func isDone(_ serial: Int) -> Bool { serial <= done }

    private func begin(_ job: Job) {
        current = nil
        let cancellation = OpenCancellation()
        let isWanted = state.withLock { state in
            state.active = (job.serial, cancellation)
            return state.jobs.contains { $0.serial == job.serial }
        }
        guard isWanted else { return }
        do throws(MediaError) {
            let media = try setup.open(job.item.address, cancellation)
            let item = try OpenedItem(job.serial, media, showsPictures: setup.showsPictures)
            let decoder = try ItemDecoder(
                media, codecs: setup.codecs, format: setup.format, from: job.from, showsPictures: setup.showsPictures)
            current = (job, decoder)
            sharesInput = item.source != nil
            state.withLock { $0.opened.append(item) }
            news.raise()
        } catch {
            done = job.serial
            give(.failed(serial: job.serial, error))
        }
    }

    private func read(_ job: Job, _ decoder: ItemDecoder) {
        let block = PCMBlock(format: setup.format, capacity: setup.pieceFrames)
        do throws(MediaError) {
            if try decoder.fill(block) {
                setup.tap?(block, job.item)
                give(.sound(serial: job.serial, block))
            } else {
                end(job, .ended(serial: job.serial))
            }
        } catch {
            if block.frames > 0 { give(.sound(serial: job.serial, block)) }
            end(job, .failed(serial: job.serial, error))
        }
    }

    private func end(_ job: Job, _ piece: Piece) {
        done = job.serial
        current = nil
        // Its pictures are read on when its sound is over.
        if sharesInput { state.withLock { $0.active = nil } }
        give(piece)
    }

    private func give(_ piece: Piece) {
        state.withLock { state in
            guard state.jobs.contains(where: { $0.serial == piece.serial }) else { return }
            state.pieces.append(piece)
            state.readyFrames += piece.frames
        }
        news.raise()
    }
}
