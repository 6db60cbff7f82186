/// Why something that a person or a program asked for cannot be done: a film cannot be opened, an output is not to be had.
///
/// The code is for programs, the message for people. Nothing has changed when it is thrown, unless the throwing function says so.
public typealias TalkieError = CodedError<TalkieErrors>

/// The codes of `TalkieError`.
public enum TalkieErrors {}

extension CodedError<TalkieErrors>.Code {
    /// It went wrong while running.
    public static var failed: Self { Self(rawValue: "failed") }
    /// What was asked for makes no sense: a name that two speakers have, a value out of its range.
    public static var invalidArgument: Self { Self(rawValue: "invalid-argument") }
    /// The input cannot be opened or understood.
    public static var cannotOpen: Self { Self(rawValue: "cannot-open") }
    /// A speaker, a device or a service is not there.
    public static var unavailable: Self { Self(rawValue: "unavailable") }
    /// The system, the speaker or the owner of a file does not allow it.
    public static var notPermitted: Self { Self(rawValue: "not-permitted") }
}
