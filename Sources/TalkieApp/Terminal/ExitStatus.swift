package import MediaCore

/// The exit statuses of the program; a stable interface for scripts.
///
/// 66, 69 and 77 are EX_NOINPUT, EX_UNAVAILABLE and EX_NOPERM of sysexits.h(3head). 128 + n after signal n is the
/// convention of POSIX shells (POSIX.1-2017, Shell Command Language, 2.8.2).
package enum ExitStatus {
    /// Success.
    package static let done: Int32 = 0
    /// A failure at run time.
    static let failed: Int32 = 1
    /// A usage error.
    package static let usage: Int32 = 2
    /// The input cannot be opened.
    static let noInput: Int32 = 66
    /// A speaker or device is unavailable.
    static let unavailable: Int32 = 69
    /// A permission or a pairing is missing.
    static let notPermitted: Int32 = 77
    /// Ended by SIGINT.
    static let interrupted: Int32 = 130
    /// Ended by SIGTERM.
    static let terminated: Int32 = 143
}

extension TalkieError {
    /// The exit status if this error ends the program.
    package var exitStatus: Int32 {
        switch code {
        case .invalidArgument: ExitStatus.usage
        case .cannotOpen: ExitStatus.noInput
        case .unavailable, .unsupported: ExitStatus.unavailable
        case .notPermitted: ExitStatus.notPermitted
        default: ExitStatus.failed
        }
    }
}
