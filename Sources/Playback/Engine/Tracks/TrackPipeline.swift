internal import MediaCore
internal import SyncRendering

/// The reading, decoding and enqueueing of a track on a pipeline's thread.
protocol TrackStage: AnyObject {
    /// Seeks to a media time, dropping all media in progress.
    ///
    /// - Returns: The position found by the track; nil if the first sample determines it.
    func seek(to time: MediaTime, aim: SeekAim) throws(MediaError) -> MediaTime?
    /// Returns to an entry of the list up to its current end, dropping later media.
    func cut(after serial: Int)
    /// Performs one step; blocks while reading.
    func step() throws(MediaError) -> TrackStep
    /// Makes a blocked `step` return. Any thread.
    func cancel()
    /// Raises the signal whenever the renderer may have space.
    func askForRoom(raising signal: Signal)
    /// The reading state; nil if the timeline never waits for the track.
    var intake: TrackIntake? { get }
}

extension TrackStage {
    var intake: TrackIntake? { nil }
}

/// The result of a step.
enum TrackStep {
    /// Media has advanced.
    case moved
    /// The renderer is full, or the successor is unknown.
    case full
    /// The track has ended and all of its media was enqueued.
    case ended
}

/// The thread of a track: it steps its stage while the renderer has space, and executes seeks and cuts.
///
/// `@unchecked Sendable`: `stage` and `isActive` are confined to the pipeline's thread, except the thread-safe
/// `cancel`.
final class TrackPipeline: @unchecked Sendable {
    /// The progress of the commands; guarded by the lock `state`.
    struct Status: Sendable {
        /// The number of the last executed seek, and of the last executed cut.
        var seekSerial = 0
        var cutNumber = 0
        /// Counts the requested seeks up to the last executed one.
        fileprivate var seekCount = 0
        /// The position on the timeline found by that seek; nil if the first sample determines it.
        var landed: MediaTime?
        var hasEnded = false
        /// The error that ended the track early.
        var failure: MediaError?

        fileprivate mutating func complete(_ seek: Seek, at position: MediaTime?) {
            (seekSerial, seekCount, landed) = (seek.serial, seek.count, position)
        }
    }

    fileprivate struct Seek {
        var serial: Int
        /// Several seeks may have one serial.
        var count: Int
        var time: MediaTime
        var aim: SeekAim
    }

    /// The pending commands; guarded by the lock `commands`.
    private struct Command {
        var seek: Seek?
        /// The number of seeks requested so far.
        var seekCount = 0
        var cut: (number: Int, serial: Int)?
        /// Whether to continue after an end that was reached.
        var goesOn = false
        /// When the thread has to have ended; nil before `cancel`.
        var deadline: HostInstant?
    }

    private let stage: any TrackStage
    let intake: TrackIntake?
    private let commands = Lock(Command())
    private let state = Lock(Status())
    /// The thread waits for it between iterations.
    let signal = Signal()
    private let onEvent: @Sendable () -> Void
    private let run: Prefetcher.Run
    /// The pipeline's thread; guarded by its own lock.
    private let thread = Lock<WorkerThread?>(nil)
    /// Raised when the thread ends.
    let ended = Signal()
    private let stopTimeout: Duration
    /// The name of a thread that the system did not provide; guarded by its own lock.
    private let unstarted = Lock<String?>(nil)

    /// The time for a cancelled read to return. A read of a file can block in the kernel, for instance if its network
    /// file system does not answer, and nothing interrupts it.
    static let usualStopTimeout = Duration.seconds(3)

    /// Creates a pipeline without a thread.
    ///
    /// - Parameters:
    ///   - run: Starts the thread.
    ///   - stopTimeout: The maximum time that `stop` waits.
    ///   - onEvent: Called on the pipeline's thread when a command was executed or the track has ended.
    init(
        stage: sending any TrackStage, run: @escaping Prefetcher.Run = Prefetcher.onThreads,
        stopTimeout: Duration = TrackPipeline.usualStopTimeout, onEvent: @escaping @Sendable () -> Void
    ) {
        self.run = run
        self.stopTimeout = stopTimeout
        intake = stage.intake
        stage.askForRoom(raising: signal)
        self.stage = stage
        self.onEvent = onEvent
    }

    var status: Status { state.withLock { $0 } }

    /// Starts the thread, which waits for a first `seek`. If none is available the track ends early, and each command
    /// tries again.
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
                if let seek { $0.complete(seek, at: seek.time) }
                if let cut { $0.cutNumber = cut.number }
                $0.hasEnded = true
                $0.failure = MediaError(error)
            }
            onEvent()
        }
    }

    /// The error if no thread was available; nil otherwise.
    var refusal: MediaError? { unstarted.withLock { $0 } == nil ? nil : status.failure }

    /// Retries to start the thread if it was not available.
    private func startAgain() { if let name = unstarted.withLock({ $0 }) { start(name: name) } }

    /// Requests a seek; replaces a pending one and drops a pending cut.
    func seek(to time: MediaTime, aim: SeekAim, serial: Int) {
        commands.withLock {
            $0.seekCount += 1
            $0.seek = Seek(serial: serial, count: $0.seekCount, time: time, aim: aim)
            $0.cut = nil
        }
        startAgain()
        signal.raise()
    }

    /// Whether a requested seek was not executed yet: the renderer may still hold media from before it.
    var isSeekPending: Bool { status.seekCount < commands.withLock { $0.seekCount } }

    /// Requests to drop the media after an entry of the list.
    func cut(after serial: Int, number: Int) {
        commands.withLock { $0.cut = (number, serial) }
        startAgain()
        signal.raise()
    }

    /// Requests to continue, also after an end that was reached.
    func resume() {
        commands.withLock { $0.goesOn = true }
        startAgain()
        signal.raise()
    }

    /// Wakes the thread. Any thread; does not block.
    func wake() { signal.raise() }

    /// Requests the end of the thread. Does not block.
    func cancel() {
        let deadline = HostInstant.now.advanced(by: stopTimeout)
        commands.withLock { $0.deadline = $0.deadline ?? deadline }
        stage.cancel()
        signal.raise()
    }

    /// Ends the thread and waits for it. A thread whose read still blocks some seconds after `cancel` is abandoned: it
    /// ends once the read returns, and enqueues nothing until then.
    func stop() {
        cancel()
        guard let worker = thread.withLock({ $0.take() }), let deadline = commands.withLock({ $0.deadline }) else {
            return
        }
        if ended.wait(until: deadline) { worker.join() }
    }

    private func work() {
        defer { ended.raise() }
        while true {
            switch runIteration() {
            case .again: continue
            case .rest: signal.wait()
            case .over: return
            }
        }
    }

    /// The result of an iteration.
    enum IterationResult { case again, rest, over }

    private var isActive = false

    /// Runs one iteration of the thread; blocks only in the source. Tests call it instead of running the thread.
    func runIteration() -> IterationResult {
        let command = commands.withLock { commands -> Command in
            defer { (commands.seek, commands.cut, commands.goesOn) = (nil, nil, false) }
            return commands
        }
        if command.deadline != nil { return .over }
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
                state.withLock { $0.complete(seek, at: landed) }
                isActive = true
                onEvent()
            }
            if let cut = command.cut {
                stage.cut(after: cut.serial)
                state.withLock { $0.cutNumber = cut.number }
                isActive = true
                onEvent()
            }
            if command.goesOn {
                isActive = true
                state.withLock { $0.hasEnded = false }
            }
            // A seek may have blocked until the thread was abandoned.
            if commands.withLock({ $0.deadline != nil }) { return .over }
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
                onEvent()
                return .rest
            }
        } catch {
            intake?.rest()
            isActive = false
            state.withLock {
                if let seek = command.seek { $0.complete(seek, at: seek.time) }
                $0.hasEnded = true
                $0.failure = error
            }
            onEvent()
            return .rest
        }
    }
}
