import AirPlay
import MediaCodecs
import MediaCore
import SyncRendering
import Testing
import VirtualSpeaker

@testable import RouteTestSupport

extension LoopTests {
    /// A buffered and a realtime speaker in one group, each with an encoding of its own.
    @Suite(.serialized, .timeLimit(.minutes(1))) struct MixedGroupTests {
        @Test func theyBeginAtOneInstantAndAPauseSilencesBoth() throws {
            let speakers = try SoftwareSpeakers([.buffered, .realtime], ports: ClockPorts.pair(3))
            defer { speakers.stop() }
            let sound = PlayedSound(OutputGroup(members: speakers.outputs, codecs: FilmAudioCodecs()))
            defer { sound.end() }
            for second in 0..<Int64(6) { sound.renderer.enqueue(PulsedTone.buffer(second: second)) }
            try sound.startWhenReady()
            for (receiver, speaker) in zip(speakers.receivers, speakers.outputs) {
                #expect(
                    receiver.record.wait(until: sound.start.advanced(by: .seconds(4))) { record in
                        record.spans.reduce(0) { $0 + $1.frames } > 48000
                    }, "\(speaker.name): \(receiver.record.events.suffix(6))")
            }
            let first = try speakers.receivers.map { try #require($0.record.spans.first?.instant) }
            print("group: begins \(first.map { ($0 - sound.start).inMilliseconds }) ms from the instant")
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
