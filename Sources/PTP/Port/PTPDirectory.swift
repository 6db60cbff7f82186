package import MediaCore
package import Sockets

/// The PTP instances of this process, one for each local address, shared by all speakers reached from it. All serve
/// one time, and follow at most one foreign master: speakers that play together are made with one directory.
package final class PTPDirectory: Sendable {
    private struct Entry {
        weak var instance: PTPInstance?
    }

    package let identity: ClockIdentity
    /// What all instances serve, and NTP timing too.
    package let served: ServedTimeline
    /// Whose suspensions count.
    package let clock: any HostClock
    private let eventPort: UInt16
    private let generalPort: UInt16
    private let entries = Lock<[IPv4Address: Entry]>([:])

    /// - Parameters:
    ///   - identity: the same for every address; speakers in one group must see one grandmaster.
    ///   - clock: this computer's; tests put in one whose suspensions they command.
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

    /// Whether an instance of this process holds the ports of a local address now.
    package func isServing(on address: IPv4Address) -> Bool { entries.withLock { $0[address]?.instance != nil } }

    /// The instance on a local address, started when there is none. It serves for as long as somebody keeps it.
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
