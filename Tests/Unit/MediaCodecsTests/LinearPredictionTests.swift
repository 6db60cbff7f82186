import Foundation
import Testing

@testable import MediaCodecs

@Suite struct LinearPredictionTests {
    private func extended(_ samples: [Float], reversed: Bool = false, by count: Int = 64) -> [Float] {
        var prediction = LinearPrediction()
        var result = [Float](repeating: .nan, count: count)
        samples.withUnsafeBufferPointer { source in
            result.withUnsafeMutableBufferPointer {
                prediction.extend(
                    source.baseAddress!, frames: samples.count, channels: 1, isReversed: reversed, by: count,
                    into: $0.baseAddress!)
            }
        }
        return result
    }

    private func chord(_ frame: Int) -> Float {
        Float(0.3 * sin(0.13 * Double(frame)) + 0.2 * cos(0.71 * Double(frame) + 1) + 0.1 * sin(1.9 * Double(frame)))
    }

    @Test func aChordIsExtrapolatedInBothDirections() {
        let samples = (0..<600).map(chord)
        let worst = zip(extended(samples), (600..<664).map(chord)).map { abs($0 - $1) }.max() ?? 1
        #expect(worst < 0.01)
        let before = zip(extended(samples, reversed: true), (-64..<0).map(chord)).map { abs($0 - $1) }.max() ?? 1
        #expect(before < 0.01)
    }

    @Test func whatCannotBePredictedStaysBounded() {
        var state: UInt32 = 7
        let noise = (0..<512).map { _ -> Float in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Float(Int32(bitPattern: state)) / Float(Int32.max)
        }
        #expect(extended(noise, by: 2000).allSatisfy { abs($0) < 2 })
    }

    @Test(arguments: [1, 2, 3, 5, 512]) func silenceAndShortStretchesStayQuiet(_ count: Int) {
        #expect(extended([Float](repeating: 0, count: count)).allSatisfy { $0 == 0 })
        #expect(extended((0..<count).map { _ in 0.5 }).allSatisfy { $0.isFinite && abs($0) < 1 })
    }

    @Test func brokenSamplesBreakNothing() {
        let broken: [Float] = [.nan, .infinity, -.infinity, 1e30, 0] + [Float](repeating: 0.1, count: 100)
        #expect(extended(broken).allSatisfy { $0.isFinite })
    }
}
