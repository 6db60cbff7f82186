/// What is believed of how bright an HDR film is, in cd/m²: one rule for all that map its tones.
public enum PeakLuminance {
    /// What stands for the white of an SDR film: HDR reference white, ITU-R BT.2408-7, table 1. A newspaper, a shirt and a subtitle
    /// are as bright in an HDR film as in another.
    public static let referenceWhite = 203.0
    /// The brightest white where a PQ film does not say: what such films are mastered on most.
    public static let usual = 1000.0
    /// SMPTE ST 2084 codes no more.
    public static let most = 10_000.0

    /// Files say anything. Rounded, because some say another number with every scene, and a curve is computed for each.
    public static func believable(_ stated: Double?) -> Double {
        guard let stated, stated.isFinite, stated >= 100, stated <= most else { return usual }
        let step = 50.0
        return max(referenceWhite, (stated / step).rounded() * step)
    }
}
