import Foundation
import MediaCore
import Testing

@testable import SyncRendering

@Suite struct LoudnessTests {
    /// The format of tests whose result does not depend on the rate.
    private let format = PCMFormat(sampleRate: 16_000, layout: .stereo)

    /// Returns a tone of 1 kHz on each channel; each part has a duration and the peak levels of the channels in dB, in
    /// the format's order.
    private func tone(_ parts: [(seconds: Int, levels: [Double])], _ format: PCMFormat) -> [Float] {
        var samples: [Float] = []
        for part in parts {
            let peaks = part.levels.map { pow(10, $0 / 20) }
            // At each rate, a second has a whole number of periods.
            var second: [Float] = []
            for frame in 0..<format.sampleRate {
                let wave = sin(2 * .pi * 1000 * Double(frame) / Double(format.sampleRate))
                for peak in peaks { second.append(Float(peak * wave)) }
            }
            for _ in 0..<part.seconds { samples += second }
        }
        return samples
    }

    private func measured(_ samples: [Float], _ format: PCMFormat) -> Double? {
        var meter = LoudnessMeter()
        meter.prepare(format)
        _ = samples.withUnsafeBufferPointer {
            meter.measure($0.baseAddress!, frames: samples.count / format.channels)
        }
        return meter.integrated
    }

    /// ITU-R BS.1770-4, annex 1, tables 1 and 2.
    @Test func theFiltersAreThoseOfTheStandard() {
        let (shelf, lowCut) = LoudnessMeter.ear(at: 48_000)
        let stated = [1.53512485958697, -2.69169618940638, 1.19839281085285, -1.69065929318241, 0.73248077421585]
        let ours = [shelf.b.0, shelf.b.1, shelf.b.2, shelf.a.0, shelf.a.1]
        for (one, other) in zip(ours, stated) { #expect(abs(one - other) < 1e-8) }
        #expect(abs(lowCut.a.0 - -1.99004745483398) < 1e-8 && abs(lowCut.a.1 - 0.99007225036621) < 1e-8)
    }

    /// EBU Tech 3341, table 1, case 1: the tolerance is 0.1 LU. The filters depend on the rate, the gates do not.
    @Test(arguments: [44_100, 48_000, 96_000]) func aToneMeasuresAsTheStandardSaysAtEachRate(_ rate: Int) throws {
        let format = PCMFormat(sampleRate: rate, layout: .stereo)
        #expect(abs(try #require(measured(tone([(20, [-23, -23])], format), format)) - -23) < 0.1)
    }

    /// Cases 2, 3 and 5 of the same.
    @Test func theTonesOfTheStandardMeasureAsItSays() throws {
        func both(_ parts: (Int, Double)...) -> [Float] {
            tone(parts.map { ($0.0, [$0.1, $0.1]) }, format)
        }
        #expect(abs(try #require(measured(both((20, -33)), format)) - -33) < 0.1)
        #expect(abs(try #require(measured(both((10, -36), (60, -23), (10, -36)), format)) - -23) < 0.1)
        #expect(abs(try #require(measured(both((20, -26), (20, -20), (20, -26)), format)) - -23) < 0.1)
    }

    /// Case 6 of the same: five channels, and a low-frequency channel that is not measured.
    @Test func surroundCountsAsTheStandardSays() throws {
        let format = PCMFormat(sampleRate: format.sampleRate, layout: .surround51)
        let sound = tone([(20, [-28, -28, -24, 0, -30, -30])], format)
        #expect(abs(try #require(measured(sound, format)) - -23) < 0.1)
    }

    @Test func silenceHasNoLoudnessAndWhatIsNoNumberLeavesNothingBehind() throws {
        #expect(measured([Float](repeating: 0, count: 96_000), format) == nil)
        let sound = [Float.nan, .infinity] + tone([(20, [-23, -23])], format)
        #expect(abs(try #require(measured(sound, format)) - -23) < 0.1)
    }

    // MARK: Levelling

    /// Returns the peak level of the output for each 0.1 s, in dB.
    private func levels(_ samples: [Float], _ leveller: LoudnessLeveller, target: Double? = -23) -> [Double] {
        var samples = samples
        samples.withUnsafeMutableBufferPointer { buffer in
            for start in stride(from: 0, to: buffer.count, by: 2 * 1024) {
                let frames = min(1024, (buffer.count - start) / 2)
                leveller.process(buffer.baseAddress! + start, frames: frames, target: target)
            }
        }
        let tenth = 2 * format.sampleRate / 10
        return stride(from: 0, to: samples.count, by: tenth).map { start in
            var peak: Float = 0
            samples[start..<min(samples.count, start + tenth)].withUnsafeBufferPointer {
                for sample in $0 where sample.magnitude > peak { peak = sample.magnitude }
            }
            return 20 * log10(Double(peak))
        }
    }

    private func startedLeveller() -> LoudnessLeveller {
        let leveller = LoudnessLeveller()
        leveller.begin(format, isOn: true)
        return leveller
    }

    @Test func aQuietFilmIsRaisedSlowlyAndALoudOneLowered() {
        for level in [-31.0, -12] {
            let heard = levels(tone([(30, [level, level])], format), startedLeveller())
            #expect(heard.prefix(29).allSatisfy { abs($0 - level) < 0.01 }, "nothing in the first three seconds")
            #expect(abs((heard.last ?? 0) - -23) < 0.2)
            let fastest = zip(heard, heard.dropFirst()).map { abs($1 - $0) }.max() ?? 9
            #expect(fastest < 0.11, "a decibel a second")
        }
    }

    @Test func whatIsNearlySilentIsNotMadeLoud() {
        let heard = levels(tone([(40, [-60, -60])], format), startedLeveller())
        #expect(abs((heard.last ?? 0) - -48) < 0.2)
    }

    @Test func aQuietSceneOfALevelFilmStaysQuiet() {
        let heard = levels(tone([(60, [-23, -23]), (20, [-45, -45])], format), startedLeveller())
        #expect(abs((heard.last ?? 0) - -45) < 0.3)
    }

    @Test func aSeekKeepsTheGainAndAnotherItemIsMeasuredSeparately() {
        let leveller = startedLeveller()
        _ = levels(tone([(30, [-31, -31])], format), leveller)
        leveller.begin(format, isOn: true)
        #expect(abs((levels(tone([(1, [-31, -31])], format), leveller).first ?? 0) - -23) < 0.2)
        leveller.beginPiece()
        let heard = levels(tone([(20, [-15, -15])], format), leveller)
        #expect(abs((heard.first ?? 0) - -7) < 0.2)
        #expect(abs((heard.last ?? 0) - -23) < 0.2)
    }

    @Test func switchedOffItTouchesNothingAndFadesAway() {
        let leveller = LoudnessLeveller()
        leveller.begin(format, isOn: false)
        let quiet = tone([(10, [-31, -31])], format)
        #expect(levels(quiet, leveller, target: nil).allSatisfy { abs($0 - -31) < 0.01 })
        _ = levels(quiet, leveller)
        #expect(abs((levels(quiet, leveller, target: nil).last ?? 0) - -31) < 0.01)
    }
}
