import AirPlayTransport
import AirPlayWire
import ClassicAirPlay
import MediaCodecs
import MediaCore
import PTP
import Sockets
import SyncRendering
import TalkieTestKit
import Testing

@testable import RouteTestSupport
@testable import VirtualSpeaker

extension LoopTests {
    /// Classic AirPlay against the software speaker: faults, passwords, and rooms of both versions in one group.
    @Suite(.serialized, .timeLimit(.minutes(2))) struct ClassicSpeakerTests {
        /// A speaker with faults, and a film of pulses that plays to it.
        private final class Stage {
            let receiver: SoftwareSpeaker
            let output: ClassicSpeaker
            private let seconds: Int64
            /// The film; the speaker is not used before.
            private(set) lazy var sound: PlayedSound = {
                let sound = PlayedSound(output)
                for second in 0..<seconds { sound.renderer.enqueue(PulsedTone.buffer(second: second)) }
                return sound
            }()
            private var isPlaying = false

            init(_ quirks: String..., required: String? = nil, password: String? = nil, seconds: Int64 = 20) throws {
                var set = SpeakerQuirks()
                for quirk in quirks { try set.set(quirk) }
                var configuration = SpeakerConfiguration(port: 0, quirks: set)
                configuration.isClassic = true
                if let required { configuration.admission = .password(required) }
                receiver = try SoftwareSpeaker(configuration)
                output = ClassicSpeaker(
                    name: "Old Room", address: SpeakerAddress(host: "127.0.0.2", port: receiver.port),
                    identity: .random(name: "Talkie test"), serving: ServedTimeline(), password: password)
                self.seconds = seconds
            }

            func start() throws {
                isPlaying = true
                try sound.startWhenReady()
            }

            func end() {
                if isPlaying { sound.end() }
                receiver.stop()
            }

            /// Waits until a number of seconds was audible in total.
            func isHeard(_ seconds: Double, within limit: Duration) -> Bool {
                receiver.record.wait(until: .now.advanced(by: limit)) { record in
                    Double(record.spans.reduce(0) { $0 + $1.frames }) >= seconds * 44100
                }
            }

            func requests(_ method: String) -> [Int] {
                receiver.record.events.compactMap {
                    if case .request(method, _, let status) = $0 { status } else { nil }
                }
            }
        }

        @Test(arguments: [
            [], ["auth-setup"], ["loss=0.05"], ["timing-moves"], ["resend-flood=10000"], ["slow=SETUP:1"],
        ])
        func theFirstSoundIsHeardAtItsInstant(quirks: [String]) throws {
            let stage =
                quirks.isEmpty ? try Stage() : try Stage(quirks[0])
            defer { stage.end() }
            try stage.start()
            try #require(stage.isHeard(3, within: .seconds(15)), "\(stage.receiver.record.events.suffix(6))")
            let first = try #require(stage.receiver.record.spans.first?.instant)
            print("classic \(quirks): begins \((first - stage.sound.start).inMilliseconds) ms from the instant")
            #expect(abs((first - stage.sound.start).inMilliseconds) < (quirks == ["loss=0.05"] ? 50 : 1))
            #expect(stage.output.loss == nil)
            if quirks == ["loss=0.05"] {
                let isAsked = stage.receiver.record.events.contains {
                    if case .resendRequested = $0 { true } else { false }
                }
                #expect(isAsked)
            }
        }

        @Test func thePasswordIsSentAsADigest() throws {
            let stage = try Stage(required: "secret", password: "secret")
            defer { stage.end() }
            try stage.start()
            #expect(stage.isHeard(1, within: .seconds(15)))
            #expect(stage.requests("ANNOUNCE") == [401, 200])
            #expect(stage.requests("SETUP") == [200], "the nonce is used again")
        }

        @Test(arguments: [("other", "'Old Room' rejected the password"), (nil, "'Old Room' requires its password")])
        func aWrongPasswordIsTriedOnceAndNamed(password: String?, words: String) throws {
            let stage = try Stage(required: "secret", password: password)
            defer { stage.end() }
            let failure = try #require(throws: OutputError.self) { try Self.prepare(stage.output) }
            #expect(failure.code == .notPermitted && failure.message.hasPrefix(words), "\(failure.message)")
            #expect(stage.requests("ANNOUNCE") == (password == nil ? [401] : [401, 401]))
            #expect(stage.requests("TEARDOWN").isEmpty, "the password is not tried again")
        }

        @Test(arguments: [
            ("status=ANNOUNCE:453", "busy"), ("status=ANNOUNCE:406", "failed"), ("truncated=RECORD", "lost"),
            ("garbage=SETUP", "failed"), ("endless=ANNOUNCE", "failed"), ("status=SETUP:500", "failed"),
        ])
        func aRefusalIsASentence(quirk: String, code: String) throws {
            let stage = try Stage(quirk)
            defer { stage.end() }
            let failure = try #require(throws: OutputError.self) { try Self.prepare(stage.output) }
            #expect(failure.code.rawValue == code, "\(failure.message)")
            #expect(!failure.message.isEmpty)
        }

        private static func prepare(_ output: ClassicSpeaker) throws(OutputError) {
            let context = AudioOutputContext(
                timebase: RenderSynchronizer().timebase, writable: Signal(), events: EventLog(clock: MonotonicClock()),
                id: OutputID(1))
            defer { output.close() }
            let format = AudioFormat(
                parameters: CodecParameters(codec: "pcm_s16le"), sampleRate: 48000, layout: .stereo)
            try output.prepare(output.delivery(for: format, mustDecode: true), context: context)
        }

        @Test func aSpeakerThatStopsAskingForTimeGetsAnotherSession() throws {
            let stage = try Stage("timing-stops=2", seconds: 40)
            defer { stage.end() }
            try stage.start()
            #expect(
                stage.receiver.record.wait(until: .now.advanced(by: .seconds(40))) { record in
                    record.events.count { if case .request("ANNOUNCE", _, 200) = $0 { true } else { false } } > 1
                })
        }

        @Test func aPauseAndASeekAreHeardWhereTheyAre() throws {
            let stage = try Stage()
            defer { stage.end() }
            try stage.start()
            try #require(stage.isHeard(1, within: .seconds(15)))
            let asked = stage.sound.pause()
            #expect(
                stage.receiver.record.wait(until: asked.advanced(by: .seconds(2))) { record in
                    record.events.contains { if case .request("FLUSH", _, 200) = $0 { true } else { false } }
                })
            let end = try #require(stage.receiver.record.spans.last?.end)
            #expect(end - asked < .milliseconds(300))
            let heard = stage.receiver.record.spans.count
            let again = HostInstant.now.advanced(by: .seconds(3))
            stage.sound.synchronizer.setRate(1, time: MediaTime(value: 5, timescale: 1), atHostTime: again)
            #expect(
                stage.receiver.record.wait(until: again.advanced(by: .seconds(4))) { record in
                    record.spans.count > heard && record.spans[heard].frames > 22050
                }, "\(stage.receiver.record.events.suffix(6))")
            let second = try #require(stage.receiver.record.spans.dropFirst(heard).first?.instant)
            print("classic: after a seek \((second - again).inMilliseconds) ms from the instant")
            // Two packets may precede, as receivers mute the first one of a stream.
            #expect((-17..<1).contains((second - again).inMilliseconds))
        }

        @Test func roomsOfBothVersionsBeginTogether() throws {
            let speakers = try SoftwareSpeakers([.buffered, .classic, .realtime], ports: ClockPorts.pair(7))
            defer { speakers.stop() }
            let sound = PlayedSound(OutputGroup(members: speakers.outputs, codecs: FilmAudioCodecs()))
            defer { sound.end() }
            for second in 0..<Int64(8) { sound.renderer.enqueue(PulsedTone.buffer(second: second)) }
            try sound.startWhenReady()
            for (receiver, speaker) in zip(speakers.receivers, speakers.outputs) {
                #expect(
                    receiver.record.wait(until: sound.start.advanced(by: .seconds(6))) { record in
                        record.spans.reduce(0) { $0 + $1.frames } > 48000
                    }, "\(speaker.name): \(receiver.record.events.suffix(6))")
            }
            let first = try speakers.receivers.map { try #require($0.record.spans.first?.instant) }
            print("mixed group: begins \(first.map { ($0 - sound.start).inMilliseconds }) ms from the instant")
            #expect(first.allSatisfy { abs(($0 - sound.start).inMilliseconds) < 1 })
            let asked = sound.pause()
            for receiver in speakers.receivers {
                #expect(
                    receiver.record.wait(until: asked.advanced(by: .seconds(2))) {
                        ($0.spans.last?.end ?? asked) - asked < .milliseconds(150)
                    })
            }
        }
    }
}
