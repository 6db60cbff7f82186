import MediaCore
import Testing

@testable import MediaCodecs

@Suite struct FrameTimesTests {
    /// Ticks of 1/1000 s at 25 frames per second.
    var times = FrameTimes(timescale: 1000, frameRate: Ratio(25, 1))

    @Test mutating func rightStampsStayAsTheyAre() {
        for number in 0..<5 {
            let place = times.assign(Int64(number) * 41, length: 41)
            #expect(place.start == Int64(number) * 41 && place.length == 41)
        }
        #expect(times.repairs == 0)
    }

    @Test mutating func missingStampsFollowOn() {
        #expect(times.assign(100, length: 0).start == 100)
        #expect(times.assign(nil, length: 0).start == 140)
        #expect(times.assign(nil, length: 0).start == 180)
        #expect(times.assign(220, length: 0).start == 220)
        #expect(times.repairs == 2)
    }

    @Test mutating func aStampGivenTwiceDoesNotPushTheNextOnes() {
        #expect(times.assign(0, length: 40).start == 0)
        let repaired = times.assign(0, length: 40).start
        #expect(repaired > 0 && repaired < 40)
        #expect(times.assign(40, length: 40).start == 40)
    }

    @Test mutating func stampsThatRunFarBackAreBelieved() {
        _ = times.assign(100_000, length: 40)
        #expect(times.assign(50_000, length: 40).start == 50_000)
        #expect(times.assign(50_040, length: 40).start == 50_040)
    }

    @Test mutating func afterAJumpNothingFollowsOn() {
        _ = times.assign(100_000, length: 40)
        times.reset()
        #expect(times.assign(99_990, length: 40).start == 99_990)
        #expect(times.repairs == 0)
    }

    @Test func withoutARateTheStepBeforeIsTheLength() {
        var times = FrameTimes(timescale: 1000, frameRate: nil)
        _ = times.assign(0, length: 0)
        #expect(times.assign(50, length: 0).length == 50)
        #expect(times.assign(110, length: 0).length == 60)
        #expect(times.assign(nil, length: 0).start == 170)
    }

    @Test mutating func repeatedFieldsLengthenAPicture() {
        #expect(times.assign(0, length: 0, extraFields: 1).length == 60)
        #expect(times.assign(nil, length: 0).start == 60)
    }

    @Test mutating func nonsenseLengthsAreReplaced() {
        #expect(times.assign(0, length: .max).length == 40)
        #expect(times.assign(40, length: -5).length == 40)
    }

    @Test(arguments: [Int32(1), 1000, 1_000_000_000, .max])
    func stampsThatJumpFromOneEndToTheOtherDoNotTrap(_ timescale: Int32) {
        let extremes: [Int64?] = [
            6_000_000_000_000_000_000, 0, .max, .min, 1 << 62, -(1 << 62), nil, .max, nil, 0, .min + 1,
        ]
        for rate in [nil, Ratio(25, 1), Ratio(1, 5)] {
            var times = FrameTimes(timescale: timescale, frameRate: rate)
            for stamp in extremes + extremes.reversed() {
                for length in [0, 1, .max, .min] as [Int64] {
                    let place = times.assign(stamp, length: length, extraFields: 4)
                    #expect(place.length > 0 && place.start.magnitude < 1 << 63 - 1)
                }
            }
        }
    }
}
