import AirPlay
import AirPlayTransport
import AirPlayWire
import MediaCore
import PTP
import Sockets
import SyncRendering
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

/// Speaker announcements provided by a test.
private final class Announced: SpeakerSource {
    private let state = Lock(SpeakerBrowser.Snapshot())

    var snapshot: SpeakerBrowser.Snapshot { state.withLock { $0 } }

    func wait(
        until deadline: HostInstant, _ condition: (SpeakerBrowser.Snapshot) -> Bool
    ) -> (snapshot: SpeakerBrowser.Snapshot, satisfied: Bool) { (snapshot, condition(snapshot)) }

    func announce(_ id: SpeakerID, at receiver: SoftwareSpeaker, group: String) {
        var traits = SpeakerTraits()
        traits.group.group = group
        let endpoint = NetworkEndpoint(NetworkAddress("\(receiver.configuration.address)")!, port: receiver.port)
        state.withLock {
            $0.speakers = [DiscoveredSpeaker(id: id, name: "Talkie", traits: traits, endpoints: [endpoint])]
        }
    }
}

extension LoopTests {
    /// Speakers that stop responding and return, at the same or another address.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct LostSpeakerTests {
        private let ports = ClockPorts.unusedPair()
        private let identity = SenderIdentity.random(name: "Talkie test")
        private let synchronizer = RenderSynchronizer()
        private let events = EventLog(clock: MonotonicClock())
        private let announced = Announced()
        private let peers = PTPPeerGroup()
        private let clocks: PTPDirectory
        private let alac = AudioFormat(
            parameters: CodecParameters(codec: "alac", bitsPerRawSample: 16, framesPerPacket: 352), sampleRate: 44100,
            layout: .stereo)

        init() {
            clocks = PTPDirectory(
                identity: identity.clock, eventPort: ports.event, generalPort: ports.general)
        }

        private func receiver(
            _ quirks: [String] = [], host: UInt8 = 2, admission: PairSetupResponder.Admission = .open
        ) throws -> SoftwareSpeaker {
            var all = SpeakerQuirks()
            for quirk in quirks { try all.set(quirk) }
            return try SoftwareSpeaker(
                SpeakerConfiguration(
                    address: NetworkAddress(ipv4: 0x7F00_0000 | UInt32(host)), port: 0, clock: .required,
                    ptpPorts: ports, admission: admission, quirks: all))
        }

        private func configuration(_ receiver: SoftwareSpeaker) -> AirPlaySession.Configuration {
            var configuration = AirPlaySession.Configuration(
                address: SpeakerAddress(host: "\(receiver.configuration.address)", port: receiver.port),
                identity: identity)
            configuration.ownTimeout = .seconds(1)
            return configuration
        }

        /// Returns a speaker that plays 24 seconds of audio (3000 packets) and sees the test's announcements.
        private func playing(
            on receiver: SoftwareSpeaker, _ id: SpeakerID? = nil, password: String? = nil
        ) throws -> AirPlaySpeaker {
            var configuration = configuration(receiver)
            configuration.password = password
            configuration.id = id
            configuration.network = announced
            configuration.peers = peers
            let speaker = AirPlaySpeaker(name: "Test", configuration: configuration, clocks: clocks)
            let context = AudioOutputContext(
                timebase: synchronizer.timebase, writable: Signal(), events: events, id: OutputID(0))
            try speaker.prepare(.encoded(alac, from: PCMFormat(sampleRate: 44100, layout: .stereo)), context: context)
            let packet = LosslessEscape.frame([Int16](repeating: 7, count: 704))
            let batch = PacketBatch()
            for index in 0..<Int64(3000) {
                packet.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: .init(
                            presentationTime: MediaTime(value: index * 352, timescale: 44100),
                            duration: MediaTime(value: 352, timescale: 44100)))
                }
            }
            #expect(speaker.accept(batch, from: 0) == 3000)
            synchronizer.setRate(1, time: .zero, atHostTime: .now.advanced(by: speaker.latency.startLead))
            speaker.timebaseDidChange(synchronizer.timebase.snapshot)
            return speaker
        }

        private func eventually(within limit: Duration, _ condition: () -> Bool) -> Bool {
            let end = HostInstant.now.advanced(by: limit)
            while HostInstant.now < end {
                if condition() { return true }
                HostInstant.now.advanced(by: .milliseconds(5)).sleep()
            }
            return condition()
        }

        private func frames(_ receiver: SoftwareSpeaker, after moment: HostInstant) -> Int {
            receiver.record.spans.filter { $0.instant > moment }.reduce(0) { $0 + $1.frames }
        }

        private func isFrozen(_ receiver: SoftwareSpeaker) -> Bool {
            receiver.record.events.contains(.paused)
        }

        /// One second after the receiver responds again, our old session is still active on it.
        @Test func aSuspendedReceiverPlaysAgainAndOurOldSessionIsRecognized() throws {
            let receiver = try receiver(["freezes=0.5:5"])
            defer { receiver.stop() }
            let speaker = try playing(on: receiver)
            defer { speaker.close() }
            #expect(eventually(within: .seconds(6)) { isFrozen(receiver) })
            let thaw = HostInstant.now.advanced(by: .seconds(5))
            #expect(
                eventually(within: .seconds(11)) { frames(receiver, after: thaw) > 4410 || speaker.failure != nil },
                "\(receiver.record.events.suffix(8))")
            #expect(speaker.failure == nil, "\(speaker.failure?.message ?? "")")
        }

        /// At another address, where another session is active: our previous one, or that of another sender.
        @Test(arguments: [true, false])
        func aSpeakerIsFoundAgainByItsIDAndLeftToItsNewSender(isOurs: Bool) throws {
            let id = try #require(SpeakerID("02:00:00:00:00:07"))
            let (old, new) = (try receiver(["freezes=0.5:60"]), try receiver(host: 3))
            defer {
                old.stop()
                new.stop()
            }
            announced.announce(id, at: old, group: peers.identifier)
            let speaker = try playing(on: old, id)
            defer { speaker.close() }
            let holder = AirPlaySession(configuration(new), clocks: clocks)
            defer { holder.end() }
            _ = try holder.connect()
            #expect(eventually(within: .seconds(6)) { isFrozen(old) })
            announced.announce(id, at: new, group: isOurs ? peers.identifier : "B4C5")
            let moved = HostInstant.now
            if isOurs {
                #expect(
                    eventually(within: .seconds(5)) { frames(new, after: moved) > 4410 },
                    "\(new.record.events.suffix(8)) \(speaker.failure?.message ?? "")")
                #expect(speaker.failure == nil)
            } else {
                #expect(eventually(within: .seconds(12)) { speaker.failure != nil })
                #expect(speaker.failure?.code == .busy && frames(new, after: moved) == 0)
            }
        }

        /// Repeated attempts would also let the receiver find out the password.
        @Test func aStrangerThatDoesNotKnowThePasswordIsNeitherHeardNorAskedAgain() throws {
            let id = try #require(SpeakerID("02:00:00:00:00:07"))
            let own = try receiver(["freezes=0.5:60"], admission: .password("sesame"))
            let stranger = try receiver(host: 3)
            defer {
                own.stop()
                stranger.stop()
            }
            announced.announce(id, at: own, group: peers.identifier)
            let speaker = try playing(on: own, id, password: "sesame")
            defer { speaker.close() }
            #expect(eventually(within: .seconds(6)) { isFrozen(own) })
            announced.announce(id, at: stranger, group: peers.identifier)
            #expect(eventually(within: .seconds(8)) { speaker.failure != nil })
            #expect(speaker.failure?.code == .notPermitted, "\(speaker.failure?.message ?? "")")
            #expect(stranger.record.spans.isEmpty)
        }

        @Test func aResponseWithAnotherIDIsAnotherSpeaker() throws {
            let receiver = try receiver()
            defer { receiver.stop() }
            var configuration = configuration(receiver)
            configuration.expected = SpeakerID("02:00:00:00:00:07")
            let session = AirPlaySession(configuration, clocks: clocks)
            defer { session.end() }
            let error = #expect(throws: AirPlayError.self) { try session.connect() }
            #expect(error?.code == .unreachable && error?.message.hasPrefix("Another speaker") == true)
        }
    }
}
