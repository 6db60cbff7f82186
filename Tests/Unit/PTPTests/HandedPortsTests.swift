import Glibc
import MediaCore
import Sockets
import Testing

@testable import PTP

/// Socket activation by the environment (sd_listen_fds(3)).
@Suite struct ServiceDescriptorsTests {
    private func read(_ environment: [String: String]) -> ServiceDescriptors {
        ServiceDescriptors(environment: environment, process: 77)
    }

    @Test func descriptorsFollowOneAnotherFromThreeAndBearTheirNames() {
        let all = read(["LISTEN_PID": "77", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "event:general"])
        #expect(all.items.map(\.descriptor) == [3, 4, 5])
        #expect(all.items.map(\.name) == ["event", "general", ""])
        #expect(all.objection == nil)
        #expect(read(["LISTEN_PID": "77", "LISTEN_FDS": "0"]).items.isEmpty)
    }

    @Test func socketsForAnotherProcessAreIgnored() {
        for environment in [
            ["LISTEN_PID": "78", "LISTEN_FDS": "2"], ["LISTEN_FDS": "2"], ["LISTEN_PID": "77"], [:],
            ["LISTEN_PID": "", "LISTEN_FDS": "2"], ["LISTEN_PID": "077", "LISTEN_FDS": "2"],
        ] { #expect(read(environment) == ServiceDescriptors(environment: [:], process: 77), "\(environment)") }
    }

    @Test func anInvalidCountIsReportedAndNothingIsAdopted() {
        for text in ["", "-1", "two", "65", "99999999999999999999"] {
            let read = read(["LISTEN_PID": "77", "LISTEN_FDS": text])
            #expect(read.items.isEmpty)
            #expect(read.objection?.contains("LISTEN_FDS is '\(text)'") == true)
        }
    }
}

/// Sockets that are passed in bound; loopback addresses and unprivileged ports.
@Suite struct HandedPortsTests {
    private static let ports: (event: UInt16, general: UInt16) = (32371, 32372)
    private let handed = HandedPorts(eventPort: ports.event, generalPort: ports.general)

    private func bound(_ address: String, _ port: UInt16, type: __socket_type = SOCK_DGRAM) -> ServiceDescriptors.Item {
        let local = NetworkAddress(address)!
        let descriptor = socket(local.family, Int32(type.rawValue), 0)
        let code = local.withSocketAddress(port: port) { bind(descriptor, $0, $1) }
        #expect(code == 0, "\(address):\(port)")
        return ServiceDescriptors.Item(descriptor: descriptor, name: "")
    }

    private func open(on address: String) throws(PTPError) -> PTPSockets {
        try PTPSockets.open(
            on: NetworkAddress(address)!, eventPort: Self.ports.event, generalPort: Self.ports.general, handed: handed,
            helper: nil)
    }

    @Test func bothPortsOfAnAddressAreTakenAndLentAgainAndAgainWithoutWhatCameMeanwhile() throws {
        let (event, general) = (bound("127.0.0.71", 32371), bound("127.0.0.71", 32372))
        #expect(handed.adopt([general, event]).isEmpty)
        let stranger = try DatagramSocket(address: NetworkAddress("127.0.0.72")!, port: 0)
        var buffer = [UInt8](repeating: 0, count: 64)
        for round in 0..<2 {
            stranger.send([1], to: NetworkAddress("127.0.0.71")!, port: 32371)
            let lent = try open(on: "127.0.0.71")
            #expect(lent.event.port == 32371 && lent.general.port == 32372)
            #expect(lent.event.receive(into: &buffer) == nil, "what came while nobody listened")
            stranger.send([2, 2], to: NetworkAddress("127.0.0.71")!, port: 32371)
            let datagram = try #require(lent.event.receive(into: &buffer), "round \(round)")
            #expect(datagram.count == 2 && datagram.source == NetworkAddress("127.0.0.72"))
            // Kernel timestamps are enabled; otherwise the arrival time would be that of the read.
            #expect(datagram.received <= .now)
            #expect(fcntl(lent.event.descriptor, F_GETFD) & FD_CLOEXEC != 0)
        }
    }

    @Test func whatIsLentIsLentOnceAndAnotherAddressIsBoundAsEver() throws {
        #expect(handed.adopt([bound("127.0.0.73", 32371), bound("127.0.0.73", 32372)]).isEmpty)
        do {
            let first = try open(on: "127.0.0.73")
            let error = #expect(throws: PTPError.self) { try open(on: "127.0.0.73") }
            #expect(error?.code == .portsBusy && error?.message.contains("already in use") == true)
            let other = try open(on: "127.0.0.74")
            withExtendedLifetime((first, other)) {}
        }
        _ = try open(on: "127.0.0.73")
    }

    @Test func socketsOnEveryAddressServeWhicheverIsAskedForFirst() throws {
        let wide = HandedPorts(eventPort: 32373, generalPort: 32374)
        #expect(wide.adopt([bound("0.0.0.0", 32373), bound("0.0.0.0", 32374)]).isEmpty)
        let lent = try #require(try wide.lend(NetworkAddress("127.0.0.75")!, 32373, 32374))
        let peer = try DatagramSocket(address: NetworkAddress("127.0.0.76")!, port: 0)
        lent.event.send([7], to: NetworkAddress("127.0.0.76")!, port: peer.port)
        var buffer = [UInt8](repeating: 0, count: 64)
        #expect(peer.receive(into: &buffer)?.sourcePort == 32373)
        #expect(throws: PTPError.self) { try wide.lend(NetworkAddress("127.0.0.77")!, 32373, 32374) }
    }

    @Test func unsuitableSocketsAreClosedAndReported() throws {
        let stream = bound("127.0.0.78", 0, type: SOCK_STREAM)
        let six = ServiceDescriptors.Item(
            descriptor: socket(AF_INET6, Int32(SOCK_DGRAM.rawValue), 0), name: "ev\u{1B}ent")
        let elsewhere = bound("127.0.0.78", 32375)
        let alone = bound("127.0.0.78", 32371)
        let nothing = ServiceDescriptors.Item(descriptor: 9999, name: "")
        let objections = handed.adopt([stream, six, elsewhere, alone, nothing])
        #expect(objections.count == 5)
        #expect(objections[0].contains("is not a UDP socket of IPv4"))
        #expect(objections[1].contains("'ev\u{FFFD}ent' is not a UDP socket of IPv4"))
        #expect(objections[1].contains("ListenDatagram=0.0.0.0:32371"))
        #expect(objections[2].contains("on UDP port 32375; PTP needs 32371 and 32372"))
        #expect(objections[3].contains("descriptor 9999 is not a UDP socket of IPv4"))
        #expect(objections[4] == "UDP port 32371 on 127.0.0.78 was passed without 32372; PTP needs both")
        // The rejected sockets are closed: this process can bind the port.
        _ = try open(on: "127.0.0.78")
    }

    @Test func aPortThatComesTwiceIsTakenOnce() throws {
        let (event, general) = (bound("127.0.0.79", 32371), bound("127.0.0.79", 32372))
        let again = ServiceDescriptors.Item(descriptor: fcntl(event.descriptor, F_DUPFD, 3), name: "again")
        #expect(
            handed.adopt([event, again, general]) == [
                "'again' is on UDP port 32371; PTP needs 32371 and 32372, once each"
            ])
        _ = try open(on: "127.0.0.79")
    }
}
