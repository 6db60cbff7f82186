internal import CALSA
internal import Glibc
internal import SyncRendering

extension OutputError {
    /// What alsa-lib's negative code means for the listener.
    static func alsa(_ code: Int32, device: String) -> OutputError {
        let reason = String(cString: snd_strerror(code))
        let isDefault = device == "default"
        switch -code {
        case EBUSY, EAGAIN:
            return OutputError(
                .busy,
                "the sound device \"\(device)\" is in use by another program; "
                    + "close that one, or choose another device from the list of `aplay -L`")
        case EACCES, EPERM:
            return OutputError(
                .notPermitted,
                "the sound device \"\(device)\" may not be opened by this user; "
                    + "add the user to the group \"audio\" and log in again")
        case ENOENT, ENODEV, ENXIO, EINVAL, ECONNREFUSED, EHOSTDOWN, ENOTCONN, EIO, ENOTTY:
            return OutputError(
                .unavailable,
                isDefault
                    ? "no sound card was found (\(reason)); `aplay -L` lists the devices there are"
                    : "there is no sound device \"\(device)\" (\(reason)); `aplay -L` lists the devices there are")
        default:
            return OutputError(.failed, "the sound device \"\(device)\" cannot be used: \(reason)")
        }
    }
}
