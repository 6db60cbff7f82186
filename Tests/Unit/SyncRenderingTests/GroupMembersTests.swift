import MediaCore
import TalkieTestKit
import Testing

@testable import SyncRendering

@Suite struct GroupMembersTests {
    private let first = RecordingOutput()
    private let other = RecordingOutput()

    @Test func aNumberStaysWithAnOutputThatHasLeft() {
        var members = GroupMembers([first])
        members.outputs = [other]
        #expect(members.number(of: other) == 1, "a member has a number before its first use")
        let (number, again) = (members.assignNumber(to: other), members.assignNumber(to: other))
        #expect(number == 1 && again == 1 && members.number(of: first) == 0)
        #expect(members.output(number: 0) === first && members.output(number: 1) === other)
        #expect(members.output(number: 2) == nil && members.output(number: -1) == nil)
    }

    @Test func volumesAreThoseOfNumberedOutputs() {
        var members = GroupMembers([first])
        #expect(members.volumeMember(other).number == nil)
        members.outputs = [first, other]
        #expect(members.volumeMembers.map(\.number) == [0, 1])
    }

    @Test func theChannelsOfAnOutputAreKeptUntilItJoins() {
        var members = GroupMembers([first])
        #expect(members.channels(of: first) == .whole && members.channels(of: other) == .whole)
        #expect(members.setChannels(.left, of: other) == nil, "it has no feed yet")
        members.outputs = [first, other]
        #expect(members.channels(of: other) == .left && members.channels(of: first) == .whole)
    }

    @Test func theLargestAdvanceIsAddedToTheLeads() {
        var members = GroupMembers([first])
        let lead = members.latency.startLead
        _ = members.setDelay(.milliseconds(80), of: first)
        #expect(members.latency.startLead == lead && members.delay(of: first) == .milliseconds(80))
        _ = members.setDelay(.milliseconds(-100), of: other)
        #expect(members.latency.startLead == lead + .milliseconds(100), "the other one may join")
        #expect(members.delay(of: other) == .milliseconds(-100))
        members.outputs = [other]
        #expect(members.latency.startLead == lead + .milliseconds(100))
        members.outputs = [first]
        #expect(members.latency.startLead == lead, "the other one has left")
        _ = members.setDelay(.milliseconds(-100), of: other)
        #expect(members.latency.startLead == lead + .milliseconds(100), "it may join again")
    }

    @Test func withoutAnOpenMemberTheGroupIsFilledWithWhatItReceived() {
        let members = GroupMembers([first])
        #expect(members.acceptedUntil(fedUntil: second(3)) == second(3))
        #expect(members.isDrained && members.feeds.isEmpty)
    }
}
