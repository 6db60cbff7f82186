import AirPlay
import AirPlayTransport
import AirPlayWire
import MediaCodecs
import MediaCore
import PTP
import Sockets
import SyncRendering
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

extension LoopTests {
    /// A whole sender with a clock that is an hour ahead of the machine's, and 50 ppm fast. Code that reads another
    /// clock is off by an hour.
    @Suite(.serialized, .timeLimit(.minutes(1))) struct SkewedClockTests {
        private static let ports = ClockPorts.pair(5)
        private let clock = SkewedClock(partsPerMillion: 50, offset: .seconds(3600))

        @Test(arguments: [Route.buffered, .realtime]) func everythingStaysInStep(route: Route) throws {
            let receiver = try SoftwareSpeaker(
                SpeakerConfiguration(
                    name: "Skewed", address: NetworkAddress("127.0.0.2")!, port: 0, clock: .required,
                    ptpPorts: Self.ports, quirks: SpeakerQuirks()))
            defer { receiver.stop() }
            let identity = SenderIdentity.random(name: "Talkie test")
            let clocks = PTPDirectory(
                identity: identity.clock, eventPort: Self.ports.event, generalPort: Self.ports.general, clock: clock)
            let address = SpeakerAddress(host: receiver.configuration.address.description, port: receiver.port)
            let speaker = AirPlaySpeaker(
                name: "Skewed", configuration: .init(address: address, identity: identity), clocks: clocks,
                route: route)
            let events = EventLog(clock: clock)
            let synchronizer = RenderSynchronizer(clock: clock, events: events)
            let renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
            synchronizer.addRenderer(renderer)
            defer { renderer.invalidate() }
            renderer.setOutput(OutputGroup(members: [speaker], codecs: FilmAudioCodecs()))
            for second in 0..<Int64(12) { renderer.enqueue(QuietTone.second(from: second * 44100)) }
            synchronizer.setRate(1, time: .zero)
            var sent: (media: MediaTime, clock: PTPInstant)?
            let limit = HostInstant.now.advanced(by: .seconds(15))
            while receiver.record.spans.isEmpty {
                try #require(HostInstant.now < limit, "\(synchronizer.pendingStart?.waits ?? [])")
                HostInstant.now.advanced(by: .milliseconds(20)).sleep()
            }
            HostInstant.now.advanced(by: .seconds(2)).sleep()
            while let entry = events.removeFirst() {
                if case .speakerAnchored(let media, _, let clock, _) = entry.event { sent = (media, clock) }
            }
            var arrived: (position: RTPTimestamp, instant: PTPInstant)?
            for case .anchor(let position, let instant, _, _) in receiver.record.events {
                arrived = (position, instant)
            }
            let (claim, anchor) = (try #require(sent), try #require(arrived))
            let begin = claim.media.advanced(by: claim.clock.duration(to: anchor.instant))
            let line = synchronizer.timebase.snapshot.segment(at: clock.now)
            var errors: [Double] = []
            for second in [1.0, 2, 3] {
                let film = synchronizer.currentTime() + MediaTime(value: Int64(second * 0.5 * 44100), timescale: 44100)
                let frame = anchor.position.advanced(byFrames: (film - begin).rescaled(to: 44100))
                let due = clock.machineInstant(of: try #require(line.hostInstant(of: film)))
                let heard = receiver.record.wait(until: HostInstant.now.advanced(by: .seconds(3))) {
                    $0.instant(of: frame) != nil
                }
                try #require(heard, "\(film) was not heard")
                errors.append((try #require(receiver.record.instant(of: frame)) - due).inMilliseconds)
            }
            print("a sender 50 ppm and an hour off, \(route): \(errors) ms late")
            // The speaker corrects its device, which runs by the machine's clock, only beyond a drift of 0.5 ms.
            #expect(errors.allSatisfy { abs($0) < 1 })
        }
    }
}
