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
    /// Speakers that insist on being grandmaster, with clocks 50 ppm fast: the timeline follows them.
    @Suite(.serialized, .timeLimit(.minutes(3))) struct OwnClockTests {
        private let ports = ClockPorts.unusedPair()
        private let identity = SenderIdentity.random(name: "Talkie test")
        private let synchronizer = RenderSynchronizer()
        private let events = EventLog(clock: MonotonicClock())
        private let clock = DrowsyClock()

        private func receiver(_ quirks: [String], at address: String = "127.0.0.2") throws -> SoftwareSpeaker {
            var all = SpeakerQuirks()
            for quirk in quirks { try all.set(quirk) }
            var configuration = SpeakerConfiguration(
                name: "Own \(address)", address: NetworkAddress(address)!, port: 0, clock: .required, ptpPorts: ports,
                quirks: all)
            configuration.senderClock = clock
            return try SoftwareSpeaker(configuration)
        }

        private func directory() -> PTPDirectory {
            PTPDirectory(
                identity: identity.clock, eventPort: ports.event, generalPort: ports.general, clock: clock)
        }

        private func speaker(
            _ receiver: SoftwareSpeaker, _ clocks: PTPDirectory, route: Route = .buffered,
            role: ClockRole = .grandmaster
        ) -> AirPlaySpeaker {
            var configuration = AirPlaySession.Configuration(
                address: SpeakerAddress(
                    host: receiver.configuration.address.description, port: receiver.port), identity: identity)
            configuration.clockRole = role
            return AirPlaySpeaker(
                name: receiver.configuration.address.description, configuration: configuration, clocks: clocks,
                route: route)
        }

        /// Returns one second of a quiet tone as PCM packets.
        private func sound(from start: Int64) -> SampleBuffer {
            let format = AudioFormat(
                parameters: CodecParameters(codec: "pcm_s16le", bitsPerRawSample: 16), sampleRate: 44100,
                layout: .stereo)
            let batch = PacketBatch()
            for packet in 0..<Int64(10) {
                let samples = (0..<8820).map { Int16(truncatingIfNeeded: 1000 + ($0 / 2 % 100) * 20) }
                samples.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: .init(
                            presentationTime: MediaTime(value: start + packet * 4410, timescale: 44100),
                            duration: MediaTime(value: 4410, timescale: 44100)))
                }
            }
            return SampleBuffer(
                payload: .encodedAudio(format, batch), presentationTime: MediaTime(value: start, timescale: 44100),
                duration: MediaTime(value: 44100, timescale: 44100), flags: .sync)
        }

        /// Feeds and starts like a player; the synchronizer waits for outputs and adjusts the timeline's rate.
        private final class Cinema {
            let renderer: AudioRenderer
            private let synchronizer: RenderSynchronizer
            private let events: EventLog
            private(set) var notes: [RenderEvent] = []

            init(_ output: any AudioDestination, _ synchronizer: RenderSynchronizer, _ events: EventLog) {
                self.synchronizer = synchronizer
                self.events = events
                renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
                renderer.setOutput(output)
                synchronizer.addRenderer(renderer)
            }

            /// Collects events while real time passes; returns false if the condition never held.
            @discardableResult
            func run(for limit: Duration, until condition: () -> Bool = { false }) -> Bool {
                let end = HostInstant.now.advanced(by: limit)
                while HostInstant.now < end {
                    if condition() { return true }
                    while let entry = events.removeFirst() { notes.append(entry.event) }
                    HostInstant.now.advanced(by: .milliseconds(50)).sleep()
                }
                return condition()
            }

            /// Returns false if the output is never ready.
            func start() -> Bool {
                synchronizer.setRate(1, time: .zero)
                return run(for: .seconds(15)) { synchronizer.pendingStart == nil }
            }
        }

        /// Returns how late a film time was audible, in milliseconds, by the speaker's record and its anchor at that
        /// time.
        private func lateness(
            _ receiver: SoftwareSpeaker, _ cinema: Cinema, output: OutputID = OutputID(0), at film: MediaTime
        ) throws -> Double {
            // The last anchor that was sent, and the last one that arrived: a realtime stream repeats its anchor once a
            // second.
            var sent: (media: MediaTime, clock: PTPInstant)?
            for case .speakerAnchored(let media, _, let clock, output) in cinema.notes { sent = (media, clock) }
            var arrived: (position: RTPTimestamp, instant: PTPInstant)?
            for case .anchor(let position, let instant, _, _) in receiver.record.events {
                arrived = (position, instant)
            }
            let (claim, anchor) = (try #require(sent), try #require(arrived))
            let start = claim.media.advanced(by: claim.clock.duration(to: anchor.instant))
            let frame = anchor.position.advanced(byFrames: (film - start).rescaled(to: 44100))
            let line = synchronizer.timebase.snapshot.segment(at: .now)
            let due = try #require(line.hostInstant(of: film))
            let heard = receiver.record.wait(until: HostInstant.now.advanced(by: .seconds(3))) {
                $0.instant(of: frame) != nil
            }
            try #require(heard, "\(film) was not heard: \(receiver.record.events.suffix(5))")
            return (try #require(receiver.record.instant(of: frame)) - due).inMilliseconds
        }

        private func moment(_ seconds: Double) -> MediaTime {
            MediaTime(value: Int64(seconds * 44100), timescale: 44100)
        }

        private func enqueue(_ cinema: Cinema, seconds: Int64) {
            for second in 0..<seconds { cinema.renderer.enqueue(sound(from: second * 44100)) }
        }

        @Test(arguments: [
            (Route.buffered, "own-clock", ClockRole.grandmaster), (.buffered, "own-clock=shy", .grandmaster),
            (.realtime, "own-clock", .grandmaster), (.realtime, "own-clock=shy", .follower),
        ])
        func theFilmStaysWithASpeakerThatPlaysByItsOwnClock(route: Route, quirk: String, role: ClockRole) throws {
            let receiver = try receiver([quirk, "clock-ppm=50"])
            defer { receiver.stop() }
            let speaker = speaker(receiver, directory(), route: route, role: role)
            let cinema = Cinema(speaker, synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 20)
            _ = cinema.start()
            let begun = cinema.run(for: .seconds(20)) { !receiver.record.spans.isEmpty }
            try #require(begun, "\(speaker.failure?.message ?? "") \(receiver.record.events.suffix(6))")
            cinema.run(for: .seconds(1))
            let first = synchronizer.currentTime().seconds
            var errors: [Double] = []
            for second in 0..<8 {
                cinema.run(for: .seconds(1))
                errors.append(try lateness(receiver, cinema, at: moment(first + Double(second) + 0.5)))
            }
            let bend = (synchronizer.timebase.snapshot.current.rate - 1) * 1e6
            print(
                "own clock, \(route), \(quirk): \(errors.map { ($0 * 1000).rounded() / 1000 }) ms late, bent by \(bend) ppm"
            )
            #expect(abs(errors.sorted()[4]) < 0.5)
            #expect(errors.allSatisfy { abs($0) < 1.5 })
            // The rate correction for inaccurate first timestamps of a busy machine decays during this time.
            #expect(abs(bend - 50) < 40)
            #expect(speaker.failure == nil)
        }

        @Test func aSpeakerBesideItFollowsByWayOfUs() throws {
            let receivers = [try receiver(["own-clock", "clock-ppm=50"]), try receiver([], at: "127.0.0.3")]
            defer { for receiver in receivers { receiver.stop() } }
            let clocks = directory()
            let group = OutputGroup(
                members: [
                    speaker(receivers[0], clocks), speaker(receivers[1], clocks, route: .realtime),
                ], codecs: FilmAudioCodecs())
            let cinema = Cinema(group, synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 20)
            _ = cinema.start()
            let begun = cinema.run(for: .seconds(20)) { receivers.allSatisfy { !$0.record.spans.isEmpty } }
            try #require(begun, "\(receivers.map { $0.record.events.suffix(6) })")
            let first = synchronizer.currentTime().seconds + 0.5
            cinema.run(for: .seconds(6))
            for (index, receiver) in receivers.enumerated() {
                let errors = try [0.5, 2, 4].map {
                    try lateness(receiver, cinema, output: OutputID(index), at: moment(first + $0))
                }
                print("own clock in a group, member \(index): \(errors) ms late")
                #expect(errors.allSatisfy { abs($0) < 1 })
            }
        }

        @Test func aSecondMasterInAGroupIsRefusedWithASentence() throws {
            let receivers = [try receiver(["own-clock"]), try receiver(["own-clock"], at: "127.0.0.3")]
            defer { for receiver in receivers { receiver.stop() } }
            let clocks = directory()
            let group = OutputGroup(
                members: receivers.map { speaker($0, clocks) }, codecs: FilmAudioCodecs())
            let cinema = Cinema(group, synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 10)
            _ = cinema.start()
            cinema.run(for: .seconds(8)) { (0..<2).contains { group.failure(ofMember: $0) != nil } }
            let failures = (0..<2).compactMap { group.failure(ofMember: $0) }
            #expect(failures.count == 1)
            #expect(failures.first?.message.contains("only one clock can be followed") == true)
            let plays = cinema.run(for: .seconds(8)) { receivers.contains { !$0.record.spans.isEmpty } }
            #expect(plays, "the film goes on on the other")
        }

        @Test func aMasterWhoseTimeStepsReceivesANewAnchor() throws {
            let receiver = try receiver(["own-clock", "clock-steps=7:3"])
            defer { receiver.stop() }
            let cinema = Cinema(speaker(receiver, directory()), synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 30)
            _ = cinema.start()
            let again = cinema.run(for: .seconds(20)) {
                receiver.record.events.filter { if case .anchor = $0 { true } else { false } }.count > 1
            }
            try #require(again)
            cinema.run(for: .seconds(3))
            let late = try lateness(receiver, cinema, at: moment(synchronizer.currentTime().seconds - 0.5))
            print("own clock that stepped: \(late) ms late afterwards")
            #expect(abs(late) < 1)
        }

        @Test func aSilentMasterIsReportedAndAudioContinues() throws {
            let receiver = try receiver(["own-clock", "clock-stops=5"])
            defer { receiver.stop() }
            let cinema = Cinema(speaker(receiver, directory()), synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 30)
            _ = cinema.start()
            let isReported = cinema.run(for: .seconds(16)) {
                cinema.notes.contains { if case .clock(.stalled, _) = $0 { true } else { false } }
            }
            #expect(isReported)
            let late = try lateness(receiver, cinema, at: moment(synchronizer.currentTime().seconds - 0.5))
            #expect(abs(late) < 1)
        }

        /// The clock may never have been the speaker's: a forged one disappears likewise.
        @Test func aStartThatWaitsForAClockThatIsGoneGetsANewSession() throws {
            let receiver = try receiver(["own-clock", "clock-stops=6"])
            defer { receiver.stop() }
            let cinema = Cinema(speaker(receiver, directory()), synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 60)
            _ = cinema.start()
            try #require(cinema.run(for: .seconds(10)) { !receiver.record.spans.isEmpty })
            synchronizer.setRate(0)
            let isGone = cinema.run(for: .seconds(16)) {
                cinema.notes.contains { if case .clock(.stalled, _) = $0 { true } else { false } }
            }
            try #require(isGone)
            let spans = receiver.record.spans.count
            synchronizer.setRate(1)
            let isBack = cinema.run(for: .seconds(25)) {
                cinema.notes.contains { if case .outputRestored = $0 { true } else { false } }
            }
            try #require(isBack)
            let isHeard = cinema.run(for: .seconds(10)) { receiver.record.spans.count > spans }
            #expect(isHeard, "\(receiver.record.events.suffix(6))")
        }

        /// Another program on the speaker's computer announces itself as the best master clock, 5000 s ahead.
        @Test(arguments: [Route.buffered, .realtime])
        func aForgedClockInAPauseMovesNothing(route: Route) throws {
            let receiver = try receiver([])
            defer { receiver.stop() }
            let cinema = Cinema(speaker(receiver, directory(), route: route), synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 30)
            _ = cinema.start()
            try #require(cinema.run(for: .seconds(15)) { !receiver.record.spans.isEmpty })
            cinema.run(for: .seconds(1))
            synchronizer.setRate(0)
            let forger = try DatagramSocket(address: receiver.configuration.address, port: 0)
            let master = NetworkAddress("127.0.0.1")!
            let identity = ClockIdentity(rawValue: 0xBAD)
            var writer = PTPMessageWriter(identity: identity)
            var quality = GrandmasterQuality.sender(identity)
            quality.priority1 = 0
            var sequence: UInt16 = 0
            cinema.run(for: .seconds(3)) {
                sequence += 1
                writer.announce(quality, sequence: sequence)
                forger.send(writer.bytes, to: master, port: ports.general)
                writer.sync(sequence: sequence)
                forger.send(writer.bytes, to: master, port: ports.event)
                let time = PTPInstant(nanoseconds: HostInstant.now.nanoseconds + 5_000_000_000_000)
                writer.followUp(origin: PTPTimestamp(time), sequence: sequence)
                forger.send(writer.bytes, to: master, port: ports.general)
                return false
            }
            let spans = receiver.record.spans.count
            synchronizer.setRate(1)
            try #require(cinema.run(for: .seconds(5)) { receiver.record.spans.count > spans })
            cinema.run(for: .seconds(2))
            let late = try lateness(receiver, cinema, at: moment(synchronizer.currentTime().seconds - 0.5))
            print("a forged clock in a pause, \(route): \(late) ms late afterwards")
            #expect(abs(late) < 1)
        }

        /// A speaker that stops sending timing requests is reported, and gets a new session after 15 s.
        @Test func aRealtimeSpeakerWithAStalledClockGetsANewSessionWhilePlaybackContinues() throws {
            let receiver = try receiver(["probes-stop=4"])
            defer { receiver.stop() }
            let output = speaker(receiver, directory(), route: .realtime)
            let cinema = Cinema(output, synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 60)
            _ = cinema.start()
            let isStalled = cinema.run(for: .seconds(20)) {
                cinema.notes.contains { if case .clock(.stalled, _) = $0 { true } else { false } }
            }
            try #require(isStalled)
            #expect(output.interruption == nil, "sound goes on meanwhile")
            let isBack = cinema.run(for: .seconds(25)) {
                cinema.notes.contains { if case .outputRestored = $0 { true } else { false } }
            }
            try #require(isBack)
            cinema.run(for: .seconds(6))
            let late = try lateness(receiver, cinema, at: moment(synchronizer.currentTime().seconds - 0.5))
            #expect(abs(late) < 1)
        }

        @Test(arguments: [Route.buffered, .realtime])
        func afterASuspensionAudioContinuesInSync(route: Route) throws {
            let receiver = try receiver([])
            defer { receiver.stop() }
            let cinema = Cinema(speaker(receiver, directory(), route: route), synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 30)
            _ = cinema.start()
            try #require(cinema.run(for: .seconds(15)) { !receiver.record.spans.isEmpty })
            cinema.run(for: .seconds(2))
            #expect(abs(try lateness(receiver, cinema, at: moment(synchronizer.currentTime().seconds - 0.5))) < 1)
            clock.suspend(for: .seconds(20))
            // The synchronizer detects the suspension and restarts when the speaker can.
            cinema.run(for: .milliseconds(4250))
            let late = try lateness(receiver, cinema, at: moment(synchronizer.currentTime().seconds - 0.5))
            print("after a suspension, \(route): \(late) ms late")
            #expect(abs(late) < 1)
        }

        @Test func anUnresponsiveSpeakerIsRejoinedAfterASuspension() throws {
            let receiver = try receiver(["silent=/feedback"])
            defer { receiver.stop() }
            let output = speaker(receiver, directory())
            let cinema = Cinema(output, synchronizer, events)
            defer { cinema.renderer.invalidate() }
            enqueue(cinema, seconds: 20)
            _ = cinema.start()
            try #require(cinema.run(for: .seconds(15)) { !receiver.record.spans.isEmpty })
            #expect(output.interruption == nil, "awake, it would be given half a minute")
            clock.suspend(for: .seconds(600))
            #expect(cinema.run(for: .seconds(8)) { output.interruption != nil })
        }
    }
}
