internal import CSockets
internal import Glibc
package import MediaCore

/// Waiting for several descriptors at once (poll(2)).
package enum Poller {
    /// What is ready, in the order asked for; all false when the moment has passed.
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
