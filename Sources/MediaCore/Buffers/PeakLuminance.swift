/// The peak luminance assumed for HDR video, in cd/m². All tone mapping uses these values.
package enum PeakLuminance {
    /// Luminance of SDR white: HDR reference white, ITU-R BT.2408-7, table 1. Paper, shirts and subtitles then are
    /// equally bright in HDR and SDR video.
    package static let referenceWhite = 203.0
    /// The assumed peak of a PQ video without metadata, the most frequent mastering luminance.
    public static let usual = 1000.0
    /// The maximum that SMPTE ST 2084 can encode.
    package static let maxNits = 10_000.0

    /// Returns a plausible peak luminance for untrusted metadata: `usual` outside of 100…10,000. Rounded to 50 cd/m²,
    /// because some files change the value in every scene, and each value needs a new tone curve.
    package static func believable(_ stated: Double?) -> Double {
        guard let stated, stated.isFinite, stated >= 100, stated <= maxNits else { return usual }
        let step = 50.0
        return max(referenceWhite, (stated / step).rounded() * step)
    }
}
