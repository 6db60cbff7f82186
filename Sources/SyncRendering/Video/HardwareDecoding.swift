/// Whether a graphics processor decodes video. What it does not support, or no longer supports during playback, is
/// decoded in software.
public enum HardwareDecoding: String, Sendable, CaseIterable {
    /// Software decoding only.
    case no = "no"
    /// If a suitable device is available.
    case auto = "auto"
    /// Through VA-API. The frames are copied to system memory, so that all later stages are identical.
    case vaapi = "vaapi"
}
