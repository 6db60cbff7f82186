import Glibc
import MediaCore
import Sockets
import TalkieTestKit
import Testing

@testable import PTP

/// The helper program that binds the ports, and faulty substitutes. The tests use unprivileged ports; `PrivilegeTests`
/// binds the real ones.
@Suite(.timeLimit(.minutes(10))) struct PortHelperTests {
    private static let ports: (event: UInt16, general: UInt16) = (32381, 32382)
    private static let count = Lock<UInt8>(0)
    /// A separate address per test case: cases run in parallel and bind the same ports.
    private let address: NetworkAddress
    private let folder = TemporaryFolder()

    init() throws {
        let number = Self.count.withLock { count in
            count += 1
            return count
        }
        address = try #require(NetworkAddress("127.0.81.\(number)"))
    }

    /// Returns a substitute for the helper, in Python: `pair` is its standard input.
    private func helper(_ body: String, timeout: Duration = .seconds(20)) -> PortHelper {
        let head = """
            #!/usr/bin/python3 -SE
            import os, socket, sys, time
            pair = socket.socket(fileno=0)
            def bound(address, *ports):
                made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for port in ports]
                for one, port in zip(made, ports): one.bind((address, port))
                return [one.fileno() for one in made], made
            """
        return PortHelper(
            path: folder.writeProgram("\(head)\n\(body)\n", to: "helper"), ports: Self.ports, timeout: timeout)
    }

    private func answer(_ helper: PortHelper) throws(PTPError) -> PTPSockets {
        try helper.sockets(on: address)
    }

    private func refusal(_ body: String) throws -> PTPError {
        let helper = helper(body)
        return try #require(throws: PTPError.self) { try answer(helper) }
    }

    @Test func bothSocketsAreTakenOverAndTheHelperHasNeitherEnvironmentNorDescriptors() throws {
        let sockets = try answer(
            helper(
                """
                assert not [name for name in os.environ if not name.startswith('LC_')], os.environ
                listing = [int(name) for name in os.listdir('/proc/self/fd')]
                assert max(listing) <= 4, listing  # the script itself and the listing
                made, kept = bound(sys.argv[1], 32381, 32382)
                socket.send_fds(pair, [b'\\0'], made)
                """))
        #expect(sockets.event.port == 32381 && sockets.general.port == 32382)
        for socket in [sockets.event, sockets.general] {
            #expect(BoundSocket(socket.descriptor)?.address == address)
            #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test func anErrorNumberIsReportedAsOurOwn() throws {
        let busy = try refusal("pair.send(bytes([\(EADDRINUSE)]))")
        #expect(busy.code == .portsBusy)
        #expect(busy.message.contains("UDP port 32381 or 32382 on \(address)"))
        #expect(busy.message.contains("'sport = :32381 or sport = :32382'"))
        #expect(try refusal("pair.send(bytes([\(EACCES)]))").code == .notPermitted)
        #expect(try refusal("pair.send(bytes([\(EADDRNOTAVAIL)]))").code == .unavailable)
    }

    @Test(arguments: [
        "", "pair.send(b'\\0')", "made, kept = bound(sys.argv[1], 32381); socket.send_fds(pair, [b'\\0'], made)",
        "made, kept = bound(sys.argv[1], 32382, 32381); socket.send_fds(pair, [b'\\0'], made)",
        "made, kept = bound('127.0.0.82', 32381, 32382); socket.send_fds(pair, [b'\\0'], made)",
        "socket.send_fds(pair, [b'\\0'], [0, 0])",
        "made, kept = bound(sys.argv[1], 32381, 32382, 0)\n"
            + "socket.send_fds(pair, [b''], made)",
    ]) func anythingElseIsRefusedAndKeepsNoDescriptor(_ body: String) throws {
        #expect(try refusal(body).message.contains("gives an invalid answer"))
        // No socket was kept: the ports are free.
        _ = try PTPSockets.open(
            on: address, eventPort: Self.ports.event, generalPort: Self.ports.general, handed: HandedPorts(),
            helper: nil)
    }

    @Test func oneThatHangsIsEnded() throws {
        let helper = helper("time.sleep(600)", timeout: .milliseconds(50))
        let begun = HostInstant.now
        let error = #expect(throws: PTPError.self) { try answer(helper) }
        #expect(error?.message.contains("does not answer") == true)
        #expect(HostInstant.now - begun < .seconds(10))
    }

    @Test func aMissingHelperIsReported() throws {
        let error = #expect(throws: PTPError.self) {
            try PortHelper(path: "/nowhere/talkie-ports", ports: Self.ports).sockets(on: address)
        }
        #expect(error?.message.contains("/nowhere/talkie-ports cannot be started") == true)
    }
}
