import AirPlay
import Glibc
import PTP
internal import Sockets
import SyncRendering
import VirtualSpeaker

/// Ports for a clock of a test's own, so that no privilege and no other process is in the way: below those that the system
/// gives away (ip_local_port_range), apart for each process, and within it for each number.
enum ClockPorts {
    static func pair(_ number: UInt16) -> (event: UInt16, general: UInt16) {
        let base = UInt16(20_000 + getpid() % 750 * 16) + number * 2
        return (base, base + 1)
    }
}

/// Speakers in software on this computer, each on an address of its own, and our sender's outputs that play to them by one
/// clock.
final class SoftwareSpeakers {
    let receivers: [SoftwareSpeaker]
    let outputs: [any AudioOutput]

    /// What was heard of each.
    var heard: [RouteChain.Heard] { receivers.map { RouteChain.Heard($0.record) } }

    /// - Parameters:
    ///   - routes: one for each speaker.
    ///   - ports: of the clock, at both ends.
    ///   - volume: what the speakers' owners left, in dB.
    init(
        _ routes: [Route], ports: (event: UInt16, general: UInt16), quirks: SpeakerQuirks = SpeakerQuirks(),
        volume: Double = 0
    ) throws {
        let identity = SenderIdentity.random(name: "Talkie test")
        let clocks = PTPDirectory(identity: identity.clock, eventPort: ports.event, generalPort: ports.general)
        let receivers = try routes.indices.map { index in
            try SoftwareSpeaker(
                SpeakerConfiguration(
                    address: IPv4Address("127.0.0.\(index + 2)")!, port: 0, clock: .required, ptpPorts: ports,
                    volume: volume, quirks: quirks))
        }
        self.receivers = receivers
        outputs = zip(receivers, routes).map { receiver, route in
            AirPlaySpeaker(
                name: route.rawValue,
                configuration: .init(
                    address: SpeakerAddress(host: receiver.configuration.address.description, port: receiver.port),
                    identity: identity), clocks: clocks, route: route)
        }
    }

    deinit { stop() }

    func stop() { for receiver in receivers { receiver.stop() } }
}
