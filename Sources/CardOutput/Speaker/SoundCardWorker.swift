internal import CardPlayout
internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// The pump thread and its device, if there is one; retries opening while there is none.
///
/// `@unchecked Sendable`: all state is immutable, atomic or locked, or it belongs to `keeper`. Only the pump thread
/// steps that one, between `start` and the join in `stop`.
final class SoundCardWorker: @unchecked Sendable {
    /// The rendered audio that is retained, for returning to the last audible frame after a pause.
    private static let history = Duration.milliseconds(300)
    private static let depth = Duration.milliseconds(500)

    let format: PCMFormat
    let buffer: PlayoutBuffer
    let pump: SoundCardPump
    let wake = Signal()
    let failover: DeviceFailover
    private let context: AudioOutputContext
    private let isStopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    private let monitor: DeviceMonitor
    private let sinks: SinkFinder

    /// - Parameters:
    ///   - substitutes: Returns ALSA names of replacement devices after a loss.
    ///   - sinkNews: Called on any thread when the sound server reports another sink.
    ///   - poll: Called every two seconds.
    init(
        device: ALSADevice, name: String, context: AudioOutputContext, depths: SoundCardPump.Depths, gain: Float,
        substitutes: @escaping @Sendable () -> [String], sinkNews: @escaping @Sendable () -> Void,
        poll: @escaping @Sendable () -> Void
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
        let sinks = SinkFinder { before, now in
            // The first report is not a move.
            if let former = before.sink, former.key != now.sink?.key {
                context.events.append(.outputMoved(output: context.id))
            }
            sinkNews()
        }
        self.sinks = sinks
        sinks.register(device)
        let open: @Sendable (String) -> ALSADevice? = { name in
            // ignored: another device is tried, or this one again later; `loss` says that none plays.
            guard let device = try? ALSADevice(name: name), (try? device.configure(format)) != nil else { return nil }
            sinks.register(device)
            return device
        }
        failover = DeviceFailover(
            pump: pump, device: device, name: name, deviceName: device.name, context: context,
            supply: DeviceFailover.Supply(substitutes: substitutes, open: open))
        monitor = DeviceMonitor(failover: failover, wake: wake, open: open, poll: poll)
    }

    /// Returns true if this worker was created for an equal context, so that it can be reused.
    func isFor(_ other: AudioOutputContext) -> Bool {
        context.timebase === other.timebase && context.writable === other.writable && context.events === other.events
            && context.id == other.id
    }

    /// The destination of the audio. Any thread.
    var sink: SinkKnowledge { sinks.knowledge(of: failover.deviceName) }

    /// Starts the pump thread and the device monitor.
    ///
    /// - Throws: `ExhaustionError` if no thread can be created; call `stop` to get the device back.
    func start() throws(ExhaustionError) {
        let worker = try WorkerThread.start(name: "sound card", priority: SoundCardProbe.priority) { self.run() }
        thread.withLock { $0 = worker }
        monitor.start()
    }

    /// Stops and joins all threads. Returns the device, or nil if it is lost.
    func stop() -> ALSADevice? {
        sinks.stop()
        monitor.stop()
        isStopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0 }?.join()
        return failover.retire() as? ALSADevice
    }

    private func run() {
        while !isStopping.load(ordering: .acquiring) {
            wake.wait(until: failover.step())
            wake.clear()
        }
    }
}
