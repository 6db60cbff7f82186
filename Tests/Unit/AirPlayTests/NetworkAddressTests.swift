import Glibc
import MediaCore
import Sockets
import Testing

/// Addresses of both families, as text and in sockets.
@Suite struct NetworkAddressTests {
    /// Whether the kernel has IPv6 here.
    private static let hasIPv6 = NetworkAddress("::1").map { TCPSocket.localAddress(toward: $0) != nil } ?? false

    @Test(arguments: [
        ("10.0.0.1", "10.0.0.1", "10.0.0.1"), ("fd00:0:0::5", "fd00::5", "[fd00::5]"),
        ("fe80::5%lo", "fe80::5%lo", "[fe80::5]"), ("fe80::5%1", "fe80::5%lo", "[fe80::5]"),
        ("fd00::5%lo", "fd00::5", "[fd00::5]"), ("::ffff:10.0.0.1", "10.0.0.1", "10.0.0.1"), ("::", "::", "[::]"),
    ]) func anAddressIsWrittenWithItsInterfaceForThisComputerAndWithoutItForOthers(
        _ text: String, written: String, host: String
    ) throws {
        let address = try #require(NetworkAddress(text))
        #expect(address.description == written && address.urlHost == host)
        #expect(NetworkAddress(bytes: address.bytes, scope: address.scope) == address)
        #expect(NetworkAddress(address.description) == address)
    }

    @Test func theSameLinkLocalAddressOnTwoInterfacesIsTwoAddresses() throws {
        let (first, second) = (try #require(NetworkAddress("fe80::5%1")), try #require(NetworkAddress("fe80::5%2")))
        #expect(first != second && first.literal == second.literal && first < second)
        #expect(try #require(NetworkAddress("10.0.0.1")) < first)
    }

    @Test(arguments: ["127.0.0.1", "::1"])
    func aConnectionAndDatagramsNameTheAddressOfTheOtherEnd(_ text: String) throws {
        if text == "::1", !Self.hasIPv6 { return }
        let (address, deadline) = (try #require(NetworkAddress(text)), HostInstant.now.advanced(by: .seconds(10)))
        let listener = try TCPListener(address: address)
        let client = try TCPSocket.connect(to: address, port: listener.port, deadline: deadline)
        let server = try #require(listener.accept())
        #expect([client.local, client.remote, server.remote].allSatisfy { $0 == address })
        let (sender, receiver) = (
            try DatagramSocket(address: address, port: 0), try DatagramSocket(address: address, port: 0)
        )
        sender.send([1, 2, 3], to: address, port: receiver.port)
        _ = Poller.wait(reading: [receiver.descriptor], until: deadline)
        var buffer = [UInt8](repeating: 0, count: 16)
        let datagram = try #require(receiver.receive(into: &buffer))
        #expect(datagram.source == address && datagram.sourcePort == sender.port && datagram.count == 3)
        #expect(BoundSocket(sender.descriptor)?.address == address)
    }

    @Test(.enabled(if: hasIPv6, "no IPv6 here"))
    func aServerOnAllAddressesTakesConnectionsOfBothFamiliesAndNamesTheirs() throws {
        let listener = try TCPListener(address: .any)
        let deadline = HostInstant.now.advanced(by: .seconds(10))
        for text in ["127.0.0.1", "::1"] {
            let address = try #require(NetworkAddress(text))
            let client = try TCPSocket.connect(to: address, port: listener.port, deadline: deadline)
            let server = try #require(listener.accept())
            #expect(server.remote == client.local && server.remote == address)
        }
    }

    @Test func aHostNameAndBothKindsOfLiteralsAreResolved() throws {
        #expect(try TCPSocket.resolve("localhost") == .loopback)
        #expect(try TCPSocket.resolve("fe80::5%lo").description == "fe80::5%lo")
        #expect(throws: SocketError.self) { try TCPSocket.resolve("fe80::5%nosuchinterface") }
    }

    @Test func anAddressOfAnotherComputerIsNotOurOwn() throws {
        let others = try ["192.0.2.1", "2001:db8::1"].map { try #require(NetworkAddress($0)) }
        #expect(TCPSocket.isOwn(.loopback) && !TCPSocket.isOwn(others[0]))
        #expect(!Self.hasIPv6 || !TCPSocket.isOwn(others[1]))
    }
}
