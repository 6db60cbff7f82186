import MediaCore
import Testing

@testable import Playback

@Suite struct TimeShiftTests {
    @Test func timesOfOneScaleStayOfOneScaleAndAreExact() {
        let shift = TimeShift(MediaTime(value: 1001 * 240, timescale: 24_000))
        let moved = (0..<1000).map { shift.moved(MediaTime(value: Int64($0) * 1024, timescale: 44_100)) }
        #expect(Set(moved.map(\.timescale)).count == 1)
        for (index, time) in moved.enumerated() {
            #expect(
                time == MediaTime(value: Int64(index) * 1024, timescale: 44_100)
                    + MediaTime(value: 1001, timescale: 100))
        }
    }

    @Test func whatCannotBeSaidExactlyIsRoundedOnceAndInOneScale() {
        let shift = TimeShift(MediaTime(value: 999_999_937, timescale: 2_147_483_647))
        let moved = (0..<100).map { shift.moved(MediaTime(value: Int64($0), timescale: 44_100)) }
        #expect(Set(moved.map(\.timescale)) == [1_000_000_000])
        #expect(abs(moved[99].seconds - 99.0 / 44_100 - 999_999_937.0 / 2_147_483_647) < 1e-9)
    }

    @Test func damagedTimesDoNotTrap() {
        let shift = TimeShift(MediaTime(value: .max, timescale: 3))
        _ = shift.moved(MediaTime(value: .max, timescale: 7))
        _ = shift.moved(MediaTime(value: .min, timescale: 2_147_483_647))
        #expect(MediaTime(value: .min, timescale: 6).reduced.timescale > 0)
        #expect(MediaTime(value: 48_000, timescale: 96_000).reduced.timescale == 2)
    }
}
