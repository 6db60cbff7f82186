package import MediaCore
package import Sockets

/// The PTP instances of this process, one per local address, shared by all receivers reached from it. All instances
/// serve one time and follow at most one remote master. Receivers that play in sync share one directory. Thread-safe.
package final class PTPDirectory: Sendable {
    private struct Entry {
        weak var instance: PTPInstance?
    }

    package let identity: ClockIdentity
    /// The time that all instances and NTP timing serve.
    package let served: ServedTimeline
    /// The host clock, which also reports suspensions.
    package let clock: any HostClock
    private let eventPort: UInt16
    private let generalPort: UInt16
    /// Weak references to running instances, by local address.
    private let entries = Lock<[IPv4Address: Entry]>([:])

    /// - Parameters:
    ///   - identity: the clock identity on every address; all receivers of a group must see one grandmaster.
    ///   - clock: the host clock; tests pass one with controllable suspensions.
    package init(
        identity: ClockIdentity, eventPort: UInt16 = 319, generalPort: UInt16 = 320,
        clock: any HostClock = MonotonicClock()
    ) {
        self.identity = identity
        self.eventPort = eventPort
        self.generalPort = generalPort
        self.clock = clock
        served = ServedTimeline(clock: clock)
    }

    /// Returns true if an instance of this process currently holds the PTP ports of a local address.
    package func isServing(on address: IPv4Address) -> Bool { entries.withLock { $0[address]?.instance != nil } }

    /// Returns the instance on a local address, or starts one. It runs until its last reference is released.
    ///
    /// - Throws: `PTPError` if the ports cannot be bound or the thread cannot start; nothing is left running.
    package func instance(on address: IPv4Address) throws(PTPError) -> PTPInstance {
        try entries.withLock { (entries) throws(PTPError) -> PTPInstance in
            if let running = entries[address]?.instance { return running }
            let started = try PTPInstance(
                address: address, identity: identity, served: served, eventPort: eventPort,
                generalPort: generalPort)
            entries[address] = Entry(instance: started)
            return started
        }
    }
}
