internal import CardPlayout
internal import MediaCore
internal import Synchronization

/// Polls for a device that should replace the current one: the requested device while a substitute plays, or the device
/// that its name refers to after a change of ALSA's configuration.
///
/// ALSA sends no notification for either, hence a poll every 2 s. It runs on its own background thread, because opening
/// a device blocks.
final class DeviceMonitor: Sendable {
    private static let interval = Duration.seconds(2)

    private let failover: DeviceFailover
    private let wake: Signal
    private let open: @Sendable (String) -> ALSADevice?
    private let poll: @Sendable () -> Void
    private let stopping = Atomic<Bool>(false)
    private let tick = Signal()
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameters:
    ///   - wake: Raised when the pump thread has to adopt a device.
    ///   - open: Opens a device in the pump's format.
    ///   - poll: Called at each interval, on the monitor's thread.
    init(
        failover: DeviceFailover, wake: Signal, open: @escaping @Sendable (String) -> ALSADevice?,
        poll: @escaping @Sendable () -> Void
    ) {
        (self.failover, self.wake, self.open, self.poll) = (failover, wake, open, poll)
    }

    /// Starts the thread. If that fails, the current device keeps playing and is never replaced.
    func start() {
        // ignored: without a thread a lost device is not replaced; the current one keeps playing.
        let worker = try? WorkerThread.start(name: "sound card look", priority: .background) { self.run() }
        thread.withLock { $0 = worker }
    }

    /// Stops and joins the thread, then closes the retired device. May block.
    func stop() {
        stopping.store(true, ordering: .releasing)
        tick.raise()
        thread.withLock { $0 }?.join()
        failover.closeRetired()
    }

    private func run() {
        let configuration = ALSAConfiguration()
        var definition = configuration.definition(of: failover.own)
        var next = HostInstant.now.advanced(by: Self.interval)
        while !stopping.load(ordering: .acquiring) {
            tick.wait(until: next)
            tick.clear()
            guard !stopping.load(ordering: .acquiring), HostInstant.now >= next else { continue }
            next = HostInstant.now.advanced(by: Self.interval)
            failover.closeRetired()
            poll()
            // Without any device, the pump thread itself tries to reopen one.
            guard let deviceName = failover.deviceName else { continue }
            let isSubstitute = deviceName != failover.own
            var isRedefined = false
            if configuration.hasChanged {
                let now = configuration.definition(of: failover.own)
                isRedefined = now != nil && now != definition
                if !isSubstitute, !isRedefined { definition = now ?? definition }
            }
            guard isSubstitute || isRedefined, let device = open(failover.own) else { continue }
            definition = configuration.definition(of: failover.own) ?? definition
            failover.offer(device, name: failover.own)
            wake.raise()
        }
    }
}
