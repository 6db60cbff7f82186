internal import MediaCore
internal import SyncRendering

/// The exact mapping of HDR colours to BT.709; slow, used to fill `ToneTable`.
struct ToneMapping: Equatable {
    enum Transfer { case pq, hlg }

    let transfer: Transfer
    let matrix: YCbCrMatrix
    let primaries: FilmPrimaries
    /// White in full range, as a 10-bit value; nil in limited range.
    let fullWhite: Double?
    let curve: ToneCurve

    /// Returns nil for a film that is not HDR.
    ///
    /// - Parameters:
    ///   - bitDepth: The depth of the film, which is shifted to 10 bits.
    ///   - peak: The stated peak in cd/m²; PQ only, HLG is relative.
    ///   - drawing: The curve, clip or BT.2390, and the display's white.
    init?(
        _ color: ColorDescription, bitDepth: Int, peak: Double?,
        drawing: VideoRenderingOptions = VideoRenderingOptions()
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

    /// HDR without a stated matrix is BT.2020, as in BT.2100.
    static func matrix(of color: ColorDescription) -> YCbCrMatrix {
        switch color.matrix {
        case 1: .bt709
        case 5, 6: .bt601
        default: .bt2020
        }
    }

    /// Maps one colour.
    ///
    /// - Parameters: Luma and chroma as 10-bit values.
    /// - Returns: 8-bit BT.709 in limited range, not rounded.
    func map(luma: Double, blue: Double, red: Double) -> (luma: Double, blue: Double, red: Double) {
        var light = inGamut(toBT709(linear(coded(luma: luma, blue: blue, red: red))))
        // Scaling by the largest component preserves hue and saturation and prevents clipping.
        let largest = light.max()
        if largest > 0 { light *= curve(largest) / (largest * curve.target) }
        return Self.limited(
            FilmLight.BT1886.signal(light.x), FilmLight.BT1886.signal(light.y), FilmLight.BT1886.signal(light.z))
    }

    /// Returns R'G'B', 0 black and 1 white (inverse of H.273, equations 41 to 47).
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

    /// Returns display light in cd/m².
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

    /// Compresses colours outside BT.709 towards grey of the same luminance.
    ///
    /// Saturation is 0 for grey and 1 at the boundary of BT.709. Up to 0.9 it is unchanged; higher values approach 1
    /// asymptotically, so that different colours stay different.
    private func inGamut(_ color: LinearColor) -> LinearColor {
        let grey = (color * FilmPrimaries.bt709.weights).sum()
        guard grey > 0 else { return .zero }
        let saturation = 1 - color.min() / grey
        guard saturation > Self.kept else { return color }
        let excess = (saturation - Self.kept) / (1 - Self.kept)
        let shown = Self.kept + (1 - Self.kept) * excess / (1 + excess)
        return LinearColor(repeating: grey) + (color - grey) * (shown / saturation)
    }

    /// Saturation up to which colours are unchanged.
    private static let kept = 0.9

    /// Returns Y'CbCr by BT.709-6, items 3.3 and 3.4 and table 3, in 8 bits.
    private static func limited(_ r: Double, _ g: Double, _ b: Double) -> (luma: Double, blue: Double, red: Double) {
        let weights = FilmPrimaries.bt709.weights
        let y = (LinearColor(r, g, b) * weights).sum()
        return (
            16 + 219 * y, 128 + 224 * (b - y) / (2 * (1 - weights.z)), 128 + 224 * (r - y) / (2 * (1 - weights.x))
        )
    }
}
