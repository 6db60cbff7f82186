import Glibc
import MediaCore
import SyncRendering
import Testing

@testable import MediaCodecs

/// Reference implementation of the standards, with the decimal constants of their texts instead of fractions, and
/// scalar code instead of vectors.
struct ToneReference {
    var isHLG = false
    var peak = 1000.0

    static func pqLight(_ signal: Double) -> Double {
        let root = pow(signal, 1 / 78.84375)
        return 10000 * pow(max(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root), 1 / 0.1593017578125)
    }

    static func pqSignal(_ light: Double) -> Double {
        let y = pow(light / 10000, 0.1593017578125)
        return pow((0.8359375 + 18.8515625 * y) / (1 + 18.6875 * y), 78.84375)
    }

    /// BT.2390-11, 5.4.1, without black level adaptation.
    func compressed(_ light: Double) -> Double {
        let white = Self.pqSignal(peak)
        let peak = Self.pqSignal(203) / white
        if peak >= 1 { return min(light, 203) }
        let e1 = min(Self.pqSignal(light) / white, 1)
        let knee = 1.5 * peak - 0.5
        if e1 < knee { return light }
        let t = (e1 - knee) / (1 - knee)
        let e2 =
            (2 * t * t * t - 3 * t * t + 1) * knee + (t * t * t - 2 * t * t + t) * (1 - knee)
            + (3 * t * t - 2 * t * t * t) * peak
        return Self.pqLight(e2 * white)
    }

    /// Converts R'G'B' of a film in BT.2020 to R'G'B' of BT.709.
    func shown(_ coded: [Double]) -> [Double] {
        var light = coded.map { Self.pqLight(min(1, max(0, $0))) }
        if isHLG {
            let scene = coded.map { signal in
                signal <= 0.5
                    ? max(0, signal) * max(0, signal) / 3
                    : (exp((min(signal, 1.1) - 0.55991073) / 0.17883277) + 0.28466892) / 12
            }
            let luminance = 0.2627 * scene[0] + 0.6780 * scene[1] + 0.0593 * scene[2]
            light = scene.map { 1000 * pow(luminance, 0.2) * $0 }
        }
        // The inverse of the conversion from BT.709 in BT.2087-0.
        var wide = [
            1.6605 * light[0] - 0.5876 * light[1] - 0.0728 * light[2],
            -0.1246 * light[0] + 1.1329 * light[1] - 0.0083 * light[2],
            -0.0182 * light[0] - 0.1006 * light[1] + 1.1187 * light[2],
        ]
        let grey = 0.2126 * wide[0] + 0.7152 * wide[1] + 0.0722 * wide[2]
        if grey <= 0 { return [0, 0, 0] }
        let saturation = (grey - wide.min()!) / grey
        if saturation > 0.9 {
            let excess = (saturation - 0.9) * 10
            let wanted = 0.9 + 0.1 * (excess / (excess + 1))
            wide = wide.map { grey + ($0 - grey) / saturation * wanted }
        }
        let largest = wide.max()!
        let factor = largest > 0 ? compressed(largest) / largest / 203 : 0
        return wide.map { pow(min(1, max(0, $0 * factor)), 1 / 2.4) }
    }

    /// Converts samples of 10 bits in limited range to samples of 8 bits, not rounded.
    func shown(luma: Int, blue: Int, red: Int) -> [Double] {
        let y = Double(luma - 64) / 876
        let (cb, cr) = (Double(blue - 512) / 896, Double(red - 512) / 896)
        let r = y + 1.4746 * cr
        let b = y + 1.8814 * cb
        let found = shown([r, (y - 0.2627 * r - 0.0593 * b) / 0.6780, b])
        let out = 0.2126 * found[0] + 0.7152 * found[1] + 0.0722 * found[2]
        return [16 + 219 * out, 128 + 224 * (found[2] - out) / 1.8556, 128 + 224 * (found[0] - out) / 1.5748]
    }

    /// Converts R'G'B' of a film in BT.2020 to samples of 10 bits.
    static func codes(_ coded: [Double]) -> (luma: Int, blue: Int, red: Int) {
        let y = 0.2627 * coded[0] + 0.6780 * coded[1] + 0.0593 * coded[2]
        return (
            Int((64 + 876 * y).rounded()), Int((512 + 896 * (coded[2] - y) / 1.8814).rounded()),
            Int((512 + 896 * (coded[0] - y) / 1.4746).rounded())
        )
    }
}

@Suite struct ToneMappingTests {
    private func mapping(hlg: Bool, peak: Double? = nil, depth: Int = 10, full: Bool = false) throws -> ToneMapping {
        let color = ColorDescription(primaries: 9, transfer: hlg ? 18 : 16, matrix: 9, isFullRange: full)
        return try #require(ToneMapping(color, bitDepth: depth, peak: peak))
    }

    /// Calls `body` for colours of BT.2020 up to the film's white, on a grid without common points with the table's.
    private func forColors(upTo limit: Double, _ body: ([Double]) -> Void) {
        let steps = 13
        for r in 0...steps {
            for g in 0...steps {
                for b in 0...steps { body([r, g, b].map { Double($0) * limit / Double(steps) }) }
            }
        }
    }

    /// Returns greys of a PQ film of 1000 cd/m² as shares of the screen's white, in linear light.
    private func shares(of lights: [Double], _ drawing: VideoRenderingOptions) throws -> [Double] {
        let color = ColorDescription(primaries: 9, transfer: 16, matrix: 9)
        let mapping = try #require(ToneMapping(color, bitDepth: 10, peak: 1000, drawing: drawing))
        return lights.map { light in
            let luma = 64 + 876 * FilmLight.PQ.signal(light)
            return pow((mapping.map(luma: luma, blue: 512, red: 512).luma - 16) / 219, 2.4)
        }
    }

    @Test func clippedLightStaysWhatItIsUpToTheScreensWhite() throws {
        var drawing = VideoRenderingOptions()
        drawing.toneMapping = .clip
        let clipped = try shares(of: [20.3, 101.5, 203, 500], drawing)
        for (share, wanted) in zip(clipped, [0.1, 0.5, 1, 1]) { #expect(abs(share - wanted) < 0.002) }
        drawing.toneMapping = .bt2390
        let curved = try shares(of: [20.3, 101.5, 203, 500], drawing)
        #expect(curved == (try shares(of: [20.3, 101.5, 203, 500], VideoRenderingOptions())))
        #expect(curved[2] < 0.9 && curved[3] > curved[2] + 0.05 && curved[3] < 0.999)
    }

    @Test func aBrighterScreenShowsMoreOfTheFilmsLightAsItIs() throws {
        var drawing = VideoRenderingOptions()
        drawing.targetPeak = 1000
        // The full range: the film's peak is the screen's.
        for (share, wanted) in zip(try shares(of: [100, 500, 1000], drawing), [0.1, 0.5, 1]) {
            #expect(abs(share - wanted) < 0.002)
        }
        drawing.targetPeak = 400
        let middle = try shares(of: [20, 1000], drawing)
        #expect(abs(middle[0] - 0.05) < 0.002 && abs(middle[1] - 1) < 0.002)
    }

    @Test(arguments: [(false, 1000.0), (false, 4000), (false, 600), (true, 1000)])
    func aColourBecomesWhatTheStandardsSay(hlg: Bool, peak: Double) throws {
        let (mapping, reference) = (try mapping(hlg: hlg, peak: peak), ToneReference(isHLG: hlg, peak: peak))
        var worst = 0.0
        forColors(upTo: 1) { color in
            let code = ToneReference.codes(color)
            let found = mapping.map(luma: Double(code.luma), blue: Double(code.blue), red: Double(code.red))
            let wanted = reference.shown(luma: code.luma, blue: code.blue, red: code.red)
            for (one, other) in zip([found.luma, found.blue, found.red], wanted) {
                worst = max(worst, abs(one - other))
            }
        }
        // The matrices have four and six digits.
        #expect(worst < 0.2)
    }

    @Test(arguments: [false, true]) func theTableKeepsToTheStandardsWithinSteps(hlg: Bool) throws {
        let (table, reference) = (ToneTable.table(of: try mapping(hlg: hlg)), ToneReference(isHLG: hlg))
        var errors: [Double] = []
        forColors(upTo: hlg ? 1 : ToneReference.pqSignal(1000)) { color in
            let code = ToneReference.codes(color)
            let wanted = reference.shown(luma: code.luma, blue: code.blue, red: code.red)
            let place = table.neighbours(blue: code.blue, red: code.red)
            let (luma, chroma) = (table.luma(code.luma, at: place), table.chroma(code.luma, at: place))
            errors += zip([luma, chroma.blue, chroma.red], wanted).map { abs(Double($0) - $1) }
        }
        errors.sort()
        #expect(errors.reduce(0, +) / Double(errors.count) < 0.3)
        #expect(errors[errors.count * 95 / 100] < 1.5)
        #expect(errors[errors.count * 99 / 100] < 3.5)
        // In corners at the border of the gamut.
        #expect(errors.last! < 10)
    }

    @Test(arguments: [false, true]) func coarseLumaIsNearTheTables(hlg: Bool) throws {
        let table = ToneTable.table(of: try mapping(hlg: hlg))
        var errors: [Float] = []
        forColors(upTo: hlg ? 1 : ToneReference.pqSignal(1000)) { color in
            let code = ToneReference.codes(color)
            let place = table.neighbours(blue: code.blue, red: code.red)
            let coarse = table.coarseLuma(code.luma, at: table.node(blue: code.blue, red: code.red))
            errors.append(abs(Float(coarse) - table.luma(code.luma, at: place)))
        }
        errors.sort()
        #expect(errors.reduce(0, +) / Float(errors.count) < 2)
        #expect(errors[errors.count * 95 / 100] < 6)
        let (grey, node) = (table.neighbours(blue: 512, red: 512), table.node(blue: 512, red: 512))
        for luma in 64...940 {
            #expect(abs(Float(table.coarseLuma(luma, at: node)) - table.luma(luma, at: grey)) < 3)
        }
    }

    @Test(arguments: [false, true]) func greyStaysGreyAndGrowsWithTheFilm(hlg: Bool) throws {
        let table = ToneTable.table(of: try mapping(hlg: hlg))
        let place = table.neighbours(blue: 512, red: 512)
        var last: Float = 0
        for luma in 0...1023 {
            let chroma = table.chroma(luma, at: place)
            #expect(abs(chroma.blue - 128) < 0.01 && abs(chroma.red - 128) < 0.01)
            let found = table.luma(luma, at: place)
            #expect(found >= last && found >= 16 && found <= 235)
            last = found
        }
        #expect(table.luma(64, at: place) == 16)
        #expect(last == 235)
    }

    @Test func whatIsDarkerThanTheKneeIsAsBrightAsItWas() throws {
        let mapping = try mapping(hlg: false, peak: 1000)
        // 18 % grey of BT.2408, 26 cd/m² of 203.
        let grey = mapping.map(luma: 64 + 876 * ToneReference.pqSignal(26), blue: 512, red: 512)
        #expect(abs(grey.luma - (16 + 219 * pow(26 / 203, 1 / 2.4))) < 0.1)
        // The reference white uses most of the screen's range, so that the film is neither dark nor flat.
        let white = mapping.map(luma: 64 + 876 * ToneReference.pqSignal(203), blue: 512, red: 512)
        #expect(white.luma > 205 && white.luma < 235)
    }

    @Test func coloursStayColours() throws {
        for hlg in [false, true] {
            let mapping = try mapping(hlg: hlg)
            for color in [[0.5, 0.1, 0.1], [0.1, 0.5, 0.1], [0.1, 0.1, 0.5], [0.5, 0.5, 0.1]] {
                let code = ToneReference.codes(color)
                let found = mapping.map(luma: Double(code.luma), blue: Double(code.blue), red: Double(code.red))
                #expect(max(abs(found.blue - 128), abs(found.red - 128)) > 30)
            }
        }
    }

    @Test func aFilmThatStatesNonsenseHasTheUsualWhite() throws {
        let usual = try mapping(hlg: false, peak: nil)
        for peak in [0, -1, 12, .nan, .infinity, 1e9] { #expect(try mapping(hlg: false, peak: peak) == usual) }
        // Rounding of the peak: metadata that varies with every scene does not require a new table each.
        #expect(try mapping(hlg: false, peak: 1210) == mapping(hlg: false, peak: 1190))
        #expect(try mapping(hlg: false, peak: 4000) != usual)
    }

    @Test func depthsAndRangesMeanTheSame() throws {
        let white = try mapping(hlg: true, depth: 8, full: true).map(luma: 1020, blue: 512, red: 512)
        #expect(abs(white.luma - 235) < 0.01)
        let deep = try mapping(hlg: true, depth: 12, full: true).map(luma: 1023.75, blue: 512, red: 512)
        #expect(abs(deep.luma - 235) < 0.01)
    }

    @Test func aFilmThatIsNotHDRHasNoMapping() {
        for transfer: UInt8 in [1, 2, 6, 13, 14, 15] {
            #expect(ToneMapping(ColorDescription(primaries: 9, transfer: transfer), bitDepth: 10, peak: nil) == nil)
        }
    }
}
