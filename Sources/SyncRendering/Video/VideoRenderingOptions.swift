internal import MediaCore

/// How video frames are drawn on a screen, in mpv's terms: tone mapping and upscaling.
///
/// Not every presenter supports all values; a screen reports once what it uses instead.
public struct VideoRenderingOptions: Sendable, Equatable {
    /// The tone mapping of HDR video to the screen's white. Without libplacebo only `clip` and `bt2390` are available.
    public enum ToneMapping: String, Sendable, CaseIterable {
        /// Same as `bt2390`.
        case auto = "auto"
        /// Values brighter than the screen become white.
        case clip = "clip"
        /// `reinhard` with a linear part near black.
        case mobius = "mobius"
        /// A rational curve that compresses the whole range; its slope decreases towards white.
        case reinhard = "reinhard"
        /// The piecewise filmic curve of John Hable.
        case hable = "hable"
        /// A power function between the ranges of video and screen.
        case gamma = "gamma"
        /// A linear scale between the ranges of video and screen, in PQ values.
        case linear = "linear"
        /// Two polynomials that meet in one point, which depends on the average brightness of the scene.
        case spline = "spline"
        /// Report ITU-R BT.2390-11, section 5.4.1.
        case bt2390 = "bt.2390"
        /// Report ITU-R BT.2446-1, method A.
        case bt2446a = "bt.2446a"
    }

    /// The upscaling filter.
    public enum Scaler: String, Sendable, CaseIterable {
        /// The nearest pixel, without interpolation.
        case nearest = "nearest"
        /// Linear interpolation between 2 × 2 pixels.
        case bilinear = "bilinear"
        /// A cubic filter over 4 × 4 pixels.
        case bicubic = "bicubic"
        /// The cubic filter of Mitchell and Netravali with B = C = ⅓.
        case mitchell = "mitchell"
        /// The cubic filter of Mitchell and Netravali with B = 0, C = ½: sharper than `mitchell`.
        case catmullRom = "catmull_rom"
        /// A windowed sinc filter in two passes.
        case lanczos = "lanczos"
        /// A windowed jinc filter over a circular area, in one pass.
        case ewaLanczos = "ewa_lanczos"
        /// A cubic spline filter over 4 × 4 pixels.
        case spline16 = "spline16"
        /// A cubic spline filter over 6 × 6 pixels.
        case spline36 = "spline36"
        /// A cubic spline filter over 8 × 8 pixels.
        case spline64 = "spline64"
    }

    /// The valid range of a screen's white in cd/m², as in mpv.
    package static let targetPeaks = 10.0...10_000

    /// The tone mapping of HDR video.
    public var toneMapping = ToneMapping.auto
    /// The screen's white in cd/m²; nil: `PeakLuminance.referenceWhite`. Applies to HDR video only.
    public var targetPeak: Double?
    /// The upscaling filter; nil: the presenter's default, spline36 in libplacebo, bilinear otherwise.
    public var scaler: Scaler?

    /// Creates the default settings.
    public init() {}

    /// The white to which HDR video is mapped, in cd/m².
    public var white: Double { targetPeak ?? PeakLuminance.referenceWhite }
}
