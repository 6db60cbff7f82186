internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// The pump's thread and what it owns: the device while there is one, the wait for one while there is none.
///
/// `@unchecked Sendable`: everything is immutable, atomic, or a keeper that the thread between `start` and the join in
/// `stop` steps alone.
final class SoundCardWorker: @unchecked Sendable {
    /// How much sound is kept after it was rendered, for going back to the frame that was heard at a pause.
    private static let history = Duration.milliseconds(300)
    private static let depth = Duration.milliseconds(500)

    let format: PCMFormat
    let buffer: PlayoutBuffer
    let pump: SoundCardPump
    let wake = Signal()
    let keeper: DeviceFailover
    private let context: AudioOutputContext
    private let isStopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    private let lookout: DeviceMonitor
    private let sinks: SinkFinder

    /// - Parameters:
    ///   - substitutes: ALSA's names of devices that may take over when this one is lost.
    ///   - sinkNews: called on any thread when the sound server plays the sound elsewhere than was known before.
    init(
        device: ALSADevice, name: String, context: AudioOutputContext, depths: SoundCardPump.Depths, gain: Float,
        substitutes: @escaping @Sendable () -> [String], sinkNews: @escaping @Sendable () -> Void
    ) {
        self.context = context
        let format = device.format
        self.format = format
        buffer = PlayoutBuffer(format: format, depth: Self.depth, history: Self.history)
        let playout = SoundCardPlayout(
            buffer: buffer, timebase: context.timebase, events: context.events, id: context.id,
            history: Self.history, initialGain: gain)
        pump = SoundCardPump(
            device: device, buffer: buffer, playout: playout, context: context, depths: depths, initialGain: gain)
        let sinks = SinkFinder { before, _ in
            // The first word is no move.
            if before.sink != nil { context.events.note(.outputMoved(output: context.id)) }
            sinkNews()
        }
        self.sinks = sinks
        sinks.note(device)
        let open: @Sendable (String) -> ALSADevice? = { name in
            // ignored: another device is tried, or this one again later; `loss` says that none plays.
            guard let device = try? ALSADevice(name: name), (try? device.configure(format)) != nil else { return nil }
            sinks.note(device)
            return device
        }
        keeper = DeviceFailover(
            pump: pump, device: device, name: name, place: device.name, context: context,
            supply: DeviceFailover.Supply(substitutes: substitutes, open: open))
        lookout = DeviceMonitor(keeper: keeper, wake: wake, open: open)
    }

    func isFor(_ other: AudioOutputContext) -> Bool {
        context.timebase === other.timebase && context.room === other.room && context.events === other.events
            && context.id == other.id
    }

    /// Where the sound is heard. Any thread.
    var sink: SinkKnowledge { sinks.knowledge(of: keeper.place) }

    /// - Throws: when the system gives no thread; `stop` gives back the device then, too.
    func start() throws(ExhaustionError) {
        // Two thirds up the scale of sched(7)'s ordinary use: above decoders, below the kernel's own threads.
        let worker = try WorkerThread.start(name: "sound card", priority: .realtime(50)) { self.run() }
        thread.withLock { $0 = worker }
        lookout.start()
    }

    /// Ends the thread and gives back the device, if it is still there.
    func stop() -> ALSADevice? {
        sinks.stop()
        lookout.stop()
        isStopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0 }?.join()
        return keeper.retire() as? ALSADevice
    }

    private func run() {
        while !isStopping.load(ordering: .acquiring) {
            wake.wait(until: keeper.step())
            wake.clear()
        }
    }
}
