import Foundation
import MediaCore
import Testing

@testable import SyncRendering

@Suite struct NightCompressorTests {
    /// Returns the output level of a steady tone; both levels are peaks in dB.
    private func heard(_ level: Double) -> Double {
        var night = NightCompressor(sampleRate: 48_000)
        night.begin(isOn: true)
        var samples = (0..<96_000).map { Float(pow(10, level / 20) * sin(2 * .pi * 1_000 * Double($0) / 48_000)) }
        samples.withUnsafeMutableBufferPointer {
            night.process($0.baseAddress!, frames: $0.count, channels: 1, isOn: true)
        }
        return 20 * log10(Double(samples[72_000...].map(abs).max() ?? 0))
    }

    @Test func theCurveIsFlatBelowItsThresholdAndAThirdAsSteepAboveIt() {
        #expect(NightCompressor.reduction(at: -60) == 0)
        #expect(abs(NightCompressor.reduction(at: -20) - 8) < 1e-5)
        #expect(abs(NightCompressor.reduction(at: -2) - 20) < 1e-5)
        // The curve has no step and no corner.
        for level in stride(from: Float(-60), to: 0, by: 0.1) {
            let slope = (NightCompressor.reduction(at: level + 0.1) - NightCompressor.reduction(at: level)) / 0.1
            #expect(slope > -0.001 && slope < 0.668)
        }
    }

    @Test func aWhisperIsRaisedAndAnExplosionLowered() {
        #expect(abs(heard(-50) - -38) < 0.3)
        // The detected level of a tone is below its peaks most of the time, so it is treated as slightly quieter.
        #expect(abs(heard(-23) - -17) < 1.5)
        #expect(abs(heard(-3) - -10.3) < 1.5)
    }

    @Test func switchedOffItTouchesNothingAndFadesAway() {
        var night = NightCompressor(sampleRate: 48_000)
        var samples = [Float](repeating: 0.25, count: 48_000)
        let before = samples
        samples.withUnsafeMutableBufferPointer {
            night.process($0.baseAddress!, frames: $0.count, channels: 2, isOn: false)
        }
        #expect(samples == before)
        samples.withUnsafeMutableBufferPointer {
            night.process($0.baseAddress!, frames: 12_000, channels: 2, isOn: true)
            night.process($0.baseAddress! + 24_000, frames: 12_000, channels: 2, isOn: false)
        }
        #expect(samples[23_999] != 0.25)
        #expect(samples[47_999] == 0.25)
        #expect(zip(samples, samples.dropFirst(2)).allSatisfy { abs($0 - $1) < 0.01 })
    }
}
