package import MediaCore
package import Sockets

/// The PTP instances of this process, one per local address, shared by all receivers reached from it. All instances
/// serve one time and follow at most one remote master. Receivers that play in sync share one directory. Thread-safe.
package final class PTPDirectory: Sendable {
    private struct Entry {
        weak var instance: PTPInstance?
        /// Holds the ports from `reserve` to the first `instance`.
        var reserved: PTPInstance?
    }

    package let identity: ClockIdentity
    /// The time that all instances and NTP timing serve.
    package let served: ServedTimeline
    /// The host clock, which also reports suspensions.
    package let clock: any HostClock
    private let eventPort: UInt16
    private let generalPort: UInt16
    /// Time in which an instance that is released frees its ports, on a busy computer.
    private static let endTimeout: Duration = .milliseconds(250)
    /// Weak references to running instances, and the reserved ones, by local address.
    private let entries = Lock<[NetworkAddress: Entry]>([:])

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

    /// Starts the instance on a local address, unless it runs, and keeps it until it is requested: no other program can
    /// take the ports between the choice of a route and the session. It sends nothing.
    ///
    /// - Throws: as `instance(on:)`.
    package func reserve(on address: NetworkAddress) throws(PTPError) {
        try entries.withLock { (entries) throws(PTPError) in
            guard entries[address]?.instance == nil else { return }
            let started = try start(on: address, replacing: entries[address])
            entries[address] = Entry(instance: started, reserved: started)
        }
    }

    /// Releases the instances that were reserved and not requested.
    package func releaseReservations() {
        // The last reference ends a thread, which must not happen under the lock.
        let released = entries.withLock { entries in
            let reserved = entries.values.compactMap(\.reserved)
            for address in entries.keys { entries[address]?.reserved = nil }
            return reserved
        }
        withExtendedLifetime(released) {}
    }

    /// Returns the instance on a local address, or starts one. It runs until its last reference is released.
    ///
    /// - Throws: `PTPError` if the ports cannot be bound or the thread cannot start; nothing is left running.
    package func instance(on address: NetworkAddress) throws(PTPError) -> PTPInstance {
        try entries.withLock { (entries) throws(PTPError) -> PTPInstance in
            if let running = entries[address]?.instance {
                entries[address]?.reserved = nil
                return running
            }
            let started = try start(on: address, replacing: entries[address])
            entries[address] = Entry(instance: started)
            return started
        }
    }

    /// - Parameter last: The entry of the address. Its instance may be ending on another thread, which holds the ports
    ///   for some milliseconds.
    private func start(on address: NetworkAddress, replacing last: Entry?) throws(PTPError) -> PTPInstance {
        let deadline = HostInstant.now.advanced(by: Self.endTimeout)
        while true {
            do throws(PTPError) {
                return try PTPInstance(
                    address: address, identity: identity, served: served, eventPort: eventPort,
                    generalPort: generalPort)
            } catch {
                guard last != nil, error.code == .portsBusy, .now < deadline else { throw error }
            }
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
    }
}
