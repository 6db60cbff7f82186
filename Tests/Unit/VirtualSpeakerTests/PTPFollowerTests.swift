import Glibc
import MediaCore
import PTP
import Sockets
import Testing

@testable import VirtualSpeaker

struct PTPFollowerTests {
    @Test func anAnnounceThatComesAsSoonAsItListensIsHeard() throws {
        // Ports of this process, below the kernel's ephemeral range (ip_local_port_range).
        let base = UInt16(20_000 + getpid() % 3000 * 4)
        let ports: (event: UInt16, general: UInt16) = (base + 2, base + 3)
        let (sender, speaker) = (NetworkAddress.loopback, NetworkAddress(ipv4: 0x7F00_0003))
        let voice = try PTPPorts.open(sender, ports.general)
        let sockets = try PTPSockets.open(on: speaker, eventPort: ports.event, generalPort: ports.general)
        let master = ClockIdentity(rawValue: 0x1122_33FF_FE44_5566)
        var writer = PTPMessageWriter(identity: master)
        writer.announce(.sender(master), sequence: 1)
        var answer = [UInt8](repeating: 0, count: 2048)
        // The start of the thread varies: only many rounds reveal a race.
        for round in 0..<50 {
            let follower = try PTPFollower(
                sockets: sockets, sender: sender, oscillator: Oscillator(partsPerMillion: 0), quirks: SpeakerQuirks(),
                identity: 1, record: SpeakerRecord())
            defer { follower.stop() }
            while voice.receive(into: &answer) != nil {}
            voice.send(writer.bytes, to: speaker, port: ports.general)
            // The follower answers with an Announce as soon as it has processed the other one.
            _ = Poller.wait(reading: [voice.descriptor], until: .now.advanced(by: .seconds(20)))
            try #require(follower.grandmaster == master.rawValue, "round \(round)")
        }
    }
}
