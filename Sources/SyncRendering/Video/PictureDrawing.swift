internal import MediaCore

/// How pictures are brought to a screen, in mpv's words: what becomes of light that a screen has not, and how they are made larger.
///
/// Not every way to the glass can do all of it; a screen says once what it does instead.
public struct PictureDrawing: Sendable, Equatable {
    /// How the light of an HDR film is drawn together below the screen's white. Outside libplacebo there are `clip` and `bt2390`.
    public enum ToneMapping: String, Sendable, CaseIterable {
        /// As `bt2390`.
        case auto
        /// What is brighter than the screen is white.
        case clip
        case mobius
        case reinhard
        case hable
        case gamma
        case linear
        case spline
        /// Report ITU-R BT.2390-11, section 5.4.1.
        case bt2390 = "bt.2390"
        /// Report ITU-R BT.2446-1, method A.
        case bt2446a = "bt.2446a"
    }

    public enum Scaler: String, Sendable, CaseIterable {
        case nearest
        case bilinear
        case bicubic
        case mitchell
        case catmullRom = "catmull_rom"
        case lanczos
        case ewaLanczos = "ewa_lanczos"
        case spline16
        case spline36
        case spline64
    }

    /// What may be said of a screen's brightest white, in cd/m², as in mpv.
    public static let targetPeaks = 10.0...10_000

    public var toneMapping = ToneMapping.auto
    /// cd/m² of the screen's brightest white; nil is `PeakLuminance.referenceWhite`. Means HDR films only.
    public var targetPeak: Double?
    /// Nil is each way's own: spline36 in libplacebo, bilinear in the others.
    public var scaler: Scaler?

    public init() {}

    /// The white that films are drawn together to.
    public var white: Double { targetPeak ?? PeakLuminance.referenceWhite }
}
