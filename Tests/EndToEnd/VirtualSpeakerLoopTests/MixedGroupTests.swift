import AirPlayTransport
import MediaCodecs
import MediaCore
import PTP
import Sockets
import SyncRendering
import TalkieTestKit
import Testing
import VirtualSpeaker

@testable import AirPlay
@testable import RouteTestSupport

extension LoopTests {
    /// A buffered and a realtime speaker in one group, each with a different encoding.
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

        @Test(arguments: [true, false])
        func onlyTheMembersOfAPairReceivePacketsWithTheSameTimestamps(isPair: Bool) throws {
            let ports = ClockPorts.unusedPair()
            let receivers = try (2...3).map { number in
                try SoftwareSpeaker(
                    SpeakerConfiguration(
                        address: NetworkAddress("127.0.0.\(number)")!, port: 0, clock: .required, ptpPorts: ports))
            }
            defer { for receiver in receivers { receiver.stop() } }
            let identity = SenderIdentity.random(name: "Talkie test")
            let clocks = PTPDirectory(identity: identity.clock, eventPort: ports.event, generalPort: ports.general)
            let speakers = receivers.map { receiver in
                var configuration = AirPlaySession.Configuration(
                    address: SpeakerAddress(host: receiver.configuration.address.description, port: receiver.port),
                    identity: identity)
                configuration.traits.group.stereoPair = isPair ? "A" : nil
                return AirPlaySpeaker(name: "Member", configuration: configuration, clocks: clocks, route: .realtime)
            }
            let sound = PlayedSound(OutputGroup(members: speakers, codecs: FilmAudioCodecs()))
            defer { sound.end() }
            for second in 0..<Int64(3) { sound.renderer.enqueue(PulsedTone.buffer(second: second)) }
            try sound.startWhenReady()
            let positions = try receivers.map { receiver in
                let isHeard = receiver.record.wait(until: sound.start.advanced(by: .seconds(4))) { !$0.spans.isEmpty }
                try #require(isHeard, "\(receiver.record.events.suffix(6))")
                return try #require(receiver.record.spans.first?.position)
            }
            #expect((positions[0] == positions[1]) == isPair, "\(positions)")
        }

        /// A computer at full volume and a speaker set to 30 %.
        // feature: volume
        @Test func aStepOfTheMasterLowersTheComputerAndTheSpeakerByTheSameDecibels() throws {
            let speakers = try SoftwareSpeakers([.buffered], ports: ClockPorts.pair(6), volume: -21)
            defer { speakers.stop() }
            let (card, speaker, receiver) = (RecordingOutput(), speakers.outputs[0], speakers.receivers[0])
            let group = OutputGroup(members: [card, speaker], codecs: FilmAudioCodecs())
            let sound = PlayedSound(group)
            defer { sound.end() }
            for second in 0..<Int64(6) { sound.renderer.enqueue(PulsedTone.buffer(second: second)) }
            try sound.startWhenReady()
            #expect(
                receiver.record.wait(until: sound.start.advanced(by: .seconds(4))) { record in
                    record.spans.reduce(0) { $0 + $1.frames } > 12_000
                }, "\(receiver.record.events.suffix(6))")
            func sentVolumes() -> [Double] {
                receiver.record.events.compactMap { if case .volume(let decibels) = $0 { decibels } else { nil } }
            }
            #expect(sentVolumes().isEmpty && card.state.withLock { $0.gains.isEmpty }, "untouched")
            func volumes() -> [Double] { [card, speaker].map { (group.volume(of: $0) * 1000).rounded() / 1000 } }
            #expect(volumes() == [100, 30] && group.volume == 100)
            group.changeVolume(by: -2)
            #expect(
                receiver.record.wait(until: .now.advanced(by: .seconds(4))) { _ in !sentVolumes().isEmpty },
                "the speaker is notified")
            #expect(sentVolumes().allSatisfy { abs($0 + 21.6) < 0.01 }, "\(sentVolumes())")
            #expect(card.state.withLock { $0.gain } == VolumeCurve.gain(volume: 98))
            #expect(volumes() == [98, 28])
        }

        @Test func aStepBeforeTheSessionBeginsCountsFromTheOwnersLevel() throws {
            let speakers = try SoftwareSpeakers([.buffered], ports: ClockPorts.pair(6), volume: -21)
            defer { speakers.stop() }
            let (speaker, receiver) = (speakers.outputs[0], speakers.receivers[0])
            let group = OutputGroup(members: [speaker], codecs: FilmAudioCodecs())
            group.changeVolume(by: -2)
            let sound = PlayedSound(group)
            defer { sound.end() }
            for second in 0..<Int64(6) { sound.renderer.enqueue(PulsedTone.buffer(second: second)) }
            try sound.startWhenReady()
            func sentVolumes() -> [Double] {
                receiver.record.events.compactMap { if case .volume(let decibels) = $0 { decibels } else { nil } }
            }
            #expect(receiver.record.wait(until: .now.advanced(by: .seconds(4))) { _ in !sentVolumes().isEmpty })
            #expect(sentVolumes().allSatisfy { abs($0 + 21.6) < 0.01 }, "\(sentVolumes())")
            #expect(abs(group.volume - 28) < 0.01)
        }
    }
}
