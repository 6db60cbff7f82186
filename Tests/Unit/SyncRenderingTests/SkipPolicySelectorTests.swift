import MediaCore
import Testing

@testable import SyncRendering

@Suite struct SkipPolicySelectorTests {
    private func time(_ seconds: Double) -> MediaTime { MediaTime(seconds: seconds) }

    /// Returns the advice for frames with these end times, each late by a number of seconds.
    private func advice(_ policy: inout SkipPolicySelector, _ ends: [Double], late: Double) -> [SkipPolicySelector
        .Advice]
    {
        ends.map { policy.advice(end: time($0), now: time($0 + late)) }.filter { $0 != .same }
    }

    @Test func aDozenLatePicturesCostOneStep() {
        var policy = SkipPolicySelector()
        #expect(advice(&policy, (0..<11).map { Double($0) / 24 }, late: 0.1).isEmpty)
        #expect(advice(&policy, (11..<24).map { Double($0) / 24 }, late: 0.1) == [.less, .less])
    }

    /// Returns the advice of each frame after a stall of two seconds, with a decoder of a speed against playback, until
    /// its frames are in time.
    private func adviceAfterStall(speed: Double) -> [SkipPolicySelector.Advice] {
        var policy = SkipPolicySelector()
        var given: [SkipPolicySelector.Advice] = []
        for frame in 0..<2400 {
            let end = Double(frame + 1) / 24
            let now = 2 + Double(frame) / 24 / speed
            given.append(policy.advice(end: time(end), now: time(now)))
            if end > now { break }
        }
        return given
    }

    @Test(arguments: [2.5, 4, 20]) func aFilmThatStalledIsDecodedWholeIfTheDecoderCatchesUp(speed: Double) {
        #expect(adviceAfterStall(speed: speed).allSatisfy { $0 == .same })
    }

    @Test func aDecoderThatCatchesUpTooSlowlySkips() {
        #expect(adviceAfterStall(speed: 1.2).contains(.less))
    }

    @Test func aFilmThatStumbledIsWholeAgainAfterSecondsEvenFromKeyPicturesAlone() {
        var policy = SkipPolicySelector()
        _ = advice(&policy, (0..<36).map { Double($0) / 24 }, late: 1)
        // One frame in two seconds.
        #expect(advice(&policy, stride(from: 2, through: 14, by: 2).map { $0 }, late: -0.1) == [.more, .more, .more])
    }

    @Test func skippedFramesAreCountedByTheirDuration() {
        let length = MediaTime(value: 1, timescale: 25)
        #expect(SkipPolicySelector.missing(from: time(1), to: time(2), each: length) == 25)
        #expect(SkipPolicySelector.missing(from: time(2), to: time(1), each: length) == 0)
        #expect(SkipPolicySelector.missing(from: time(1), to: time(2), each: .zero) == 0)
        for far in [1 << 62, Int64.max] {
            let (begin, end) = (MediaTime(value: -far, timescale: 1), MediaTime(value: far, timescale: 1))
            #expect(SkipPolicySelector.missing(from: begin, to: end, each: MediaTime(nanoseconds: 1)) == 1 << 40)
            #expect(SkipPolicySelector.missing(from: end, to: begin, each: MediaTime(nanoseconds: 1)) == 0)
        }
    }

    @Test func picturesThatComeLateNowAndThenChangeNothing() {
        var policy = SkipPolicySelector()
        for second in stride(from: 0.0, to: 60, by: 3) {
            #expect(advice(&policy, [second, second + 1], late: -0.1).isEmpty)
            #expect(advice(&policy, [second + 2], late: 0.1).isEmpty)
        }
    }

    @Test func onlyFilmWithMorePicturesASecondThanScreensShowIsHurried() {
        func picture(_ rate: Int32) -> MediaTime { MediaTime(value: 1, timescale: rate) }
        #expect(SkipPolicySelector.isHurried(picture(60), at: 4) && SkipPolicySelector.isHurried(picture(50), at: 3))
        #expect(!SkipPolicySelector.isHurried(picture(24), at: 4) && !SkipPolicySelector.isHurried(picture(60), at: 2))
        #expect(!SkipPolicySelector.isHurried(MediaTime(value: 17, timescale: 1000), at: 2))
        #expect(!SkipPolicySelector.isHurried(picture(60), at: 0) && !SkipPolicySelector.isHurried(.zero, at: 4))
    }
}
