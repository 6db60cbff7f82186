import MediaCore
import Sockets
import Testing

@testable import AirPlay
@testable import AirPlayTransport

@Suite struct SessionScheduleTests {
    private let now = HostInstant(nanoseconds: 10_000_000_000)
    private let never = HostInstant(nanoseconds: .max)

    @Test func nothingIsDueBeforeTheSessionBeginsExceptRequestedUpdates() {
        var schedule = SessionSchedule()
        #expect(schedule.next == never && !schedule.isKeepAliveDue(at: now) && !schedule.isAttentionDue(at: now))
        schedule.setAttention(at: now)
        #expect(schedule.next == now && schedule.isAttentionDue(at: now))
        schedule.setAttention(at: nil)
        #expect(schedule.next == never)
    }

    @Test func addressesAreCheckedFourTimesASecondAndTheSpeakerIsAskedEveryTwo() {
        var schedule = SessionSchedule()
        schedule.begin(at: now)
        #expect(schedule.takesAddressCheck(at: now) == true)
        #expect(schedule.takesAddressCheck(at: now) == false)
        #expect(schedule.next == now.advanced(by: .milliseconds(250)))
        let later = now.advanced(by: .seconds(2))
        #expect(schedule.takesAddressCheck(at: later) == true)
        #expect(schedule.isKeepAliveDue(at: later) && schedule.next == later)
        schedule.deferKeepAlive(at: later)
        #expect(!schedule.isKeepAliveDue(at: later))
        schedule.end()
        #expect(schedule.next == never && !schedule.isKeepAliveDue(at: later.advanced(by: .seconds(9))))
        #expect(schedule.takesAddressCheck(at: later.advanced(by: .seconds(9))) == false)
    }
}

@Suite struct AddressWatchTests {
    private let speaker = NetworkAddress("10.0.0.1")!
    private let here = NetworkAddress("10.0.0.9")!

    private func announced(_ hosts: String...) -> [SpeakerAddress] {
        hosts.map { SpeakerAddress(host: $0, port: 7000) }
    }

    @Test func aSpeakerThatIsAnnouncedElsewhereHasMoved() {
        var watch = AddressWatch()
        #expect(watch.change(remote: speaker, announced: nil, local: nil) == nil)
        #expect(watch.change(remote: speaker, announced: announced("10.0.0.2", "10.0.0.1"), local: nil) == nil)
        let change = watch.change(remote: speaker, announced: announced("10.0.0.2"), local: here)
        #expect(change == "Its address is now 10.0.0.2.")
        #expect(
            watch.change(remote: speaker, announced: nil, local: here)
                == "This computer's address is now 10.0.0.9.")
    }

    @Test func aChangeThatTheSpeakerSurvivedIsReportedAgainOnlyAfterAnother() throws {
        var watch = AddressWatch()
        let change = watch.change(remote: speaker, announced: nil, local: here)
        watch.recordSurvival(of: try #require(change))
        #expect(watch.change(remote: speaker, announced: nil, local: here) == nil)
        #expect(watch.change(remote: speaker, announced: announced("10.0.0.2"), local: here) != nil)
        #expect(watch.change(remote: speaker, announced: nil, local: nil) == nil)
        #expect(watch.change(remote: speaker, announced: nil, local: here) != nil)
    }
}
