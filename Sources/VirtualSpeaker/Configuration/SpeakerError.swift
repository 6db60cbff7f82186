package import MediaCore

/// The error of a software speaker; `Code` lists the causes.
package typealias SpeakerError = CodedError<SpeakerErrors>

/// The codes of `SpeakerError`.
package enum SpeakerErrors {}

extension CodedError<SpeakerErrors>.Code {
    /// Another program uses the port, or the computer does not have the address.
    static var cannotListen: Self { Self(rawValue: "cannot-listen") }
    /// The PTP ports are not available.
    static var noClock: Self { Self(rawValue: "no-clock") }
    /// The recording or the record cannot be written.
    package static var cannotWrite: Self { Self(rawValue: "cannot-write") }
    /// The sound device cannot be used.
    static var noOutput: Self { Self(rawValue: "no-output") }
    /// This user may not bind the PTP ports.
    package static var notPermitted: Self { Self(rawValue: "not-permitted") }
    /// The system is out of threads or descriptors.
    package static var exhausted: Self { Self(rawValue: "exhausted") }
    /// An option is invalid.
    package static var badOption: Self { Self(rawValue: "bad-option") }
}
