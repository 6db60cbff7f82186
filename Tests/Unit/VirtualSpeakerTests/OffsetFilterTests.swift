import MediaCore
import Testing

@testable import VirtualSpeaker

@Suite struct OffsetFilterTests {
    private func filter(after observations: [(origin: Int64, arrival: Int64)]) -> OffsetFilter {
        var filter = OffsetFilter()
        for seen in observations {
            filter.observe(
                origin: PTPInstant(nanoseconds: seen.origin), arrival: SpeakerInstant(nanoseconds: seen.arrival))
        }
        return filter
    }

    @Test func aQuickerMessageIsBelievedAtOnceWhileSettling() {
        let settled = filter(after: [(1_000_000_000, 900_000), (1_125_000_000, 125_100_000)])
        #expect(settled.offset == 999_900_000)
    }

    @Test func aSlowMessageIsIgnoredWhileSettling() {
        let settled = filter(after: [(1_000_000_000, 100_000), (1_125_000_000, 155_100_000)])
        #expect(settled.offset == 999_900_000)
    }

    @Test func afterSettlingASlowMessageCountsForLittle() {
        let second: Int64 = 1_000_000_000
        let settled = filter(after: [(0, 0), (2 * second, 2 * second + 30_000_000)])
        // 30 ms late is limited to 2.5 ms, of which one part in 256 is applied.
        #expect(settled.offset == -2_500_000 / 256)
    }

    @Test func soundCanBePlacedFourTenthsOfASecondAfterTheFirstMessage() {
        let seen = filter(after: [(0, 0)])
        #expect(!seen.isLocked(at: SpeakerInstant(nanoseconds: 399_999_999)))
        #expect(seen.isLocked(at: SpeakerInstant(nanoseconds: 400_000_000)))
    }
}
