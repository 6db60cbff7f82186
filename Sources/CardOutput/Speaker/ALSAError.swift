internal import CALSA
internal import Glibc
internal import MediaCore
internal import SyncRendering

extension OutputError {
    /// Returns the user-facing error for a negative alsa-lib error code.
    static func alsa(_ code: Int32, device: String, isCapture: Bool = false) -> OutputError {
        let reason = String(cString: snd_strerror(code))
        let isDefault = device == "default"
        let list = isCapture ? "arecord -L" : "aplay -L"
        let kind = isCapture ? "recording device" : "sound device"
        switch -code {
        case EMFILE, ENFILE, ENOMEM:
            return OutputError(.failed, "the \(kind) \"\(device)\" cannot be used: \(SystemCause.text(code))")
        case EBUSY, EAGAIN:
            return OutputError(
                .busy,
                "the \(kind) \"\(device)\" is in use by another program; "
                    + "close it, or choose another device from the list of `\(list)`")
        case EACCES, EPERM:
            return OutputError(
                .notPermitted,
                "the \(kind) \"\(device)\" may not be opened by this user; "
                    + "add the user to the group \"audio\" and log in again")
        case ENOENT, ENODEV, ENXIO, EINVAL, ECONNREFUSED, EHOSTDOWN, ENOTCONN, EIO, ENOTTY:
            return OutputError(
                .unavailable,
                isDefault
                    ? "no \(isCapture ? "microphone" : "sound card") was found (\(reason)); `\(list)` lists the available devices"
                    : "there is no \(kind) \"\(device)\" (\(reason)); `\(list)` lists the available devices")
        default:
            return OutputError(.failed, "the \(kind) \"\(device)\" cannot be used: \(reason)")
        }
    }
}
