package import MediaCore

/// What the program says to the shell when it ends; scripts depend on these numbers.
///
/// 66, 69 and 77 are EX_NOINPUT, EX_UNAVAILABLE and EX_NOPERM of sysexits.h(3head); 128 + n after signal n is what
/// POSIX shells report themselves (POSIX.1-2017, Shell Command Language, 2.8.2).
package enum ExitStatus {
    package static let done: Int32 = 0
    /// Failed while running.
    package static let failed: Int32 = 1
    /// The words on the command line make no sense.
    package static let usage: Int32 = 2
    /// The input cannot be opened.
    package static let noInput: Int32 = 66
    /// A speaker or device is unavailable.
    package static let unavailable: Int32 = 69
    package static let notPermitted: Int32 = 77
    package static let interrupted: Int32 = 130
    package static let terminated: Int32 = 143
}

extension TalkieError {
    /// What the program ends with when this ends it.
    package var exitStatus: Int32 {
        switch code {
        case .invalidArgument: ExitStatus.usage
        case .cannotOpen: ExitStatus.noInput
        case .unavailable: ExitStatus.unavailable
        case .notPermitted: ExitStatus.notPermitted
        default: ExitStatus.failed
        }
    }
}
