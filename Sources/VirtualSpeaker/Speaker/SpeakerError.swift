package import MediaCore

/// Why a speaker in software cannot be started.
package typealias SpeakerError = CodedError<SpeakerErrors>

/// The codes of `SpeakerError`.
package enum SpeakerErrors {}

extension CodedError<SpeakerErrors>.Code {
    /// Another program listens on the port, or the computer does not have the address.
    package static var cannotListen: Self { Self(rawValue: "cannot-listen") }
    /// The clock's ports cannot be had.
    package static var noClock: Self { Self(rawValue: "no-clock") }
    /// The recording cannot be written.
    package static var cannotWrite: Self { Self(rawValue: "cannot-write") }
    /// The sound device cannot be used.
    package static var noOutput: Self { Self(rawValue: "no-output") }
    /// The ports may not be bound by this user.
    package static var notPermitted: Self { Self(rawValue: "not-permitted") }
    /// The system gives no further thread or descriptor now.
    package static var exhausted: Self { Self(rawValue: "exhausted") }
    /// The options make no sense.
    package static var badOption: Self { Self(rawValue: "bad-option") }
}
