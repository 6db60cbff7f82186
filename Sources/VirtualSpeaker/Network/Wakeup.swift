internal import CSockets
internal import Glibc
internal import MediaCore

/// Something a thread that polls sockets can be woken by.
final class Wakeup: Sendable {
    let descriptor: Int32

    init() throws(SpeakerError) {
        descriptor = csock_open_event_counter()
        guard descriptor >= 0 else {
            throw SpeakerError(.cannotListen, "The system refuses an event counter (error \(errno)).")
        }
    }

    deinit { close(descriptor) }

    /// Stays raised, for every thread that polls it, until `clear`.
    func raise() {
        var one: UInt64 = 1
        write(descriptor, &one, 8)
    }

    func clear() {
        var count: UInt64 = 0
        read(descriptor, &count, 8)
    }
}

/// Waiting for several descriptors at once (poll(2)).
enum Poller {
    /// What is ready, in the order asked for; all false when the moment has passed.
    static func wait(reading: [Int32], writing: [Int32] = [], until deadline: HostInstant?) -> [Bool] {
        var descriptors =
            reading.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            + writing.map { pollfd(fd: $0, events: Int16(POLLOUT), revents: 0) }
        let rest = deadline.map { max(0, ($0 - .now).wholeNanoseconds) } ?? -1
        let count = csock_poll(&descriptors, nfds_t(descriptors.count), rest)
        guard count > 0 else { return descriptors.map { _ in false } }
        return descriptors.map { $0.revents != 0 }
    }
}
