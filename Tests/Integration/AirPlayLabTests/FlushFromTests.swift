import AirPlay
import AirPlayTransport
import Foundation
import MediaCodecs
import MediaCore
import PTP
import SyncRendering
import Testing

@testable import RouteTestSupport

/// Flushed audio of a playing speaker is not audible, and its replacement joins without a gap.
extension SpeakerLabTests {
    @Suite struct FlushFromTests {
        @Test(
            .timeLimit(.minutes(2)),
            arguments: RouteUnderTest.buffered,
            [Duration.milliseconds(1050), .milliseconds(1500)])
        func whatIsTakenBackIsNotHeardAndWhatFollowsJoins(route: RouteUnderTest, lead: Duration) throws {
            try RouteContract.flushedAudioIsSilentAndReplacementJoins(route, lead: lead)
        }

        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.realtime)
        func onARealtimeStreamToo(route: RouteUnderTest) throws {
            try RouteContract.flushedAudioIsSilentAndReplacementJoins(route)
        }

        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.buffered)
        func tooCloseNothingChangesAndTheLeadIsNamed(route: RouteUnderTest) throws {
            try RouteContract.lateFlushIsRefused(route)
        }

        @Test(.timeLimit(.minutes(2))) func everyMemberOfAGroupLetsGo() throws {
            let (lab, addresses) = try Lab.freshSpeakers(2, .frameByFrame)
            let speakers = Lab.outputs(addresses)
            let group = OutputGroup(members: speakers, name: "both", codecs: FilmAudioCodecs())
            let sound = PlayedSound(group)
            let recordings = try (1...2).map { try Lab.Recording(lab, seconds: 60, speaker: $0) }
            for (tone, seconds) in [(Tone.kept, 0..<4), (.removed, 4..<9)] as [(Tone, Range<Int64>)] {
                for second in seconds {
                    sound.renderer.enqueue(tone.buffer(frames: (second * 48000)..<((second + 1) * 48000)))
                }
            }
            // The receiver's initial volume is low.
            group.setVolume(100)
            try sound.startWhenReady()
            let time = MediaTime(value: 4, timescale: 1)
            sound.start.advanced(by: time.duration - .milliseconds(1300)).sleep()
            let answer = Lock<PartialFlushResult?>(nil)
            let done = Signal()
            let asked = HostInstant.now
            sound.renderer.requestFlush(fromSourceTime: time) { result in
                answer.withLock { $0 = result }
                done.raise()
            }
            try #require(done.wait(until: asked.advanced(by: .seconds(5))), "no answer")
            print("group: answered after \((HostInstant.now - asked).inMilliseconds) ms")
            #expect(answer.withLock { $0 } == .flushed(from: time))
            for second in Int64(4)..<6 {
                sound.renderer.enqueue(Tone.following.buffer(frames: (second * 48000)..<((second + 1) * 48000)))
            }
            sound.renderer.finish()
            sound.start.advanced(by: .milliseconds(6500)).sleep()
            for recording in recordings { try recording.stop() }
            sound.end()
            for (number, recording) in recordings.enumerated() {
                try RouteContract.checkJoint(
                    try OutputCapture(file: recording.file), kept: 4, following: 2, factor: Bounds.factor,
                    "group, member \(number + 1)")
            }
        }
    }
}
