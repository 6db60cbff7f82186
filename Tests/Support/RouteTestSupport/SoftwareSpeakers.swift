import AirPlay
import AirPlayTransport
import ClassicAirPlay
import Glibc
internal import MediaCore
import PTP
internal import Sockets
import SyncRendering
import VirtualSpeaker

/// Unprivileged PTP ports for a test: below the kernel's ephemeral range (ip_local_port_range), distinct per process
/// and per number within it.
enum ClockPorts {
    static func pair(_ number: UInt16) -> (event: UInt16, general: UInt16) {
        let base = UInt16(20_000 + getpid() % 750 * 16) + number * 2
        return (base, base + 1)
    }

    private static let count = Lock<UInt16>(0)

    /// Returns a pair that no other call of this process has returned: a session that ends in the background releases
    /// its ports later. Below the ports that the kernel chooses.
    static func unusedPair() -> (event: UInt16, general: UInt16) {
        let number = count.withLock { count in
            count = (count + 1) % 4500
            return count
        }
        return (10_000 + number * 2, 10_001 + number * 2)
    }
}

/// Software speakers on this computer, each with a separate address, and sender outputs that play to them with one PTP
/// clock.
final class SoftwareSpeakers {
    let receivers: [SoftwareSpeaker]
    let outputs: [any AudioOutput]

    /// The audible instants of each speaker.
    var heard: [RouteChain.Heard] { receivers.map { RouteChain.Heard($0.record) } }

    /// Starts the speakers.
    ///
    /// - Parameters:
    ///   - routes: one for each speaker.
    ///   - ports: of PTP, at both ends.
    ///   - volume: initial volume of the speakers in dB.
    init(
        _ routes: [Route], ports: (event: UInt16, general: UInt16), quirks: SpeakerQuirks = SpeakerQuirks(),
        volume: Double = 0
    ) throws {
        let identity = SenderIdentity.random(name: "Talkie test")
        let clocks = PTPDirectory(identity: identity.clock, eventPort: ports.event, generalPort: ports.general)
        let receivers = try routes.indices.map { index in
            var configuration = SpeakerConfiguration(
                address: NetworkAddress("127.0.0.\(index + 2)")!, port: 0, clock: .required, ptpPorts: ports,
                volume: volume, quirks: quirks)
            configuration.isClassic = routes[index] == .classic
            return try SoftwareSpeaker(configuration)
        }
        let served = ServedTimeline()
        self.receivers = receivers
        outputs = zip(receivers, routes).map { receiver, route -> any AudioOutput in
            let address = SpeakerAddress(host: receiver.configuration.address.description, port: receiver.port)
            if route == .classic {
                return ClassicSpeaker(name: route.rawValue, address: address, identity: identity, serving: served)
            }
            return AirPlaySpeaker(
                name: route.rawValue, configuration: .init(address: address, identity: identity), clocks: clocks,
                route: route)
        }
    }

    deinit { stop() }

    func stop() { for receiver in receivers { receiver.stop() } }
}
