public import MediaCore
internal import Synchronization

/// Keeps a pump playing whatever becomes of its device: on its own one while that is there, on a substitute while it is
/// not, and in time without any until one can be had. Film never stops for it.
///
/// A device that is lost is looked for at once, its own name first (a sound server that has moved elsewhere answers to
/// the same one), then the substitutes; when none can be had the loss is noted, and they are tried again now and then.
/// Another device that should take over while one plays, because the own one is back or its name means another one now,
/// is opened elsewhere and handed over with `offer`.
///
/// `@unchecked Sendable`: what is not shared is touched by the pump's thread alone (`step`, `retire`); the rest is
/// atomic or locked.
public final class DeviceFailover: @unchecked Sendable {
    /// Where devices come from. The closures are called on the pump's thread while it has no device, and may block.
    public struct Supply: Sendable {
        /// Names of devices that may take over, the likeliest first.
        public var substitutes: @Sendable () -> [String]
        /// Opens a device by name, set to the pump's format; nil when it cannot be had.
        public var open: @Sendable (String) -> (any PlayoutDevice)?

        public init(
            substitutes: @escaping @Sendable () -> [String] = { [] },
            open: @escaping @Sendable (String) -> (any PlayoutDevice)?
        ) {
            (self.substitutes, self.open) = (substitutes, open)
        }
    }

    private struct Shared {
        /// The name of the device that plays; nil while there is none.
        var place: String?
        var offered: (device: any PlayoutDevice, name: String)?
        /// No longer played on, and to be closed where that may block.
        var retired: (any PlayoutDevice)?
    }

    /// The wait before a lost device is tried again, and the longest.
    static let firstWait = Duration.milliseconds(500)
    static let longestWait = Duration.seconds(5)
    /// A device that is lost again sooner than this is not taken again at once: a real-time thread must never turn in circles.
    static let steadiness = Duration.seconds(1)

    public let pump: SoundCardPump
    /// The name of the device that was asked for.
    public let own: String
    private let context: AudioOutputContext
    private let supply: Supply
    private let clock: any HostClock
    private let shared: Lock<Shared>
    private let hasOffer = Atomic<Bool>(false)
    private let delayAfterOwn = Atomic<Int64>(0)
    // The pump's thread.
    private var device: (any PlayoutDevice)?
    private var adoptedAt: HostInstant
    private var wait = DeviceFailover.firstWait
    private var nextTry = HostInstant(nanoseconds: 0)
    private var lostPlace: String?

    /// - Parameters:
    ///   - device: the one that the pump was made for.
    ///   - name: of the own device.
    ///   - place: of `device`, where that is a substitute already.
    public init(
        pump: SoundCardPump, device: any PlayoutDevice, name: String, place: String? = nil,
        context: AudioOutputContext, supply: Supply
    ) {
        self.pump = pump
        self.device = device
        own = name
        self.context = context
        self.supply = supply
        clock = context.timebase.clock
        adoptedAt = clock.now
        shared = Lock(Shared(place: place ?? name))
    }

    // MARK: Any thread

    /// The name of the device that plays; nil while there is none.
    public var place: String? { shared.withLock { $0.place } }

    /// Time from the own device's output to the ear that it cannot know of; another device has none.
    public func setDelayAfterOwn(_ delay: Duration) {
        delayAfterOwn.store(delay.wholeNanoseconds, ordering: .relaxed)
        if place ?? own == own { pump.setDelayAfterCard(delay) }
    }

    /// Hands over a device, set to the pump's format, that plays from the pump's next step on. The pump must be woken.
    public func offer(_ device: any PlayoutDevice, name: String) {
        shared.withLock { $0.offered = (device, name) }
        hasOffer.store(true, ordering: .releasing)
    }

    /// Closes what was played on before, if anything; may block.
    public func closeRetired() {
        let device = shared.withLock { shared -> (any PlayoutDevice)? in
            defer { shared.retired = nil }
            return shared.retired
        }
        _ = device
    }

    // MARK: The pump's thread

    /// Does what is due now and says when to come back.
    public func step() -> HostInstant {
        if hasOffer.load(ordering: .acquiring) { takeOffer() }
        guard device != nil else { return stepWithoutDevice() }
        switch pump.step() {
        case .again(let at): return at
        case .lost:
            lose()
            return clock.now
        }
    }

    /// Takes the device back when the pump is over; nil when there is none.
    public func retire() -> (any PlayoutDevice)? {
        defer { device = nil }
        _ = device?.discard()
        return device
    }

    private func lose() {
        let wasSteady = clock.now - adoptedAt >= Self.steadiness
        device = nil
        pump.detach()
        lostPlace = shared.withLock { shared in
            defer { shared.place = nil }
            return shared.place
        }
        if wasSteady {
            wait = Self.firstWait
            if findDevice(event: .outputMoved(output: context.id)) { return }
        } else {
            wait = min(wait * 2, Self.longestWait)
        }
        context.events.note(.outputLost(output: context.id))
        nextTry = clock.now.advanced(by: wait)
    }

    /// The film goes on; its sound is dropped as its time passes, and devices are tried now and then.
    private func stepWithoutDevice() -> HostInstant {
        if clock.now >= nextTry {
            if findDevice(event: nil) { return clock.now }
            wait = min(wait * 2, Self.longestWait)
            nextTry = clock.now.advanced(by: wait)
        }
        return pump.stepWithoutDevice()
    }

    /// - Parameter event: what is noted; nil tells whether the lost one is back or another takes over.
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
        pump.setDelayAfterCard(name == own ? .nanoseconds(delayAfterOwn.load(ordering: .relaxed)) : .zero)
        shared.withLock { $0.place = name }
        context.events.note(
            event
                ?? (name == lostPlace ? .outputRestored(output: context.id) : .outputMoved(output: context.id)))
    }

    private func takeOffer() {
        hasOffer.store(false, ordering: .relaxed)
        let offered = shared.withLock { shared -> (device: any PlayoutDevice, name: String)? in
            defer { shared.offered = nil }
            return shared.offered
        }
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
