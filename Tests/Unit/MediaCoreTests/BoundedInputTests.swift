import MediaCore
import Testing

@Suite struct BoundedInputTests {
    static let extremes: [Int64] = [1 << 62, -(1 << 62), .max, .min, .min + 1]

    @Test(arguments: extremes) func integersBeyondTheLimitsAreMissing(_ value: Int64) {
        #expect(value.boundedTicks == nil)
        #expect(value.boundedBytes == nil)
        for timescale: Int32 in [1, 1000, 90_000] {
            #expect(MediaTime(boundedTicks: value, timescale: timescale) == nil)
        }
        #expect(MediaTime(boundedTicks: value, numerator: .max, timescale: .max) == nil)
        #expect(MediaTime(value: value, timescale: 1).bounded == nil)
        #expect(Int64(boundedBytes: "\(value)") == nil)
        #expect(Range(firstByte: value, count: 1) == nil && Range(firstByte: 1, count: value) == nil)
        #expect(Range(firstByte: 0, lastByte: value) == nil && Range(firstByte: value, lastByte: value) == nil)
    }

    @Test func whatIsJustWithinTheLimitsStays() {
        let ticks = InputLimit.maxTicks
        #expect(ticks.boundedTicks == ticks && (-ticks).boundedTicks == -ticks)
        #expect(ticks.subtractingReportingOverflow(-ticks).overflow == false)
        let tenYears = InputLimit.maxSeconds
        #expect(MediaTime(boundedTicks: tenYears * 90_000, timescale: 90_000)?.seconds == Double(tenYears))
        #expect(MediaTime(boundedTicks: tenYears * 90_000 + 1, timescale: 90_000) == nil)
        #expect(MediaTime(boundedTicks: -tenYears, timescale: 1) == MediaTime(value: -tenYears, timescale: 1))
        #expect(Range(firstByte: 5, count: 3) == 5..<8 && Range(firstByte: 5, lastByte: 7) == 5..<8)
        #expect(Range(firstByte: 5, lastByte: 4) == nil && Range(firstByte: InputLimit.maxBytes, count: 1) == nil)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, 1e30, -1e30, 9.3e18, -9.3e18])
    func numbersThatNoIntegerHoldsAreMissing(_ value: Double) {
        #expect(MediaTime(boundedSeconds: value) == nil)
        #expect(Int64(bounded: value, in: .min ... .max) == nil)
        #expect(Int(bounded: value, in: 0...10) == nil)
        #expect(Int(clamping: value, in: 2...10) == (value > 0 ? 10 : 2))
        #expect(Int64(clamping: value, in: .min ... .max) == (value > 0 ? .max : .min))
    }

    @Test func otherNumbersKeepTheirIntegerPart() {
        #expect(Int64(bounded: 2.9, in: 0...3) == 2 && Int64(bounded: -0.9, in: 0...3) == 0)
        #expect(Int64(bounded: 4, in: 0...3) == nil)
        #expect(Int(clamping: 2.6, in: 0...10) == 3 && Int(clamping: 99, in: 0...10) == 10)
        #expect(MediaTime(boundedSeconds: 1.5) == MediaTime(value: 3, timescale: 2))
    }

    @Test func aTimeBaseThatIsNotPositiveHasNoTimes() {
        #expect(MediaTime(boundedTicks: 1, numerator: 0, timescale: 1) == nil)
        #expect(MediaTime(boundedTicks: 1, numerator: 1, timescale: -1) == nil)
    }
}
