internal import CSockets
internal import Glibc
internal import MediaCore
import Sockets

/// The helper program that binds the PTP ports if this process lacks the privilege (Sources/Helpers/talkie-ports.c).
/// Its file has the capability; the player, which loads third-party libraries, needs none.
package struct PortHelper: Sendable {
    /// The only ports that it binds.
    let ports: (event: UInt16, general: UInt16)
    let path: String
    /// Timeout of its answer, which normally takes a millisecond or two.
    private let timeout: Duration

    init(
        path: String, ports: (event: UInt16, general: UInt16) = (319, 320), timeout: Duration = .seconds(2)
    ) {
        self.path = path
        self.ports = ports
        self.timeout = timeout
    }

    /// The helper next to this program's file, or in the libexec folder next to the program's folder. PATH and other
    /// environment variables are not used.
    static let installed: PortHelper? = {
        guard let program = ProgramFile.path, let slash = program.lastIndex(of: "/") else { return nil }
        let folder = program[..<slash]
        let paths = ["\(folder)/talkie-ports", "\(folder)/../libexec/talkie-ports"]
        return paths.first { access($0, X_OK) == 0 }.map { PortHelper(path: $0) }
    }()

    /// Runs the helper, receives both sockets from it and waits for its exit. Blocks for at most the timeout.
    ///
    /// - Throws: `PTPError`; after a timeout the helper is killed.
    func sockets(on address: NetworkAddress) throws(PTPError) -> PTPSockets {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw PTPError(.unavailable, "The system cannot create a socket pair (\(SystemCause.text(errno))).")
        }
        defer { close(ends[0]) }
        let child: pid_t
        do {
            defer { close(ends[1]) }
            child = try start(address, on: ends[1])
        }
        defer { end(child) }
        var answer = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
        let deadline = HostInstant.now.advanced(by: timeout)
        var ready: Int32
        repeat {
            ready = csock_poll(&answer, 1, max(0, (deadline - .now).wholeNanoseconds))
        } while ready < 0 && errno == EINTR
        guard ready == 1 else { throw PTPError(.unavailable, "\(path) does not answer; reinstall it.") }
        return try receive(from: ends[0], address)
    }

    private func receive(from end: Int32, _ address: NetworkAddress) throws(PTPError) -> PTPSockets {
        var code: UInt8 = 0
        var descriptors: [Int32] = [-1, -1]
        let count = csock_receive_descriptors(end, &code, &descriptors, 2)
        let sockets = descriptors.prefix(max(0, Int(count))).map { ($0, BoundSocket($0)) }
        if count == 0, code != 0 {
            throw PTPError(SocketError(binding: Int32(code)), [ports.event, ports.general], on: address)
        }
        guard sockets.count == 2, let event = sockets[0].1, let general = sockets[1].1,
            event.address == address, general.address == address, (event.port, general.port) == ports
        else {
            for (descriptor, _) in sockets { close(descriptor) }
            throw PTPError(.unavailable, "\(path) gives an invalid answer; reinstall it.")
        }
        return PTPSockets(event: DatagramSocket(adopting: event), general: DatagramSocket(adopting: general))
    }

    /// Starts the helper without a shell and without environment; the socket is the only descriptor it inherits.
    private func start(_ address: NetworkAddress, on end: Int32) throws(PTPError) -> pid_t {
        // The number of an interface rather than its name: the helper looks nothing up.
        let scope = address.scope == 0 ? "" : "%\(address.scope)"
        var program = ProgramStart(path, [address.literal + scope])
        program.input = .descriptor(end)
        program.hasEnvironment = false
        do throws(ProgramStart.Refusal) { return try program.start() } catch {
            throw PTPError(.unavailable, "\(path) cannot be started (\(error.cause)).")
        }
    }

    /// Kills and reaps the helper: it has answered, or the timeout has passed.
    private func end(_ child: pid_t) {
        kill(child, SIGKILL)
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    }
}
