import Foundation
import MediaCore
import Testing

@testable import SyncRendering

@Suite struct PeakLimiterTests {
    private let format = PCMFormat(sampleRate: 48_000, layout: .stereo)

    /// Returns the output without the limiter's delay, processed in blocks of odd sizes.
    private func limited(_ samples: [Float], isLimiting: Bool = true) -> [Float] {
        let limiter = PeakLimiter(format: format)
        var all: [Float] = []
        for sample in samples + [Float](repeating: 0, count: limiter.delay) {
            all.append(sample)
            all.append(sample * 0.5)
        }
        var place = 0
        all.withUnsafeMutableBufferPointer { buffer in
            while place < buffer.count / 2 {
                let count = min(buffer.count / 2 - place, 777)
                limiter.process(buffer.baseAddress! + place * 2, frames: count, isLimiting: isLimiting)
                place += count
            }
        }
        return (limiter.delay..<limiter.delay + samples.count).map { all[2 * $0] }
    }

    private func noise(_ count: Int, level: Float) -> [Float] {
        var state: UInt64 = 88_172_645_463_325_252
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return level * (Float(state % 2_000_001) / 1_000_000 - 1)
        }
    }

    @Test func whatStaysBelowTheCeilingComesOutBitForBit() {
        let quiet = noise(20_000, level: 0.2)
        let isSame = limited(quiet) == quiet
        #expect(isSame)
    }

    @Test func switchedOffItTouchesNothing() {
        let loud = noise(20_000, level: 4)
        let isSame = limited(loud, isLimiting: false) == loud
        #expect(isSame)
    }

    @Test(arguments: [997.0, 11_025, 12_000, 17_003]) func truePeaksStayBelowFullScale(frequency: Double) {
        let loud = (0..<48_000).map { Float(2.2 * sin(2 * .pi * frequency * Double($0) / 48_000 + 0.7)) }
        #expect(TruePeakMeasure.highest(loud) > 2)
        #expect(TruePeakMeasure.highest(limited(loud)) <= 1)
    }

    @Test func truePeaksOfNoiseAndClicksStayBelowFullScale() {
        // Attenuates frequencies near half the sample rate, which a converter does not pass.
        let white = noise(96_000, level: 4)
        var loud = zip(white, white.dropFirst()).map { ($0 + $1) / 2 }
        for place in stride(from: 10_000, to: 90_000, by: 7_919) { loud[place] = 6 }
        #expect(TruePeakMeasure.highest(limited(loud)) <= 1)
    }

    @Test func aToneIsTurnedDownToTheCeilingAndNoFurther() {
        let loud = (0..<96_000).map { Float(2 * sin(2 * .pi * 997 * Double($0) / 48_000)) }
        let highest = limited(loud)[48_000...].map(abs).max() ?? 0
        #expect(highest <= PeakLimiter.ceiling && highest > PeakLimiter.ceiling * 0.97)
    }

    @Test func afterAPeakItLetsGoCompletely() {
        var sound = noise(480_000, level: 0.2)
        sound[1_000] = 5
        let heard = limited(sound)
        #expect(abs(heard[1_000]) <= PeakLimiter.ceiling)
        let isSame = heard[300_000...].elementsEqual(sound[300_000...])
        #expect(isSame)
    }
}

/// True peak measurement by fourfold oversampling, with a filter that is longer than the limiter's.
enum TruePeakMeasure {
    static func highest(_ samples: [Float]) -> Float {
        let reach = 32
        var highest: Float = samples.map(abs).max() ?? 0
        for phase in 1...3 {
            let place = Double(phase) / 4
            let weights = (1 - reach...reach).map { tap -> Float in
                let away = place - Double(tap)
                let window = 0.5 + 0.5 * cos(.pi * away / Double(reach + 1))
                return Float(sin(.pi * away) / (.pi * away) * window)
            }
            samples.withUnsafeBufferPointer { samples in
                weights.withUnsafeBufferPointer { weights in
                    for frame in reach..<max(reach, samples.count - reach) {
                        // A loop without an iterator: it runs per tap, and debug builds do not inline it.
                        var (sum, tap): (Float, Int) = (0, 0)
                        while tap < weights.count {
                            sum += samples[frame + 1 - reach + tap] * weights[tap]
                            tap += 1
                        }
                        highest = max(highest, abs(sum))
                    }
                }
            }
        }
        return highest
    }
}
