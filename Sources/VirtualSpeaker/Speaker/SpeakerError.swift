public import MediaCore

/// Why a speaker in software cannot be started.
public typealias SpeakerError = CodedError<SpeakerErrors>

/// The codes of `SpeakerError`.
public enum SpeakerErrors {}

extension CodedError<SpeakerErrors>.Code {
    /// Another program listens on the port, or the computer does not have the address.
    public static var cannotListen: Self { Self(rawValue: "cannot-listen") }
    /// The clock's ports cannot be had.
    public static var noClock: Self { Self(rawValue: "no-clock") }
    /// The recording cannot be written.
    public static var cannotWrite: Self { Self(rawValue: "cannot-write") }
    /// The sound device cannot be used.
    public static var noOutput: Self { Self(rawValue: "no-output") }
    /// The ports may not be bound by this user.
    public static var notPermitted: Self { Self(rawValue: "not-permitted") }
    /// The options make no sense.
    public static var badOption: Self { Self(rawValue: "bad-option") }
}
