/// Whether a graphics processor decodes pictures, as far as it can. What it cannot, or can no longer in mid-film, this processor decodes.
public enum HardwareDecoding: String, Sendable, CaseIterable {
    case no
    /// Where there is a device for it.
    case auto
    /// Through VA-API. The pictures are copied to ordinary memory, so that whoever decodes, everything behind it is the same.
    case vaapi
}
