import Testing

@testable import MediaCore

@Suite struct MediaTimeTests {
    @Test func aHundredThousandFrameDurationsAddUpExactly() {
        let frame = MediaTime(value: 1001, timescale: 24000)
        var sum = MediaTime.zero
        for _ in 0..<100_000 { sum += frame }
        #expect(sum == frame * 100_000)
        #expect(sum == MediaTime(value: 100_100_000, timescale: 24000))
    }

    @Test func timesOfDifferentTimescalesCompareAndHashByTheirInstant() {
        let a = MediaTime(value: 1, timescale: 3)
        let b = MediaTime(value: 30000, timescale: 90000)
        #expect(a == b)
        #expect(Set([a, b]).count == 1)
        #expect(MediaTime(value: 33333, timescale: 100_000) < a)
    }

    @Test func secondsAreTakenAtThePreferredTimescale() {
        let time = MediaTime(seconds: 1.5, preferredTimescale: 600)
        #expect(time.value == 900 && time.timescale == 600)
        #expect(MediaTime(seconds: 0.0999, preferredTimescale: 10).value == 1)
        #expect(MediaTime(seconds: .nan, preferredTimescale: 600).value == 0)
        #expect(MediaTime(seconds: .infinity, preferredTimescale: 600).value == .max)
        #expect(MediaTime(seconds: -.infinity, preferredTimescale: 600).value == .min)
        #expect(MediaTime(seconds: 2, preferredTimescale: 0).timescale == 1)
    }

    @Test func absurdTimesFromAFileSaturateInsteadOfTrapping() {
        let huge = MediaTime(value: .max, timescale: 1)
        #expect((huge + huge).value == .max)
        #expect((-MediaTime(value: .min, timescale: 1)).value == .max)
        #expect((huge * .max).nanoseconds == .max)
        #expect((huge + MediaTime(value: 1, timescale: 3)).nanoseconds == .max)
        #expect(MediaTime(value: 5, timescale: 0).timescale == 1)
        #expect(MediaTime(seconds: .nan) == .zero)
        #expect(MediaTime(seconds: -.infinity).value == .min)
    }

    @Test func arithmeticOf64BitsEqualsThatOf128() {
        let values: [Int64] = [0, 1, -1, 3, -1001, 1 << 31, -(1 << 40) + 7, 1 << 53, 1 << 62, .max, .min]
        let scales: [Int32] = [1, 2, 3, 7919, 24000, 44100, 48000, 1_000_000_000, 2_000_000_000, .max]
        let times = values.flatMap { value in scales.map { MediaTime(value: value, timescale: $0) } }
        var wrong: [(MediaTime, MediaTime)] = []
        for left in times {
            for right in times where left.timescale != right.timescale {
                let first = Int128(left.value) * Int128(right.timescale)
                let second = Int128(right.value) * Int128(left.timescale)
                let due = MediaTime.normalized(
                    numerator: first + second, denominator: Int128(left.timescale) * Int128(right.timescale))
                let sum = left + right
                let rescaled = MediaTime.dividedRounding(first, by: Int128(left.timescale))
                let product = MediaTime.normalized(
                    numerator: Int128(left.value) * Int128(right.value), denominator: Int128(left.timescale))
                let isRight =
                    sum.value == due.value && sum.timescale == due.timescale && left * right.value == product
                    && (left < right) == (first < second) && (left == right) == (first == second)
                    && left.rescaled(to: right.timescale) == rescaled
                if !isRight { wrong.append((left, right)) }
            }
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(3))")
    }

    @Test(arguments: [(1, 3, 333_333_333), (2, 3, 666_666_667), (-2, 3, -666_666_667), (1001, 24000, 41_708_333)])
    func nanosecondsAreRoundedToTheNearest(value: Int64, timescale: Int32, nanoseconds: Int64) {
        #expect(MediaTime(value: value, timescale: timescale).nanoseconds == nanoseconds)
    }

    @Test func descriptionShowsMillisecondsWithTheirSign() {
        #expect(MediaTime(value: -1001, timescale: 24000).description == "-0.042 s")
        #expect(MediaTime(value: 3723, timescale: 1).description == "3723.000 s")
    }
}

@Suite struct ClockTests {
    @Test func momentsBeyondEveryClockSaturateInsteadOfTrapping() {
        let last = HostInstant(nanoseconds: .max)
        let first = HostInstant(nanoseconds: .min)
        #expect(last.advanced(by: .seconds(1)) == last)
        #expect(first.advanced(by: .zero - .seconds(1)) == first)
        #expect(last - first == .nanoseconds(Int64.max))
        #expect(last.duration(to: first) == .nanoseconds(Int64.min))
        #expect(DeviceFrame(.max).advanced(byFrames: 1) == DeviceFrame(.max))
        #expect(DeviceFrame(.min).distance(to: DeviceFrame(.max)) == .max)
        let line = ClockMapping(
            sourceAnchor: HostInstant(nanoseconds: 0), targetAnchor: PTPInstant(nanoseconds: 0), rateOffset: 20e-6)
        #expect(line.target(at: HostInstant(nanoseconds: .max)) == PTPInstant(nanoseconds: .max))
        #expect(line.source(at: PTPInstant(nanoseconds: .min)) < HostInstant(nanoseconds: 0))
        #expect(line.source(at: PTPInstant(nanoseconds: .max)) > HostInstant(nanoseconds: 0))
    }

    @Test(arguments: [1.5, -1, 1e30, -1e30, .infinity, .nan]) func rateThatNoClockHasDoesNotTrap(_ rateOffset: Double) {
        let line = ClockMapping(
            sourceAnchor: HostInstant(nanoseconds: 0), targetAnchor: PTPInstant(nanoseconds: 0), rateOffset: rateOffset)
        for nanoseconds in [Int64.min, 0, .max] {
            _ = line.target(at: HostInstant(nanoseconds: nanoseconds))
            _ = line.source(at: PTPInstant(nanoseconds: nanoseconds))
        }
    }

    @Test func rtpTimestampsCompareByDistanceAcrossTheWrap() {
        let late = RTPTimestamp(rawValue: 5)
        let early = RTPTimestamp(rawValue: .max - 4)
        #expect(early.distance(to: late) == 10)
        #expect(late.distance(to: early) == -10)
        #expect(early.advanced(byFrames: 10) == late)
    }

    @Test func aMappingGoesThereAndBackWithinANanosecond() {
        let mapping = ClockMapping(
            sourceAnchor: HostInstant(nanoseconds: 1_000), targetAnchor: PTPInstant(nanoseconds: 77_000_000_000),
            rateOffset: 50e-6)
        let later = HostInstant(nanoseconds: 1_000 + 7_200_000_000_000)
        let target = mapping.target(at: later)
        #expect(target.nanoseconds == 77_000_000_000 + 7_200_000_000_000 + 360_000_000)
        #expect(abs(mapping.source(at: target).nanoseconds - later.nanoseconds) <= 1)
    }
}
