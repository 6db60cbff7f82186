import MediaCore
import Testing

@testable import MediaCodecs

@Suite struct AudioTimelineTests {
    static let frames = 1024
    var line = AudioTimeline(start: .zero, rate: 48000)

    /// Counts one packet whose timestamp is off by a number of milliseconds.
    private mutating func next(off milliseconds: Double) -> AudioTimeline.Verdict {
        let verdict = line.check(line.end + MediaTime(seconds: milliseconds / 1000))
        line.count(Self.frames)
        return verdict
    }

    @Test mutating func roundedStampsAreIgnored() {
        for number in 0..<1000 { #expect(next(off: number % 2 == 0 ? 0.5 : -0.5) == .joins) }
        #expect(line.end == MediaTime(value: 1_024_000, timescale: 48000))
    }

    @Test mutating func jitterAroundTheCountIsIgnored() {
        for number in 0..<1000 { #expect(next(off: number % 2 == 0 ? 24 : -24) == .joins) }
    }

    @Test mutating func aHoleIsFilled() {
        _ = next(off: 0)
        #expect(next(off: 500) == .gap(24000))
    }

    @Test mutating func doubleMaterialIsDropped() {
        _ = next(off: 0)
        #expect(next(off: -100) == .overlap(4800))
    }

    @Test mutating func anOffsetOfSecondsIsAJump() {
        _ = next(off: 0)
        #expect(next(off: 3000) == .jump)
        #expect(next(off: -3000) == .jump)
    }

    /// A sender whose sample rate is slightly lower than stated: the sample count runs ahead and is corrected.
    @Test mutating func stampsThatKeepDisagreeingAreBelieved() {
        var corrections: [AudioTimeline.Verdict] = []
        for _ in 0..<8 {
            let verdict = next(off: 5)
            if verdict != .joins { corrections.append(verdict) }
        }
        #expect(corrections == [.gap(240)])
    }

    @Test mutating func soundWithoutStampsFollowsOn() {
        line.count(48000)
        #expect(line.check(nil) == .joins)
        #expect(line.end == MediaTime(value: 1, timescale: 1))
    }
}
