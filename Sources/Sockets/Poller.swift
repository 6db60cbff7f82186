internal import CSockets
internal import Glibc
package import MediaCore

/// Waits for several descriptors (poll(2)).
package enum Poller {
    /// Blocks until a descriptor is ready or the deadline has passed. Returns readiness in the order of the arguments;
    /// all false after the deadline. Nil means no deadline.
    package static func wait(reading: [Int32], writing: [Int32] = [], until deadline: HostInstant?) -> [Bool] {
        var descriptors =
            reading.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            + writing.map { pollfd(fd: $0, events: Int16(POLLOUT), revents: 0) }
        let rest = deadline.map { max(0, ($0 - .now).wholeNanoseconds) } ?? -1
        let count = csock_poll(&descriptors, nfds_t(descriptors.count), rest)
        guard count > 0 else { return descriptors.map { _ in false } }
        return descriptors.map { $0.revents != 0 }
    }
}
