internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// Looks, beside a sound card that plays, for a device that should play instead: the own one, once it is back while a
/// substitute plays, and the one that its name means since ALSA's configuration was changed.
///
/// ALSA announces neither, so that it looks every other second, on a thread of its own, because opening a device blocks.
final class DeviceMonitor: Sendable {
    private static let interval = Duration.seconds(2)

    private let keeper: DeviceFailover
    private let wake: Signal
    private let open: @Sendable (String) -> ALSADevice?
    private let stopping = Atomic<Bool>(false)
    private let tick = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameters:
    ///   - wake: raised when the pump's thread has something to take over.
    ///   - open: opens a device in the pump's format.
    init(keeper: DeviceFailover, wake: Signal, open: @escaping @Sendable (String) -> ALSADevice?) {
        (self.keeper, self.wake, self.open) = (keeper, wake, open)
    }

    /// Where the system gives no thread nobody looks: what plays plays on.
    func start() {
        // ignored: without a thread a lost device is not replaced, and what plays plays on.
        let worker = try? WorkerThread.start(name: "sound card look", priority: .background) { self.run() }
        thread.withLock { $0 = worker }
    }

    func stop() {
        stopping.store(true, ordering: .releasing)
        tick.raise()
        thread.withLock { $0 }?.join()
        keeper.closeRetired()
    }

    private func run() {
        let configuration = ALSAConfiguration()
        var meaning = configuration.definition(of: keeper.own)
        var next = HostInstant.now.advanced(by: Self.interval)
        while !stopping.load(ordering: .acquiring) {
            tick.wait(until: next)
            tick.clear()
            guard !stopping.load(ordering: .acquiring), HostInstant.now >= next else { continue }
            next = HostInstant.now.advanced(by: Self.interval)
            keeper.closeRetired()
            // Without any device the pump's thread looks by itself.
            guard let place = keeper.place else { continue }
            let isElsewhere = place != keeper.own
            var hasNewMeaning = false
            if configuration.hasChanged {
                let now = configuration.definition(of: keeper.own)
                hasNewMeaning = now != nil && now != meaning
                if !isElsewhere, !hasNewMeaning { meaning = now ?? meaning }
            }
            guard isElsewhere || hasNewMeaning, let device = open(keeper.own) else { continue }
            meaning = configuration.definition(of: keeper.own) ?? meaning
            keeper.offer(device, name: keeper.own)
            wake.raise()
        }
    }
}
