import AirPlay
import AirPlayTransport
import AirPlayWire
import Foundation
import MediaCore
import PTP
import SyncRendering
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

extension LoopTests {
    /// Speakers with faulty responses: each attempt ends before its timeout with an error message, and the next attempt
    /// is possible.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct BadSpeakerTests {
        private let ports = ClockPorts.unusedPair()
        private let identity = SenderIdentity.random(name: "Talkie test")
        private let synchronizer = RenderSynchronizer()
        private let events = EventLog(clock: MonotonicClock())
        private let room = Signal()
        private let alac = AudioFormat(
            parameters: CodecParameters(codec: "alac", bitsPerRawSample: 16, framesPerPacket: 352), sampleRate: 44100,
            layout: .stereo)

        private var context: AudioOutputContext {
            AudioOutputContext(timebase: synchronizer.timebase, writable: room, events: events, id: OutputID(0))
        }

        private func receiver(_ quirks: [String]) throws -> SoftwareSpeaker {
            var all = SpeakerQuirks()
            for quirk in quirks { try all.set(quirk) }
            return try SoftwareSpeaker(
                SpeakerConfiguration(port: 0, clock: .required, ptpPorts: ports, quirks: all))
        }

        private func speaker(
            _ receiver: SoftwareSpeaker, route: Route = .buffered, alternatives: [Route] = [],
            isKnownToProbe: Bool = false
        ) -> AirPlaySpeaker {
            var configuration = AirPlaySession.Configuration(
                address: SpeakerAddress(host: "127.0.0.2", port: receiver.port), identity: identity)
            configuration.readiness.isKnownToProbe = isKnownToProbe
            return AirPlaySpeaker(
                name: "Test", configuration: configuration,
                clocks: PTPDirectory(
                    identity: identity.clock, eventPort: ports.event, generalPort: ports.general),
                route: route, alternatives: alternatives)
        }

        private func prepare(_ speaker: AirPlaySpeaker) throws(OutputError) {
            try speaker.prepare(.encoded(alac, from: PCMFormat(sampleRate: 44100, layout: .stereo)), context: context)
        }

        /// Writes seconds of audio.
        private func fill(_ speaker: AirPlaySpeaker, seconds: Int = 1) {
            let packet = LosslessEscape.frame([Int16](repeating: 7, count: 704))
            let batch = PacketBatch()
            for index in 0..<Int64(125 * seconds) {
                packet.withUnsafeBytes {
                    batch.append(
                        $0,
                        as: .init(
                            presentationTime: MediaTime(value: index * 352, timescale: 44100),
                            duration: MediaTime(value: 352, timescale: 44100)))
                }
            }
            #expect(speaker.accept(batch, from: 0) == 125 * seconds)
        }

        /// Writes audio and starts it.
        private func play(_ speaker: AirPlaySpeaker, seconds: Int = 1) {
            fill(speaker, seconds: seconds)
            synchronizer.setRate(1, time: .zero, atHostTime: .now.advanced(by: speaker.latency.startLead))
            speaker.timebaseDidChange(synchronizer.timebase.snapshot)
        }

        private func eventually(within limit: Duration, _ condition: () -> Bool) -> Bool {
            let end = HostInstant.now.advanced(by: limit)
            while HostInstant.now < end {
                if condition() { return true }
                HostInstant.now.advanced(by: .milliseconds(5)).sleep()
            }
            return condition()
        }

        @Test(arguments: [
            ("garbage=SETUP", "failed"), ("truncated=SETUP", "lost"), ("endless=SETUP", "failed"),
            ("status=SETUP:453", "busy"), ("status=SETUP:403", "notPermitted"), ("status=SETUP:400", "failed"),
            ("status=SETUP:454", "lost"), ("garbage=/pair-setup", "failed"), ("truncated=/info", "lost"),
            ("silent=/info", "unavailable"), ("status=RECORD:500", "failed"), ("truncated=RECORD", "lost"),
        ])
        func aBadAnswerEndsTheAttemptWithASentence(quirk: String, code: String) throws {
            let receiver = try receiver([quirk])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            let began = HostInstant.now
            let error = #expect(throws: OutputError.self) { try prepare(speaker) }
            #expect(error?.code.rawValue == code, "\(error?.message ?? "")")
            #expect((error?.message.count ?? 0) > 10)
            #expect(HostInstant.now - began < .seconds(6))
        }

        @Test func aSpeakerThatEndsTheSessionIsLostWithASentence() throws {
            let receiver = try receiver(["status=/feedback:454"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            #expect(eventually(within: .seconds(8)) { speaker.interruption != nil })
            var notes: [RenderEvent] = []
            while let entry = events.removeFirst() { notes.append(entry.event) }
            #expect(notes.contains { if case .outputLost = $0 { true } else { false } })
            #expect(speaker.failure == nil, "it is tried again")
        }

        @Test func aSpeakerThatRefusesToStartIsDroppedAndPlaybackContinues() throws {
            let receiver = try receiver(["status=SETRATEANCHORTIME:403"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker)
            #expect(eventually(within: .seconds(6)) { speaker.failure != nil })
            #expect(speaker.failure?.code == .notPermitted)
            // After a failure, packets are accepted and discarded.
            let batch = PacketBatch()
            [UInt8](repeating: 0, count: 10).withUnsafeBytes {
                batch.append($0, as: .init(presentationTime: MediaTime(value: 9, timescale: 1), duration: .zero))
            }
            #expect(speaker.accept(batch, from: 0) == 1)
            #expect(speaker.acceptedUntil == MediaTime(value: 9, timescale: 1))
        }

        @Test func aSpeakerThatAnswersNoStartIsReported() throws {
            let receiver = try receiver(["silent=SETRATEANCHORTIME"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker)
            #expect(eventually(within: .seconds(20)) { speaker.failure != nil })
            #expect(speaker.failure?.message.contains("does not answer the request to start") == true)
        }

        /// It plays, and would play what it has buffered.
        @Test func aPauseIsSentAlthoughTheStartWasAnsweredTooLate() throws {
            let receiver = try receiver(["slow=SETRATEANCHORTIME:3"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker, seconds: 12)
            func frames() -> Int { receiver.record.spans.reduce(0) { $0 + $1.frames } }
            try #require(eventually(within: .seconds(6)) { frames() > 0 }, "\(receiver.record.events.suffix(6))")
            synchronizer.setRate(0)
            speaker.timebaseDidChange(synchronizer.timebase.snapshot)
            // The receiver handles one request after the other.
            HostInstant.now.advanced(by: .seconds(5)).sleep()
            let before = frames()
            HostInstant.now.advanced(by: .seconds(1)).sleep()
            #expect(frames() == before && before < 12 * 44100)
        }

        @Test func aSpeakerThatTakesNoStartOnOurClockIsRefusedWithASentence() throws {
            let receiver = try receiver(["status=SETRATEANCHORTIME:400"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker)
            #expect(eventually(within: .seconds(15)) { speaker.failure != nil })
            #expect(speaker.failure?.message.contains("requires its own clock") == true)
            var states: [SpeakerClockState] = []
            while let entry = events.removeFirst() {
                if case .clock(let state, _) = entry.event { states.append(state) }
            }
            #expect(states.first == .cold && states.contains(.ready), "\(states)")
        }

        @Test(arguments: [[], [.realtime, .realtimeNTP]] as [[Route]])
        func theWaitForASpeakerWithoutTimingRequestsIsExplained(_ alternatives: [Route]) throws {
            let receiver = try receiver([])
            defer { receiver.stop() }
            let speaker = speaker(receiver, alternatives: alternatives, isKnownToProbe: true)
            defer { speaker.close() }
            try prepare(speaker)
            fill(speaker)
            // The film is held until the speaker's clock is synchronized.
            #expect(!speaker.isReadyToStart && synchronizer.timebase.snapshot.upcoming.rate == 0)
            #expect(eventually(within: .seconds(12)) { speaker.failure != nil })
            #expect(speaker.failure?.code == .notPermitted)
            #expect(speaker.failure?.message.contains("firewall") == true)
            #expect(speaker.failure?.message.contains("talkie") == false, "the library names no program")
            #expect(speaker.failure?.remedy?.action == (alternatives.isEmpty ? .checkFirewall : .chooseRoute))
            #expect(speaker.failure?.remedy?.outputName == (alternatives.isEmpty ? nil : "Test;route=ntp"))
            #expect(speaker.isReadyToStart, "the film is held no longer")
        }

        /// It accepts all that it is sent, and its kind of stream has no acknowledgement. Most measure the clock.
        @Test(arguments: [["ignores-ptp"], ["ignores-ptp", "probes"], []])
        func aSpeakerThatRequestsNothingIsReportedAndPlaysOn(quirks: [String]) throws {
            let receiver = try receiver(quirks)
            defer { receiver.stop() }
            let speaker = speaker(receiver, route: .realtime, alternatives: [.realtimeNTP])
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker, seconds: 6)
            #expect(eventually(within: .seconds(6)) { speaker.isAudible }, "\(receiver.record.events.suffix(6))")
            func problem() -> OutputProblem? { OutputProblem(speaker, OutputID(0), loss: speaker.loss) }
            #expect(problem() == nil)
            let isReported = quirks == ["ignores-ptp"]
            #expect(eventually(within: .seconds(isReported ? 12 : 9)) { problem() != nil } == isReported)
            #expect(speaker.failure == nil && speaker.interruption == nil)
            guard isReported else { return }
            #expect(problem()?.kind == .unconfirmed && problem()?.error.remedy?.outputName == "Test;route=ntp")
        }

        /// It lists what it accepts where the stream is set up.
        @Test func aSpeakerGetsAFormatThatItOffersOnTheSameRoute() throws {
            let receiver = try receiver(["formats=18"])
            defer { receiver.stop() }
            let speaker = speaker(receiver, alternatives: [.realtime])
            defer { speaker.close() }
            let film = AudioFormat(
                parameters: CodecParameters(codec: "aac", configuration: [0x11, 0x90]), sampleRate: 48000,
                layout: .stereo)
            func next() -> AudioDelivery { speaker.delivery(for: film, mustDecode: false) }
            let error = #expect(throws: OutputError.self) { try speaker.prepare(next(), context: context) }
            #expect(error?.message.contains("does not offer AAC-LC 48") == true, "\(error?.message ?? "")")
            try speaker.prepare(next(), context: context)
            #expect(speaker.kind == .bufferedSpeaker)
            let streams = receiver.record.events.compactMap { event -> String? in
                if case .stream(let kind, let format, _) = event { "\(kind) \(format)" } else { nil }
            }
            #expect(streams == ["buffered ALAC 44.1/16"])
        }

        /// It accepts the route's stream and its start, and is silent.
        @Test func aSpeakerThatReadsNoAudioIsReportedWithAnotherRoute() throws {
            let receiver = try receiver(["read-pauses=0:86400"])
            defer { receiver.stop() }
            let speaker = speaker(receiver, alternatives: [.realtime])
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker, seconds: 8)
            #expect(eventually(within: .seconds(25)) { speaker.failure != nil })
            #expect(speaker.failure?.message.contains("does not read it") == true, "\(speaker.failure?.message ?? "")")
            #expect(speaker.failure?.remedy?.outputName == "Test;route=realtime")
        }

        @Test func aReceiverGetsTheRateBeforeItsFirstAnchor() throws {
            let receiver = try receiver(["shairport-start"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker)
            #expect(
                eventually(within: .seconds(8)) {
                    receiver.record.spans.reduce(0) { $0 + $1.frames } > 30_000
                }, "\(receiver.record.events.suffix(6))")
            // Plays again after a pause.
            synchronizer.setRate(0)
            speaker.timebaseDidChange(synchronizer.timebase.snapshot)
            synchronizer.setRate(1, time: .zero, atHostTime: .now.advanced(by: speaker.latency.startLead))
            speaker.timebaseDidChange(synchronizer.timebase.snapshot)
            HostInstant.now.advanced(by: .seconds(1)).sleep()
            #expect(!receiver.record.events.contains(.died) && speaker.interruption == nil)
        }

        /// Receivers that listen for events only after they announced the port, never listen, strip leading zeros, or
        /// answer late.
        @Test(arguments: [
            "late-events=1", "no-events", "stripped-zeros", "slow=SETUP:1.5", "slow=RECORD:3", "slow=/pair-setup:2",
        ])
        func aSpeakerWithBadMannersPlaysAllTheSame(quirk: String) throws {
            let receiver = try receiver([quirk])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker)
            #expect(
                eventually(within: .seconds(8)) {
                    receiver.record.spans.reduce(0) { $0 + $1.frames } > 30_000
                }, "\(receiver.record.events.suffix(6))")
            #expect(speaker.failure == nil && speaker.interruption == nil)
        }

        @Test func aSpeakerReceivesTheTitleAndItsChanges() throws {
            let receiver = try receiver([])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            speaker.setNowPlaying(NowPlaying(title: "千と千尋の神隠し"))
            try prepare(speaker)
            speaker.setNowPlaying(NowPlaying(title: "Stalker"))
            func titles() -> [String] {
                receiver.record.events.compactMap { if case .track(let title, _, _, _) = $0 { title } else { nil } }
            }
            #expect(eventually(within: .seconds(4)) { titles().count == 2 })
            #expect(titles() == ["千と千尋の神隠し", "Stalker"])
        }

        @Test func aSpeakerReceivesTheProgressAtStartAndPauseAndAnImageDuringPlayback() throws {
            let receiver = try receiver([])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            speaker.setNowPlaying(
                NowPlaying(
                    title: "Film", artist: "Studio", album: "Album", artwork: .init([0xFF, 0xD8, 0xFF, 0xE0]),
                    duration: MediaTime(value: 60, timescale: 1), start: MediaTime(value: -20, timescale: 1)))
            try prepare(speaker)
            func has(_ event: SpeakerEvent) -> Bool { receiver.record.events.contains(event) }
            #expect(has(.track(title: "Film", artist: "Studio", album: "Album", duration: .seconds(60))))
            play(speaker)
            #expect(eventually(within: .seconds(8)) { has(.metadata(kind: "image/jpeg", bytes: 4)) })
            func progress() -> [(elapsed: Int64, rest: Int64)] {
                receiver.record.events.compactMap { event in
                    guard case .progress(let start, let now, let end) = event else { return nil }
                    return (Int64(start.distance(to: now)), Int64(now.distance(to: end)))
                }
            }
            // The first of a start, or of the stopped timeline before it: at 20 s of 60 s.
            #expect(
                progress().first.map { abs($0.elapsed - 882_000) < 44_100 && abs($0.rest - 1_764_000) < 44_100 }
                    ?? false)
            synchronizer.setRate(0, time: MediaTime(value: 10, timescale: 1))
            speaker.timebaseDidChange(synchronizer.timebase.snapshot)
            // A change of the anchor can send another one before it.
            #expect(eventually(within: .seconds(8)) { progress().last?.elapsed == 1_323_000 }, "\(progress())")
        }

        @Test func aSpeakerThatReadsPropertyListsReceivesThem() throws {
            let receiver = try receiver(["lists"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            speaker.setNowPlaying(NowPlaying(title: "Film"))
            try prepare(speaker)
            play(speaker)
            func kinds() -> Set<String> {
                Set(receiver.record.events.compactMap { if case .metadata(let kind, _) = $0 { kind } else { nil } })
            }
            let wanted: Set = ["updateMRNowPlayingInfo", "updateMRPlaybackState", "updateMRSupportedCommands"]
            #expect(eventually(within: .seconds(8)) { kinds().isSuperset(of: wanted) }, "\(kinds())")
        }

        /// Prepares a speaker whose commands are collected, and plays.
        private func commands(of speaker: AirPlaySpeaker) throws -> Lock<[OutputCommand]> {
            let commands = Lock<[OutputCommand]>([])
            try speaker.prepare(
                .encoded(alac, from: PCMFormat(sampleRate: 44100, layout: .stereo)),
                context: AudioOutputContext(
                    timebase: synchronizer.timebase, writable: room, events: events, id: OutputID(0)
                ) { command, _ in commands.withLock { $0.append(command) } })
            play(speaker)
            return commands
        }

        @Test(arguments: [("paus", OutputCommand.pause), ("nitm", .next)])
        func aKeyOnASpeakerIsACommand(code: String, command: OutputCommand) throws {
            let receiver = try receiver(["presses=0.2:\(code)"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            let commands = try commands(of: speaker)
            #expect(eventually(within: .seconds(8)) { commands.withLock { $0 } == [command] })
        }

        @Test func aTakeoverIsNoPause() throws {
            let receiver = try receiver(["taken-over=0.2:30"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            let commands = try commands(of: speaker)
            #expect(eventually(within: .seconds(20)) { speaker.failure?.code == .busy })
            #expect(commands.withLock { $0 } == [])
        }

        @Test func aVolumeControlThatIsDraggedEndsAtItsLastValueAfterAFewRequests() throws {
            let receiver = try receiver(["slow=SET_PARAMETER:0.2"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            try prepare(speaker)
            for volume in 0...100 { speaker.setGain(VolumeCurve.gain(volume: Double(volume))) }
            func levels() -> [Double] {
                receiver.record.events.compactMap { if case .volume(let level) = $0 { level } else { nil } }
            }
            #expect(eventually(within: .seconds(4)) { levels().last == 0 })
            let heard = levels()
            #expect(heard.count <= 5 && zip(heard, heard.dropFirst()).allSatisfy { $0 < $1 }, "\(heard)")
        }

        @Test func aVolumeThatIsSetWhileTheSessionBeginsIsSent() throws {
            let receiver = try receiver(["slow=SET_PARAMETER:1"])
            defer { receiver.stop() }
            let speaker = speaker(receiver)
            defer { speaker.close() }
            @Sendable func levels() -> [Double] {
                receiver.record.events.compactMap { if case .volume(let level) = $0 { level } else { nil } }
            }
            speaker.setGain(0.5)
            Thread.detachNewThread {
                while levels().isEmpty { HostInstant.now.advanced(by: .milliseconds(10)).sleep() }
                speaker.setGain(0)
            }
            try prepare(speaker)
            #expect(eventually(within: .seconds(6)) { levels().last == -144 }, "\(levels())")
        }

        @Test(arguments: [Route.buffered, .realtime])
        func anOrdinarySpeakerPlaysAfterAllThat(route: Route) throws {
            let receiver = try receiver([])
            defer { receiver.stop() }
            let speaker = speaker(receiver, route: route)
            defer { speaker.close() }
            try prepare(speaker)
            play(speaker)
            #expect(
                eventually(within: .seconds(8)) {
                    receiver.record.spans.reduce(0) { $0 + $1.frames } > 30_000
                }, "\(receiver.record.events.suffix(6))")
            #expect(speaker.failure == nil && speaker.interruption == nil)
        }
    }
}
