import MediaCore
import Testing

@testable import SyncRendering
@testable import TalkieTestKit

/// Starts of a group with a speaker whose clock is not synchronized yet.
@Suite struct LateSpeakerTests {
    /// A film on a card and a speaker that needs this long for its clock.
    private static func house(clockIn needed: Duration, startsWithoutLateMembers: Bool) -> VirtualHouse {
        let house = VirtualHouse("card", "kitchen")
        house.group.startsWithoutLateMembers = startsWithoutLateMembers
        let ready = house.clock.now.advanced(by: needed)
        house.outputs[1].clockIsReady = ready
        house.outputs[1].earliestStart = ready.advanced(by: .milliseconds(500))
        return house
    }

    /// Returns the time from the opening of the film to its first sample on the card.
    private static func wait(_ house: VirtualHouse) throws -> Duration {
        let opened = house.clock.now
        house.run(for: .seconds(4))
        let first = try #require(house.heard("card").first)
        #expect(first.frame < 30, "nothing of the film is missing on the card")
        return first.at - opened
    }

    @Test func aFilmStartsOnTheCardWithoutALateSpeaker() throws {
        let house = Self.house(clockIn: .milliseconds(1300), startsWithoutLateMembers: true)
        #expect(try Self.wait(house) < .milliseconds(1200))
        let end = try #require(house.heard("kitchen").last)
        #expect(abs(end.late.inSeconds) < 0.001, "the speaker is in sync once it plays")
    }

    @Test func otherwiseItWaitsForAllOutputs() throws {
        let house = Self.house(clockIn: .milliseconds(1300), startsWithoutLateMembers: false)
        #expect(try Self.wait(house) >= .milliseconds(1790))
    }

    @Test func aSpeakerThatIsReadySoonIsWaitedFor() throws {
        let house = Self.house(clockIn: .milliseconds(400), startsWithoutLateMembers: true)
        #expect(try Self.wait(house) >= .milliseconds(890))
        #expect(try #require(house.heard("kitchen").first).frame < 30)
    }

    @Test func withoutAnOutputThatCanStartNowTheSpeakersClockIsWaitedFor() throws {
        let house = Self.house(clockIn: .milliseconds(1300), startsWithoutLateMembers: true)
        house.outputs[0].clockIsReady = house.outputs[1].clockIsReady
        #expect(try Self.wait(house) >= .milliseconds(1790))
    }
}
