internal import MediaCore
internal import SyncRendering

/// What one track does on its own thread: read, decode, hand on.
protocol TrackStage: AnyObject {
    /// Goes on from a film time. Drops what was on its way first.
    ///
    /// - Returns: where the film is to go on for it; nil when the first sample tells.
    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime?
    /// Goes back to an entry of the list, to where it ends by now: what lies behind that is taken back.
    func cut(after serial: Int)
    /// One step; blocks while reading.
    func step() throws(MediaError) -> TrackStep
    /// Makes a blocked `step` return. Any thread.
    func cancel()
    /// Has the signal raised whenever the renderer may have room.
    func askForRoom(raising signal: Signal)
    /// The state of the track's reading; nil where film time never waits for it.
    var intake: TrackIntake? { get }
}

extension TrackStage {
    var intake: TrackIntake? { nil }
}

enum TrackStep {
    /// Something moved.
    case moved
    /// The renderer has enough.
    case full
    /// The track has ended and everything has been handed on.
    case ended
}

/// The thread of one track: it steps its stage while the renderer wants more, sleeps otherwise, and takes jumps.
///
/// `@unchecked Sendable`: `stage` and `isActive` are touched by the pipeline's own thread only, except its thread-safe `cancel`.
final class TrackPipeline: @unchecked Sendable {
    struct Status: Sendable {
        /// Number of the last jump that has been carried out, and of the last cut.
        var seekSerial = 0
        var cutNumber = 0
        /// Where that jump led, on the line; nil when the first sample tells.
        var landed: MediaTime?
        var hasEnded = false
        /// Why the track stopped early.
        package var failure: MediaError?
    }

    private struct Command {
        package var seek: (serial: Int, time: MediaTime, aim: SeekAim)?
        var cut: (number: Int, serial: Int)?
        /// Something follows an end that was reached.
        var goesOn = false
        package var stopping = false
    }

    private let stage: any TrackStage
    let intake: TrackIntake?
    private let commands = Lock(Command())
    private let state = Lock(Status())
    /// What the thread waits for between two iterations.
    let signal = Signal()
    private let onNews: @Sendable () -> Void
    private let run: Prefetcher.Run
    private let thread = Lock<WorkerThread?>(nil)
    /// The system gave no thread when one was asked for; its name.
    private let unstarted = Lock<String?>(nil)

    /// - Parameters:
    ///   - run: gives it its thread.
    ///   - onNews: called on the pipeline's thread when a jump was carried out or the track ended.
    init(
        stage: sending any TrackStage, run: @escaping Prefetcher.Run = Prefetcher.onThreads,
        onNews: @escaping @Sendable () -> Void
    ) {
        self.run = run
        intake = stage.intake
        stage.askForRoom(raising: signal)
        self.stage = stage
        self.onNews = onNews
    }

    var status: Status { state.withLock { $0 } }

    /// Starts the thread; it waits for a first `seek`. Where the system gives none the track ends early, and each jump tries again.
    func start(name: String) {
        do throws(ExhaustionError) {
            let worker = try run(name) { self.work() }
            thread.withLock { $0 = worker }
            unstarted.withLock { $0 = nil }
        } catch {
            unstarted.withLock { $0 = name }
            let (seek, cut) = commands.withLock { commands in
                defer { (commands.seek, commands.cut) = (nil, nil) }
                return (commands.seek, commands.cut)
            }
            state.withLock {
                if let seek { ($0.seekSerial, $0.landed) = (seek.serial, seek.time) }
                if let cut { $0.cutNumber = cut.number }
                $0.hasEnded = true
                $0.failure = MediaError(error)
            }
            onNews()
        }
    }

    /// Why there is no thread.
    var refusal: MediaError? { unstarted.withLock { $0 } == nil ? nil : status.failure }

    /// A pipeline without a thread asks for one again.
    private func startAgain() { if let name = unstarted.withLock({ $0 }) { start(name: name) } }

    /// Asks for a jump; a jump asked for before and not yet begun is dropped.
    func seek(to time: MediaTime, aim: SeekAim, serial: Int) {
        commands.withLock {
            $0.seek = (serial, time, aim)
            $0.cut = nil
        }
        startAgain()
        signal.raise()
    }

    /// Asks to take back what lies behind an entry of the list.
    func cut(after serial: Int, number: Int) {
        commands.withLock { $0.cut = (number, serial) }
        startAgain()
        signal.raise()
    }

    /// Something follows now: goes on also behind an end that was reached.
    func goOn() {
        commands.withLock { $0.goesOn = true }
        startAgain()
        signal.raise()
    }

    /// Tells the thread that the renderer wants more. Any thread, returns at once.
    func wake() { signal.raise() }

    /// Ends the thread and waits for it.
    func stop() {
        commands.withLock { $0.stopping = true }
        stage.cancel()
        signal.raise()
        let worker = thread.withLock { thread -> WorkerThread? in
            defer { thread = nil }
            return thread
        }
        worker?.join()
    }

    private func work() {
        while true {
            switch turn() {
            case .again: continue
            case .rest: signal.wait()
            case .over: return
            }
        }
    }

    /// What a turn of the thread came to.
    enum Turn { case again, rest, over }

    private var isActive = false

    /// One turn of the thread, without waiting for anything but the source. Tests call it in place of the thread.
    func turn() -> Turn {
        let command = commands.withLock { commands -> Command in
            defer { (commands.seek, commands.cut, commands.goesOn) = (nil, nil, false) }
            return commands
        }
        if command.stopping { return .over }
        do {
            if let seek = command.seek {
                state.withLock {
                    $0.hasEnded = false
                    $0.failure = nil
                }
                intake?.restart()
                intake?.beginReading()
                defer { intake?.endReading() }
                let landed = try stage.seek(to: seek.time, aim: seek.aim)
                state.withLock { ($0.seekSerial, $0.landed) = (seek.serial, landed) }
                isActive = true
                onNews()
            }
            if let cut = command.cut {
                stage.cut(after: cut.serial)
                state.withLock { $0.cutNumber = cut.number }
                isActive = true
                onNews()
            }
            if command.goesOn {
                isActive = true
                state.withLock { $0.hasEnded = false }
            }
            guard isActive else { return .rest }
            switch try stage.step() {
            case .moved: return .again
            case .full:
                intake?.rest()
                return .rest
            case .ended:
                intake?.rest()
                isActive = false
                state.withLock { $0.hasEnded = true }
                onNews()
                return .rest
            }
        } catch {
            intake?.rest()
            isActive = false
            state.withLock {
                if let seek = command.seek { ($0.seekSerial, $0.landed) = (seek.serial, seek.time) }
                $0.hasEnded = true
                $0.failure = error
            }
            onNews()
            return .rest
        }
    }
}
