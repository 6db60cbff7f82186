/// What the program says to the shell when it ends; scripts depend on these numbers.
///
/// 66, 69 and 77 are EX_NOINPUT, EX_UNAVAILABLE and EX_NOPERM of sysexits.h(3head); 128 + n after signal n is what
/// POSIX shells report themselves (POSIX.1-2017, Shell Command Language, 2.8.2).
public enum ExitStatus {
    public static let done: Int32 = 0
    /// Failed while running.
    public static let failed: Int32 = 1
    /// The words on the command line make no sense.
    public static let usage: Int32 = 2
    /// The input cannot be opened.
    public static let noInput: Int32 = 66
    /// A speaker or device is unavailable.
    public static let unavailable: Int32 = 69
    public static let notPermitted: Int32 = 77
    public static let interrupted: Int32 = 130
    public static let terminated: Int32 = 143
}
