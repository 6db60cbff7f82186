package import MediaCore
package import SyncRendering
internal import Synchronization

/// The consumer of an `EventLog`: passes events to the statistics and the flight recorder.
///
/// The thread `event recorder` does this with low priority. All methods are callable from any thread. Memory is
/// bounded: the log, one batch, and at most 256 pending remarks.
package final class EventDistributor: Sendable {
    private static let batchSize = 256
    private static let maxRemarks = 256
    /// The log has 4096 entries; two thousand events a second fill it in 2 s. Ten wake-ups a
    /// second have no measurable cost.
    private static let interval = Duration.milliseconds(100)
    /// Interval at which lines are written, for readers of the growing file.
    private static let flushInterval = Duration.seconds(1)

    private let log: EventLog
    private let clock: any HostClock
    /// Written by the thread, read by any thread.
    private let totals = Lock(PlaybackStatistics())
    /// Written by the thread, read by any thread.
    private let outputTotals = Lock(OutputsStatistics())
    /// Remarks of any thread that await the recorder thread.
    private let remarks = Lock<[(TimelineRemark, HostInstant)]>([])
    /// Set by `stop`, read by the thread.
    private let stopping = Atomic<Bool>(false)
    private let wake = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameter clock: The clock of the events; used for the times of remarks.
    package init(log: EventLog, clock: any HostClock = MonotonicClock()) {
        self.log = log
        self.clock = clock
    }

    /// Starts the thread; later calls have no effect.
    ///
    /// All closures are called on the recorder thread.
    ///
    /// - Parameters:
    ///   - file: The record; closed by `stop`. Nil: statistics only.
    ///   - complain: Receives a message when recording stops or resumes.
    ///   - onOutputEvent: Called when an output is lost or restored.
    ///   - onClockEvent: Called when a speaker's clock stalls, is ready again, or is doubted (once per output).
    /// - Throws: If the system refuses a thread; the file is then closed.
    package func start(
        recordingTo file: consuming TimelineFile? = nil,
        complain: @escaping @Sendable (String) -> Void = { _ in },
        onOutputEvent: @escaping @Sendable (_ output: OutputID, _ isLost: Bool) -> Void = { _, _ in },
        onClockEvent: @escaping @Sendable (_ output: OutputID, _ state: SpeakerClockState) -> Void = { _, _ in }
    ) throws(ExhaustionError) {
        let recorder = Recorder(
            file: file, distributor: self, onOutputEvent: onOutputEvent, onClockEvent: onClockEvent,
            complain: complain)
        try thread.withLock { (thread) throws(ExhaustionError) in
            guard thread == nil else { return }
            thread = try WorkerThread.start(name: "event recorder", priority: .background) { recorder.run() }
        }
    }

    /// Processes the remaining events, closes the file and joins the thread. Waits up to
    /// 200 ms for the reader of a pipe.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0?.join() }
    }

    /// The totals, at most 100 ms old. Callable from any thread.
    package var statistics: PlaybackStatistics { totals.withLock { $0 } }

    /// The totals per output. Callable from any thread.
    package var outputs: OutputsStatistics { outputTotals.withLock { $0 } }

    /// Adds a remark to the record; dropped without a record or beyond 256 pending ones. Callable from any thread.
    package func record(_ remark: TimelineRemark) {
        let now = clock.now
        remarks.withLock { if $0.count < Self.maxRemarks { $0.append((remark, now)) } }
    }

    /// The state of the recorder thread.
    ///
    /// `@unchecked Sendable`: created by `start`, then used by that thread only.
    private final class Recorder: @unchecked Sendable {
        private var writer: TimelineWriter?
        private let distributor: EventDistributor
        private let onOutputEvent: @Sendable (OutputID, Bool) -> Void
        private let onClockEvent: @Sendable (OutputID, SpeakerClockState) -> Void
        /// Outputs whose clock has stalled; bounded by the number of outputs.
        private var clockless: Set<OutputID> = []
        private var doubted: Set<OutputID> = []
        private let complain: @Sendable (String) -> Void
        private var batch: [EventLog.Entry] = []
        private var recordedLosses = 0

        init(
            file: consuming TimelineFile?, distributor: EventDistributor,
            onOutputEvent: @escaping @Sendable (OutputID, Bool) -> Void,
            onClockEvent: @escaping @Sendable (OutputID, SpeakerClockState) -> Void,
            complain: @escaping @Sendable (String) -> Void
        ) {
            self.onClockEvent = onClockEvent
            if let file = file.take() { writer = TimelineWriter(file: file, at: distributor.clock.now) }
            self.distributor = distributor
            self.onOutputEvent = onOutputEvent
            self.complain = complain
            batch.reserveCapacity(EventDistributor.batchSize)
        }

        func run() {
            var lastFlush = HostInstant.now
            while true {
                let isLast = distributor.stopping.load(ordering: .acquiring)
                drain()
                let now = HostInstant.now
                if isLast {
                    writer?.finish(at: distributor.clock.now)
                } else if now - lastFlush >= EventDistributor.flushInterval {
                    lastFlush = now
                    writer?.performDueWork(at: distributor.clock.now)
                }
                if let complaint = writer?.consumeComplaint() { complain(complaint) }
                if isLast { break }
                distributor.wake.wait(until: now.advanced(by: EventDistributor.interval))
            }
            writer = nil
        }

        private func drain() {
            let remarks = distributor.remarks.withLock { remarks -> [(TimelineRemark, HostInstant)] in
                // Avoids an allocation: emptying a returned array copies it.
                guard !remarks.isEmpty else { return [] }
                defer { remarks = [] }
                return remarks
            }
            for (remark, instant) in remarks { writer?.write(remark, at: instant) }
            while true {
                batch.removeAll(keepingCapacity: true)
                while batch.count < EventDistributor.batchSize, let entry = distributor.log.removeFirst() {
                    batch.append(entry)
                }
                let lost = distributor.log.lostCount
                distributor.totals.withLock { totals in
                    for entry in batch { totals.add(entry) }
                    totals.lostEvents = lost
                }
                distributor.outputTotals.withLock { outputs in
                    for entry in batch { outputs.add(entry) }
                }
                for entry in batch {
                    writer?.write(entry)
                    switch entry.event {
                    case .outputLost(let output): onOutputEvent(output, true)
                    case .outputRestored(let output): onOutputEvent(output, false)
                    case .clock(.stalled, let output):
                        if clockless.insert(output).inserted { onClockEvent(output, .stalled) }
                    case .clock(.ready, let output):
                        if clockless.remove(output) != nil { onClockEvent(output, .ready) }
                    case .clock(.doubted, let output):
                        if doubted.insert(output).inserted { onClockEvent(output, .doubted) }
                    default: break
                    }
                }
                if lost > recordedLosses {
                    writer?.write(lost: lost - recordedLosses, at: distributor.clock.now)
                    recordedLosses = lost
                }
                if batch.count < EventDistributor.batchSize { return }
            }
        }
    }
}
