internal import MediaCore
internal import SyncRendering

/// What a colour of an HDR film becomes on a screen of BT.709: exact, and slow. Tables are filled with it.
struct ToneMapping: Equatable {
    enum Transfer { case pq, hlg }

    let transfer: Transfer
    let matrix: YCbCrMatrix
    let primaries: FilmPrimaries
    /// White of full range, as a number of 10 bits; nil in limited range.
    let fullWhite: Double?
    let curve: ToneCurve

    /// - Parameters:
    ///   - bitDepth: of the film's numbers, which are brought to 10 bits by shifting.
    ///   - peak: cd/m² of the brightest white, as the film states it; of PQ only, because HLG is relative.
    ///   - drawing: whose curve is clip or BT.2390's, and whose screen.
    /// - Returns: nil for a film that is not HDR.
    init?(
        _ color: ColorDescription, bitDepth: Int, peak: Double?, drawing: PictureDrawing = PictureDrawing()
    ) {
        switch color.transfer {
        case 16: transfer = .pq
        case 18: transfer = .hlg
        default: return nil
        }
        matrix = Self.matrix(of: color)
        primaries = FilmPrimaries(code: color.primaries)
        let depth = min(16, max(8, bitDepth))
        fullWhite = color.isFullRange ? 1024 - 1024 / Double(1 << depth) : nil
        let source = transfer == .hlg ? FilmLight.HLG.peak : PeakLuminance.believable(peak)
        curve = ToneCurve(from: source, to: drawing.white, clips: drawing.toneMapping == .clip)
    }

    /// An HDR film that says nothing is BT.2020, as BT.2100 has it.
    static func matrix(of color: ColorDescription) -> YCbCrMatrix {
        switch color.matrix {
        case 1: .bt709
        case 5, 6: .bt601
        default: .bt2020
        }
    }

    /// One colour.
    ///
    /// - Parameters: luma and colour differences as numbers of 10 bits.
    /// - Returns: the same of 8 bits by BT.709 in limited range, not rounded.
    func map(luma: Double, blue: Double, red: Double) -> (luma: Double, blue: Double, red: Double) {
        var light = inGamut(toBT709(linear(coded(luma: luma, blue: blue, red: red))))
        // By the largest of the three, so that what lies between them, hue and saturation, stays, and none of them clips.
        let largest = light.max()
        if largest > 0 { light *= curve(largest) / (largest * curve.target) }
        return Self.limited(
            FilmLight.BT1886.signal(light.x), FilmLight.BT1886.signal(light.y), FilmLight.BT1886.signal(light.z))
    }

    /// R'G'B', 0 black and 1 white (H.273, equations 41 to 47 turned round).
    private func coded(luma: Double, blue: Double, red: Double) -> LinearColor {
        let y = fullWhite.map { luma / $0 } ?? (luma - 64) / 876
        let b = (blue - 512) / (fullWhite ?? 896)
        let r = (red - 512) / (fullWhite ?? 896)
        let weights =
            switch matrix {
            case .bt601: LinearColor(0.299, 0.587, 0.114)
            case .bt709: LinearColor(0.2126, 0.7152, 0.0722)
            case .bt2020: LinearColor(0.2627, 0.6780, 0.0593)
            }
        let (redPart, bluePart) = (y + 2 * (1 - weights.x) * r, y + 2 * (1 - weights.z) * b)
        return LinearColor(redPart, (y - weights.x * redPart - weights.z * bluePart) / weights.y, bluePart)
    }

    /// cd/m² of a display that the film was made for.
    private func linear(_ coded: LinearColor) -> LinearColor {
        switch transfer {
        case .pq:
            return LinearColor(FilmLight.PQ.light(coded.x), FilmLight.PQ.light(coded.y), FilmLight.PQ.light(coded.z))
        case .hlg:
            let scene = LinearColor(
                FilmLight.HLG.scene(coded.x), FilmLight.HLG.scene(coded.y), FilmLight.HLG.scene(coded.z))
            // The OOTF: BT.2100-2, table 5.
            let luminance = (scene * primaries.weights).sum()
            return scene * (FilmLight.HLG.peak * FilmLight.power(luminance, FilmLight.HLG.systemGamma - 1))
        }
    }

    private func toBT709(_ color: LinearColor) -> LinearColor {
        let rows = primaries.toBT709
        return LinearColor((rows.0 * color).sum(), (rows.1 * color).sum(), (rows.2 * color).sum())
    }

    /// Brings colours that BT.709 does not have into it, in the direction of the grey of the same luminance.
    ///
    /// Saturation counts from grey, 0, to the most that BT.709 has, 1. Up to nine tenths it stays; what lies above draws near
    /// to 1 without reaching it, so that two colours that differ in the film differ on the screen.
    private func inGamut(_ color: LinearColor) -> LinearColor {
        let grey = (color * FilmPrimaries.bt709.weights).sum()
        guard grey > 0 else { return .zero }
        let saturation = 1 - color.min() / grey
        guard saturation > Self.kept else { return color }
        let excess = (saturation - Self.kept) / (1 - Self.kept)
        let shown = Self.kept + (1 - Self.kept) * excess / (1 + excess)
        return LinearColor(repeating: grey) + (color - grey) * (shown / saturation)
    }

    /// Saturation that is not touched.
    private static let kept = 0.9

    /// BT.709-6, items 3.3 and 3.4 and table 3, in 8 bits.
    private static func limited(_ r: Double, _ g: Double, _ b: Double) -> (luma: Double, blue: Double, red: Double) {
        let weights = FilmPrimaries.bt709.weights
        let y = (LinearColor(r, g, b) * weights).sum()
        return (
            16 + 219 * y, 128 + 224 * (b - y) / (2 * (1 - weights.z)), 128 + 224 * (r - y) / (2 * (1 - weights.x))
        )
    }
}
