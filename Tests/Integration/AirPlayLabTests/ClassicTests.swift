import AirPlay
import AirPlayTransport
import ClassicAirPlay
import MediaCodecs
import MediaCore
import PTP
import SyncRendering
import Testing

@testable import RouteTestSupport

/// Classic AirPlay with shairport-sync in its classic mode.
extension SpeakerLabTests {
    @Suite struct ClassicTests {
        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.classic)
        func theRendererRequestsTheDesiredDepthUntilStopped(route: RouteUnderTest) throws {
            try RouteContract.theRendererRequestsTheDesiredDepthUntilStopped(route)
        }

        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.classic)
        func startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays(route: RouteUnderTest) throws {
            try RouteContract.startsSpeedsAndRemovalsAreHeardWhereTheTimebaseSays(route)
        }

        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.classic)
        func piecesOfManyFormatsAreHeardAsOne(route: RouteUnderTest) throws {
            try RouteContract.piecesOfManyFormatsAreHeardAsOne(route)
        }

        @Test(.timeLimit(.minutes(2)), arguments: RouteUnderTest.classic)
        func whatIsTakenBackIsNotHeardAndWhatFollowsJoins(route: RouteUnderTest) throws {
            try RouteContract.whatIsTakenBackIsNotHeardAndWhatFollowsJoins(route)
        }

        /// One film in a room of AirPlay 2 and in one of classic AirPlay: the same beeps at the same instants.
        @Test(.timeLimit(.minutes(2))) func roomsOfBothVersionsAreInStep() throws {
            let (lab, addresses) = try Lab.freshSpeakers(1, .tight, hasClassic: true)
            let identity = SenderIdentity.random(name: "Talkie test")
            let members: [any AudioOutput] =
                Lab.outputs([addresses[0]]) + [
                    ClassicSpeaker(
                        name: "Classic", address: addresses[1], identity: identity, serving: ServedTimeline())
                ]
            let group = OutputGroup(members: members, name: "both", codecs: FilmAudioCodecs())
            let sound = PlayedSound(group)
            let recordings = try [1, Lab.classicSpeaker].map { try Lab.Recording(lab, seconds: 60, speaker: $0) }
            group.setVolume(100)
            try sound.play(try BeepSource(lab, seconds: 15))
            sound.start.advanced(by: .milliseconds(15_500)).sleep()
            for recording in recordings { try recording.stop() }
            sound.end()
            let heard = try recordings.map { try lab.beeps(in: $0.file) }
            let errors = heard.map { beeps in
                beeps.map { beep -> Double in
                    let since = Double(beep - sound.start.nanoseconds) / 1e9
                    return (since - since.rounded()) * 1000
                }
            }
            let medians = errors.map { $0.sorted()[$0.count / 2] }
            print("classic and AirPlay 2: medians \(medians) ms, \(heard.map(\.count)) beeps")
            #expect(heard.allSatisfy { $0.count >= 14 })
            #expect(medians.allSatisfy { abs($0) < 1.5 * Bounds.factor })
            #expect(abs(medians[0] - medians[1]) < 1 * Bounds.factor)
        }
    }
}
