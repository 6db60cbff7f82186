package import MediaCore
package import SyncRendering
internal import Synchronization

/// Keeps a pump playing when its device is lost: on a substitute device, or without a device in real time until one is
/// available. The timeline never stops.
///
/// A lost device is reopened at once by its own name, which a moved sound server still serves; then the substitutes are
/// tried. If none is available the loss is logged and the attempts are repeated. A playing device is replaced when the
/// own one is back or its name refers to another one. For that a caller opens the new device elsewhere and passes it to
/// `offer`.
///
/// `@unchecked Sendable`: unshared state is confined to the pump's thread (`step`, `retire`); the rest is atomic or
/// locked.
package final class DeviceFailover: @unchecked Sendable {
    /// The source of devices. The closures are called on the pump's thread while it has no device, and may block.
    package struct Supply: Sendable {
        /// Returns the names of substitute devices, the preferred one first.
        package var substitutes: @Sendable () -> [String]
        /// Opens a device by name, configured for the pump's format; returns nil if it is unavailable.
        package var open: @Sendable (String) -> (any PlayoutDevice)?

        /// Creates a source of devices.
        package init(
            substitutes: @escaping @Sendable () -> [String] = { [] },
            open: @escaping @Sendable (String) -> (any PlayoutDevice)?
        ) {
            (self.substitutes, self.open) = (substitutes, open)
        }
    }

    /// Guarded by the lock `shared`.
    private struct Shared {
        /// The name of the playing device; nil while there is none.
        var deviceName: String?
        /// The device passed to `offer` that the pump has not adopted.
        var offered: (device: any PlayoutDevice, name: String)?
        /// The replaced device, to be closed on a thread that may block.
        var retired: (any PlayoutDevice)?
    }

    /// The initial and the maximum interval between attempts to open a lost device.
    static let firstWait = Duration.milliseconds(500)
    static let longestWait = Duration.seconds(5)
    /// A device lost sooner than this after its adoption is not reopened at once: a real-time thread must not spin.
    static let steadiness = Duration.seconds(1)

    /// The pump that this object steps.
    let pump: SoundCardPump
    /// The name of the requested device.
    package let own: String
    private let context: AudioOutputContext
    private let supply: Supply
    private let clock: any HostClock
    private let shared: Lock<Shared>
    /// Set with release by `offer`, after the device was stored; read by the pump's thread.
    private let hasOffer = Atomic<Bool>(false)
    // Confined to the pump's thread: the device in use, nil while there is none; when it was adopted; the current retry
    // interval; the next attempt; the name of the device last lost.
    private var device: (any PlayoutDevice)?
    private var adoptedAt: HostInstant
    private var wait = DeviceFailover.firstWait
    private var nextTry = HostInstant(nanoseconds: 0)
    private var lostDeviceName: String?

    /// Creates the failover of a pump.
    ///
    /// - Parameters:
    ///   - device: The device for which the pump was created.
    ///   - name: The name of the own device.
    ///   - deviceName: The name of `device` if it is a substitute.
    package init(
        pump: SoundCardPump, device: any PlayoutDevice, name: String, deviceName: String? = nil,
        context: AudioOutputContext, supply: Supply
    ) {
        self.pump = pump
        self.device = device
        own = name
        self.context = context
        self.supply = supply
        clock = context.timebase.clock
        adoptedAt = clock.now
        shared = Lock(Shared(deviceName: deviceName ?? name))
    }

    // MARK: Any thread

    /// The name of the playing device; nil while there is none. Any thread.
    package var deviceName: String? { shared.withLock { $0.deviceName } }

    /// Replaces the device with one in the pump's format, at the pump's next step. The caller must wake the pump. Any
    /// thread.
    package func offer(_ device: any PlayoutDevice, name: String) {
        shared.withLock { $0.offered = (device, name) }
        hasOffer.store(true, ordering: .releasing)
    }

    /// Closes the replaced device, if any; may block. Any thread.
    package func closeRetired() {
        _ = shared.withLock { $0.retired.take() }
    }

    // MARK: The pump's thread

    /// Performs due work; returns the instant of the next call. Opens devices, and may block, only while there is none.
    package func step() -> HostInstant {
        if hasOffer.load(ordering: .acquiring) { acceptOffer() }
        guard device != nil else { return stepWithoutDevice() }
        switch pump.step() {
        case .again(let at): return at
        case .lost:
            lose()
            return clock.now
        }
    }

    /// Returns the device when the pump has ended, its queue discarded; nil if there is none.
    package func retire() -> (any PlayoutDevice)? {
        defer { device = nil }
        _ = device?.discard()
        return device
    }

    /// Detaches the lost device and opens a replacement, unless the device was lost again too soon.
    private func lose() {
        let wasSteady = clock.now - adoptedAt >= Self.steadiness
        device = nil
        pump.detach()
        lostDeviceName = shared.withLock { $0.deviceName }
        if wasSteady {
            wait = Self.firstWait
            if findDevice(event: .outputMoved(output: context.id)) { return }
        } else {
            wait = min(wait * 2, Self.longestWait)
        }
        // Not earlier: an output that is replaced at once is not silent for its observers.
        shared.withLock { $0.deviceName = nil }
        context.events.append(.outputLost(output: context.id))
        nextTry = clock.now.advanced(by: wait)
    }

    /// Lets the timeline advance without a device: audio is dropped when due, and devices are tried at intervals.
    private func stepWithoutDevice() -> HostInstant {
        if clock.now >= nextTry {
            if findDevice(event: nil) { return clock.now }
            wait = min(wait * 2, Self.longestWait)
            nextTry = clock.now.advanced(by: wait)
        }
        return pump.stepWithoutDevice()
    }

    /// Opens the own device or a substitute; returns false if none is available.
    ///
    /// - Parameter event: The event to log; nil: restored or moved, depending on the device.
    private func findDevice(event: RenderEvent?) -> Bool {
        if let found = supply.open(own) {
            adopt(found, own, event)
            return true
        }
        for name in supply.substitutes() where name != own {
            if let found = supply.open(name) {
                adopt(found, name, event)
                return true
            }
        }
        return false
    }

    private func adopt(_ found: any PlayoutDevice, _ name: String, _ event: RenderEvent?) {
        device = found
        adoptedAt = clock.now
        pump.attach(found)
        shared.withLock { $0.deviceName = name }
        context.events.append(
            event
                ?? (name == lostDeviceName ? .outputRestored(output: context.id) : .outputMoved(output: context.id)))
    }

    private func acceptOffer() {
        hasOffer.store(false, ordering: .relaxed)
        let offered = shared.withLock { $0.offered.take() }
        guard let offered else { return }
        let event = device.map { _ in RenderEvent.outputMoved(output: context.id) }
        if let old = device {
            _ = old.discard()
            pump.detach()
            shared.withLock { $0.retired = old }
        }
        device = nil
        adopt(offered.device, offered.name, event)
    }
}
