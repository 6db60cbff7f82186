import MediaCore
import Testing

@testable import ScreenOutput

@Suite struct RefreshEstimatorTests {
    private let origin = HostInstant(nanoseconds: 5_000_000_000_000)
    private let sixty = Duration.nanoseconds(16_666_667)

    /// Returns a reproducible pseudorandom number below `limit` for each step.
    private func scatter(_ step: Int, _ limit: Int64) -> Int64 {
        Int64(truncatingIfNeeded: (UInt64(step) &* 0x9E37_79B9_7F4A_7C15) >> 33) % limit
    }

    @Test func countedFlipsGivePeriodAndPhase() throws {
        var estimator = RefreshEstimator(nominal: sixty)
        let period: Int64 = 16_683_350  // 59.94 Hz
        for step in 0..<40 {
            let number = Int64(step * 12)
            estimator.addFlip(
                number: 1_000_000 + number,
                at: origin.advanced(by: .nanoseconds(number * period + scatter(step, 20_000))))
        }
        let found = try #require(estimator.estimate)
        #expect(abs(found.period.wholeNanoseconds - period) < 50)
        let phase = (found.phase - origin).wholeNanoseconds % period
        #expect(min(phase, period - phase) < 40_000)
    }

    @Test func presentsHeldUpUntilTheFlipProveIt() throws {
        var estimator = RefreshEstimator(nominal: sixty)
        let period: Int64 = 16_670_000
        for step in 0..<30 {
            // Film at 24 frames per second: the phase of the calls varies, that of the returns does not.
            let call = Int64(step) * 41_708_333
            let flip = (call / period + 1) * period
            estimator.addPresent(
                called: origin.advanced(by: .nanoseconds(call)),
                returned: origin.advanced(by: .nanoseconds(flip + scatter(step, 100_000))))
        }
        let found = try #require(estimator.estimate)
        #expect(abs(found.period.wholeNanoseconds - period) < 3_000)
    }

    @Test func aGridOfOurOwnMakingIsNotTakenForARefresh() {
        var estimator = RefreshEstimator(nominal: sixty)
        for step in 0..<60 {
            // Film at 30 on a display that reports 60: every call returns at once, 33.3 ms after the one before.
            let call = origin.advanced(by: .nanoseconds(Int64(step) * 33_333_333 + scatter(step, 200_000)))
            estimator.addPresent(called: call, returned: call.advanced(by: .microseconds(300)))
            #expect(estimator.estimate == nil)
        }
    }

    @Test func presentsThatReturnAtOnceProveNothing() {
        var estimator = RefreshEstimator(nominal: sixty)
        for step in 0..<60 {
            let call = origin.advanced(by: .nanoseconds(Int64(step) * 41_708_333))
            estimator.addPresent(called: call, returned: call.advanced(by: .microseconds(300)))
        }
        #expect(estimator.estimate == nil)
    }

    @Test func aDisplayThatLosesItsRhythmIsNoLongerBelieved() {
        var estimator = RefreshEstimator(nominal: sixty)
        for step in 0..<20 {
            estimator.addFlip(number: Int64(step), at: origin.advanced(by: sixty * step))
        }
        #expect(estimator.estimate != nil)
        var moment = origin.advanced(by: sixty * 20)
        for step in 20..<60 {
            // Variable refresh rate: the display flips when a frame is presented.
            moment = moment.advanced(by: .nanoseconds(12_000_000 + scatter(step, 9_000_000)))
            estimator.addFlip(number: Int64(step), at: moment)
        }
        #expect(estimator.estimate == nil)
    }
}

@Suite struct RunningMedianTests {
    @Test func theMiddleOfTheLatestValues() {
        var median = RunningMedian(window: 5)
        #expect(median.median == nil)
        for value in [9, 1, 8, 2, 7] { median.add(Int64(value)) }
        #expect(median.median == 7)
        // The nine, the one and the eight have left the window.
        for value in [3, 3, 3] { median.add(Int64(value)) }
        #expect(median.median == 3)
    }
}
