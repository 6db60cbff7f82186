/// The error of a failed operation, such as opening media or an output.
///
/// The code is for programs, the message for users. The operation has changed nothing unless its documentation says
/// otherwise.
public typealias TalkieError = CodedError<TalkieErrors>

/// The domain of the codes of `TalkieError`.
public enum TalkieErrors {}

extension CodedError<TalkieErrors>.Code {
    /// The operation failed while running.
    public static var failed: Self { Self(rawValue: "failed") }
    /// Invalid argument: a name that matches two speakers, a value out of range.
    public static var invalidArgument: Self { Self(rawValue: "invalid-argument") }
    /// The input cannot be opened or parsed.
    public static var cannotOpen: Self { Self(rawValue: "cannot-open") }
    /// A speaker, device or service is not available.
    public static var unavailable: Self { Self(rawValue: "unavailable") }
    /// A provider of outputs cannot use a device; another provider may.
    public static var unsupported: Self { Self(rawValue: "unsupported") }
    /// The system, the speaker or the file's permissions do not allow it.
    public static var notPermitted: Self { Self(rawValue: "not-permitted") }
}
