internal import MediaCore

/// How video frames are drawn on a screen, in mpv's terms: tone mapping and upscaling.
///
/// Not every presenter supports all values; a screen reports once what it uses instead.
public struct PictureDrawing: Sendable, Equatable {
    /// The tone mapping of HDR video to the screen's white. Without libplacebo only `clip` and `bt2390` are available.
    public enum ToneMapping: String, Sendable, CaseIterable {
        /// Same as `bt2390`.
        case auto = "auto"
        /// Values brighter than the screen become white.
        case clip = "clip"
        case mobius = "mobius"
        case reinhard = "reinhard"
        case hable = "hable"
        case gamma = "gamma"
        case linear = "linear"
        case spline = "spline"
        /// Report ITU-R BT.2390-11, section 5.4.1.
        case bt2390 = "bt.2390"
        /// Report ITU-R BT.2446-1, method A.
        case bt2446a = "bt.2446a"
    }

    /// The upscaling filter.
    public enum Scaler: String, Sendable, CaseIterable {
        case nearest = "nearest"
        case bilinear = "bilinear"
        case bicubic = "bicubic"
        case mitchell = "mitchell"
        case catmullRom = "catmull_rom"
        case lanczos = "lanczos"
        case ewaLanczos = "ewa_lanczos"
        case spline16 = "spline16"
        case spline36 = "spline36"
        case spline64 = "spline64"
    }

    /// The valid range of a screen's white in cd/m², as in mpv.
    public static let targetPeaks = 10.0...10_000

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
