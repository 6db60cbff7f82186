import AirPlay
import Foundation
import MediaCodecs
import MediaCore
import PTP
import SyncRendering
import Testing

/// What is taken back from a speaker that plays is not heard, and what takes its place joins.
extension SpeakerLabTests {
    @Suite struct FlushFromTests {
        private func speaker(_ peer: Peer, _ route: Route = .buffered) -> AirPlaySpeaker {
            let identity = SenderIdentity.random(name: "Talkie test")
            return AirPlaySpeaker(
                name: "Lab",
                configuration: .init(address: SpeakerAddress(host: peer.host, port: peer.port), identity: identity),
                clocks: PTPDirectory(identity: identity.clock), route: route)
        }

        private func enqueue(_ tone: Tone, _ seconds: Range<Int64>, on sound: PlayedSound) {
            for second in seconds {
                sound.renderer.enqueue(tone.buffer(frames: (second * 48000)..<((second + 1) * 48000)))
            }
        }

        /// Waits until so much is left to a film time, and asks to drop what lies behind it; the answer and how long it took.
        private func flush(
            _ sound: PlayedSound, from second: Int64, lead: Duration
        ) throws -> (result: PartialFlushResult, took: Duration) {
            let time = MediaTime(value: second, timescale: 1)
            sound.start.advanced(by: time.duration - lead).sleep()
            let answer = Lock<PartialFlushResult?>(nil)
            let done = Signal()
            let asked = HostInstant.now
            sound.renderer.flush(fromSourceTime: time) { result in
                answer.withLock { $0 = result }
                done.raise()
            }
            try #require(done.wait(until: asked.advanced(by: .seconds(5))), "no answer")
            return (try #require(answer.withLock { $0 }), .now - asked)
        }

        private func check(_ recording: ToneRecording, _ name: String) throws {
            let stretches = recording.stretches(of: Tone.allCases.map(\.rawValue))
            print("\(name): \(stretches)")
            #expect(!stretches.contains { $0.hertz == Tone.removed.rawValue }, "\(stretches)")
            let after = stretches.filter { $0.hertz == Tone.following.rawValue }.reduce(0) { $0 + $1.end - $1.start }
            #expect(after > (Bounds.isTight ? 2.95 : 2.4) && after < 3.05)
            // On a busy machine the receiver itself may lose the first seconds, or stumble.
            guard Bounds.isTight || stretches.count == 2 else { return }
            #expect(stretches.map(\.hertz) == [Tone.kept.rawValue, Tone.following.rawValue], "\(stretches)")
            guard stretches.count == 2 else { return }
            #expect(abs(stretches[1].start - stretches[0].end) < 0.045)
            #expect(stretches[0].end - stretches[0].start < 4.05)
            let error = recording.jointError(stretches[0], stretches[1])
            print("\(name): joint error \(error) samples")
            // The receiver drops and adds single samples while it draws level.
            if Bounds.isTight { #expect(abs(error) < 1.5) }
        }

        @Test(
            .timeLimit(.minutes(2)), arguments: Receiver.allCases,
            [(Route.buffered, 1050), (.buffered, 1500), (.realtime, 750)]
        )
        func whatIsTakenBackIsNotHeardAndWhatFollowsJoins(receiver: Receiver, way: (Route, Int)) throws {
            let (route, lead) = way
            let peer = try Peer(receiver)
            let sound = PlayedSound(speaker(peer, route))
            try peer.record(seconds: 13)
            enqueue(.kept, 0..<4, on: sound)
            enqueue(.removed, 4..<9, on: sound)
            sound.renderer.setGain(0.99)
            try sound.startWhenReady()
            let (result, took) = try flush(sound, from: 4, lead: .milliseconds(lead))
            print("\(receiver), \(route), lead \(lead) ms: \(result) after \(took.inMilliseconds) ms")
            #expect(result == .flushed(from: MediaTime(value: 4, timescale: 1)))
            enqueue(.following, 4..<7, on: sound)
            sound.renderer.finish()
            sound.start.advanced(by: .milliseconds(8200)).sleep()
            sound.end()
            try check(ToneRecording(peer.recorded()), "\(receiver), \(route), lead \(lead) ms")
        }

        @Test(.timeLimit(.minutes(2)), arguments: Receiver.allCases)
        func tooCloseNothingChangesAndTheLeadIsNamed(receiver: Receiver) throws {
            let peer = try Peer(receiver)
            let sound = PlayedSound(speaker(peer))
            try peer.record(seconds: 11)
            enqueue(.kept, 0..<3, on: sound)
            enqueue(.removed, 3..<6, on: sound)
            sound.renderer.finish()
            sound.renderer.setGain(0.99)
            try sound.startWhenReady()
            let (result, took) = try flush(sound, from: 3, lead: .milliseconds(500))
            guard case .refused(let lead?) = result else {
                Issue.record("\(result)")
                return
            }
            #expect(lead <= .milliseconds(1500))
            #expect(took < .milliseconds(300))
            sound.start.advanced(by: .milliseconds(6700)).sleep()
            sound.end()
            let recording = try ToneRecording(peer.recorded())
            let stretches = recording.stretches(of: Tone.allCases.map(\.rawValue))
            #expect(stretches.last?.hertz == Tone.removed.rawValue, "\(stretches)")
            #expect(stretches.filter { $0.hertz == Tone.removed.rawValue }.reduce(0) { $0 + $1.end - $1.start } > 2.4)
            if Bounds.isTight { #expect(stretches.count == 2, "\(stretches)") }
        }

        @Test(.timeLimit(.minutes(2))) func everyMemberOfAGroupLetsGo() throws {
            let (lab, addresses) = try Lab.freshSpeakers(2)
            let identity = SenderIdentity.random(name: "Talkie test")
            let clocks = PTPDirectory(identity: identity.clock)
            let speakers = addresses.map {
                AirPlaySpeaker(
                    name: $0.description, configuration: .init(address: $0, identity: identity), clocks: clocks)
            }
            let group = SpeakerGroup(members: speakers, name: "both", codecs: FilmAudioCodecs())
            let sound = PlayedSound(group)
            let recordings = try (1...2).map { try Lab.Recording(lab, seconds: 14, speaker: $0) }
            enqueue(.kept, 0..<4, on: sound)
            enqueue(.removed, 4..<9, on: sound)
            sound.renderer.setGain(0.99)
            try sound.startWhenReady()
            let (result, took) = try flush(sound, from: 4, lead: .milliseconds(1300))
            print("group: \(result) after \(took.inMilliseconds) ms")
            #expect(result == .flushed(from: MediaTime(value: 4, timescale: 1)))
            enqueue(.following, 4..<7, on: sound)
            sound.renderer.finish()
            for recording in recordings { try recording.wait() }
            sound.end()
            for (number, recording) in recordings.enumerated() {
                try check(try ToneRecording(recording.file), "group, member \(number + 1)")
            }
        }
    }
}
