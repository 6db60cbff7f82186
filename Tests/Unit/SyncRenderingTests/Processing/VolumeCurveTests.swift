import Foundation
import Testing

@testable import SyncRendering

@Suite struct VolumeCurveTests {
    @Test func aHundredIsUnchangedAndBelowItAStepIsThreeTenthsOfADecibel() {
        #expect(VolumeCurve.gain(volume: 100) == 1)
        #expect(abs((VolumeCurve.decibels(volume: 99) ?? 0) + 0.3) < 1e-9)
        #expect(VolumeCurve.gain(volume: 0) == 0)
    }

    @Test func aboveAHundredItIsTheThirdPowerUpTo130() {
        #expect(abs(VolumeCurve.gain(volume: 110) - 1.331) < 1e-5)
        #expect(abs(VolumeCurve.gain(volume: 130) - 2.197) < 1e-5)
        #expect(VolumeCurve.gain(volume: 500) == VolumeCurve.gain(volume: 130))
    }

    @Test func aSpeakersOwnVolumeIsNeverReadAsMoreThan100() {
        #expect(VolumeCurve.volume(decibels: 6) == 100)
    }
}
