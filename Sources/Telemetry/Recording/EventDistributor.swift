package import MediaCore
package import SyncRendering
internal import Synchronization

/// The one consumer of an `EventLog`: hands every event to the statistics and, when there is one, to the flight
/// recorder, on a thread of its own with low priority.
///
/// Memory is bounded: the log itself, one batch, and at most 256 waiting remarks.
package final class EventDistributor: Sendable {
    private static let batchSize = 256
    private static let mostRemarks = 256
    /// Half the time in which 4096 events could come together at two thousand a second; ten wake-ups a second cost
    /// nothing that can be measured.
    private static let interval = Duration.milliseconds(100)
    /// Whoever follows the file while it grows sees it this fresh.
    private static let flushInterval = Duration.seconds(1)

    private let log: EventLog
    private let clock: any HostClock
    private let totals = Lock(PlaybackStatistics())
    private let outputTotals = Lock(OutputsStatistics())
    private let remarks = Lock<[(TimelineRemark, HostInstant)]>([])
    private let stopping = Atomic<Bool>(false)
    private let wake = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameter clock: stamps remarks; the clock of the events.
    package init(log: EventLog, clock: any HostClock = MonotonicClock()) {
        self.log = log
        self.clock = clock
    }

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - file: where to record, if anywhere; closed with `stop`.
    ///   - complain: called on the recorder's thread with a sentence about a record that broke off, or goes on.
    ///   - outputNews: called on the recorder's thread when an output was lost or came back.
    ///   - outputMoved: the same when a card plays on another device.
    ///   - clockNews: the same for a speaker's clock: stalled, and ready after that; doubted, once for each output.
    /// - Throws: when the system gives no thread; the file is closed then.
    package func start(
        recordingTo file: consuming TimelineFile? = nil,
        complain: @escaping @Sendable (String) -> Void = { _ in },
        outputNews: @escaping @Sendable (_ output: OutputID, _ isLost: Bool) -> Void = { _, _ in },
        outputMoved: @escaping @Sendable (_ output: OutputID) -> Void = { _ in },
        clockNews: @escaping @Sendable (_ output: OutputID, _ state: SpeakerClockState) -> Void = { _, _ in }
    ) throws(ExhaustionError) {
        let recorder = Recorder(
            file: file, distributor: self, outputNews: outputNews, outputMoved: outputMoved, clockNews: clockNews,
            complain: complain)
        try thread.withLock { (thread) throws(ExhaustionError) in
            guard thread == nil else { return }
            thread = try WorkerThread.start(name: "event recorder", priority: .background) { recorder.run() }
        }
    }

    /// Takes what is left, writes it, closes the file and ends the thread. A reader of a pipe is given a fifth of a second.
    package func stop() {
        stopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0?.join() }
    }

    /// The sums as of the last tenth of a second. Any thread.
    package var statistics: PlaybackStatistics { totals.withLock { $0 } }

    /// The same for each output.
    package var outputs: OutputsStatistics { outputTotals.withLock { $0 } }

    /// Writes a remark into the record, if there is one. Any thread.
    package func note(_ remark: TimelineRemark) {
        let now = clock.now
        remarks.withLock { if $0.count < Self.mostRemarks { $0.append((remark, now)) } }
    }

    /// The thread's own state.
    ///
    /// `@unchecked Sendable`: made by `start`, then used by the one thread it is given to.
    private final class Recorder: @unchecked Sendable {
        private var writer: TimelineWriter?
        private let distributor: EventDistributor
        private let outputNews: @Sendable (OutputID, Bool) -> Void
        private let outputMoved: @Sendable (OutputID) -> Void
        private let clockNews: @Sendable (OutputID, SpeakerClockState) -> Void
        /// Those without the clock that their sound lies on; no more than there are outputs.
        private var clockless: Set<OutputID> = []
        private var doubted: Set<OutputID> = []
        private let complain: @Sendable (String) -> Void
        private var batch: [EventLog.Entry] = []
        private var recordedLosses = 0

        init(
            file: consuming TimelineFile?, distributor: EventDistributor,
            outputNews: @escaping @Sendable (OutputID, Bool) -> Void,
            outputMoved: @escaping @Sendable (OutputID) -> Void,
            clockNews: @escaping @Sendable (OutputID, SpeakerClockState) -> Void,
            complain: @escaping @Sendable (String) -> Void
        ) {
            self.clockNews = clockNews
            if let file = file.take() { writer = TimelineWriter(file: file, at: distributor.clock.now) }
            self.distributor = distributor
            self.outputNews = outputNews
            self.outputMoved = outputMoved
            self.complain = complain
            batch.reserveCapacity(EventDistributor.batchSize)
        }

        package func run() {
            var lastFlush = HostInstant.now
            while true {
                let isLast = distributor.stopping.load(ordering: .acquiring)
                drain()
                let now = HostInstant.now
                if isLast {
                    writer?.finish(at: distributor.clock.now)
                } else if now - lastFlush >= EventDistributor.flushInterval {
                    lastFlush = now
                    writer?.attend(at: distributor.clock.now)
                }
                if let complaint = writer?.takeComplaint() { complain(complaint) }
                if isLast { break }
                distributor.wake.wait(until: now.advanced(by: EventDistributor.interval))
            }
            writer = nil
        }

        private func drain() {
            let remarks = distributor.remarks.withLock { remarks -> [(TimelineRemark, HostInstant)] in
                // Emptying an array that is also returned allocates another.
                guard !remarks.isEmpty else { return [] }
                defer { remarks = [] }
                return remarks
            }
            for (remark, instant) in remarks { writer?.write(remark, at: instant) }
            while true {
                batch.removeAll(keepingCapacity: true)
                while batch.count < EventDistributor.batchSize, let entry = distributor.log.take() {
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
                    case .outputLost(let output): outputNews(output, true)
                    case .outputRestored(let output): outputNews(output, false)
                    case .outputMoved(let output): outputMoved(output)
                    case .clock(.stalled, let output):
                        if clockless.insert(output).inserted { clockNews(output, .stalled) }
                    case .clock(.ready, let output):
                        if clockless.remove(output) != nil { clockNews(output, .ready) }
                    case .clock(.doubted, let output):
                        if doubted.insert(output).inserted { clockNews(output, .doubted) }
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
