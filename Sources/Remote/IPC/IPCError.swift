internal import MediaCore
internal import Playback

/// An error reply: mpv's words (its client API, `mpv_error_string`), and the reason.
struct IPCError: Error, Equatable {
    let message: String
    let reason: String
    /// The code for Talkie's own programs; nil for mpv's errors.
    var code: String?

    /// The request is malformed.
    static func invalid(_ reason: String) -> IPCError { IPCError(message: "invalid parameter", reason: reason) }

    init(message: String, reason: String) { (self.message, self.reason) = (message, reason) }

    /// Creates the error of an access to a property.
    init(property error: ControlError) {
        let message =
            switch error.code {
            case .unknownName: "property not found"
            case .unavailable: "property unavailable"
            case .wrongType: "unsupported format for accessing property"
            default: "error accessing property"
            }
        self.init(message: message, reason: error.message)
    }

    /// Creates the error of a command.
    init(command error: ControlError) {
        let isRefused = [.unknownName, .wrongType, .outOfRange].contains(error.code)
        self.init(message: isRefused ? "invalid parameter" : "error running command", reason: error.message)
        let own: [ControlError.Code] = [.unknownName, .wrongType, .outOfRange, .notWritable, .failed]
        code = own.contains(error.code) ? nil : error.code.rawValue
    }
}
