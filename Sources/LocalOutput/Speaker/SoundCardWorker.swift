internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// The pump's thread and what it owns: the device while there is one, the wait for its return while there is none.
///
/// `@unchecked Sendable`: `device` belongs to the thread between `start` and the join in `stop`; everything else is
/// immutable or atomic.
final class SoundCardWorker: @unchecked Sendable {
    /// How much sound is kept after it was rendered, for going back to the frame that was heard at a pause.
    private static let history = Duration.milliseconds(300)
    private static let depth = Duration.milliseconds(500)
    /// The wait before a lost device is tried again, and the longest.
    private static let firstWait = Duration.milliseconds(500)
    private static let longestWait = Duration.seconds(5)

    let format: PCMFormat
    let buffer: PlayoutBuffer
    let pump: SoundCardPump
    let wake = Signal()
    private let name: String
    private let context: AudioOutputContext
    private var device: ALSADevice?
    private let isStopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    init(
        device: ALSADevice, name: String, context: AudioOutputContext, depths: SoundCardPump.Depths, gain: Float
    ) {
        self.device = device
        self.name = name
        self.context = context
        format = device.format
        buffer = PlayoutBuffer(format: format, depth: Self.depth, history: Self.history)
        let playout = SoundCardPlayout(
            buffer: buffer, timebase: context.timebase, events: context.events, id: context.id,
            history: Self.history, initialGain: gain)
        pump = SoundCardPump(
            device: device, buffer: buffer, playout: playout, context: context, depths: depths, initialGain: gain)
    }

    func isFor(_ other: AudioOutputContext) -> Bool {
        context.timebase === other.timebase && context.room === other.room && context.events === other.events
            && context.id == other.id
    }

    func start() {
        // Two thirds up the scale of sched(7)'s ordinary use: above decoders, below the kernel's own threads.
        let worker = WorkerThread.start(name: "sound card", priority: .realtime(50)) { self.run() }
        thread.withLock { $0 = worker }
    }

    /// Ends the thread and gives back the device, if it is still there.
    func stop() -> ALSADevice? {
        isStopping.store(true, ordering: .releasing)
        wake.raise()
        thread.withLock { $0 }?.join()
        defer { device = nil }
        device.map { _ = $0.discard() }
        return device
    }

    // MARK: The thread

    private func run() {
        while !isStopping.load(ordering: .acquiring) {
            switch pump.step() {
            case .again(let at):
                wake.wait(until: at)
                wake.clear()
            case .lost: waitForReturn()
            }
        }
    }

    /// The film goes on; its sound is dropped as its time passes, and the device tried again now and then.
    private func waitForReturn() {
        context.events.note(.outputLost(output: context.id))
        device = nil
        pump.detach()
        var wait = Self.firstWait
        var next = HostInstant.now.advanced(by: wait)
        while !isStopping.load(ordering: .acquiring) {
            let now = HostInstant.now
            if now >= next {
                if let found = try? ALSADevice(name: name), (try? found.configure(format)) != nil {
                    device = found
                    pump.attach(found)
                    context.events.note(.outputRestored(output: context.id))
                    return
                }
                wait = min(wait * 2, Self.longestWait)
                next = HostInstant.now.advanced(by: wait)
            }
            wake.wait(until: pump.stepWithoutDevice())
            wake.clear()
        }
    }
}
