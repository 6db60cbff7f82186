package import MediaCore

/// The reason why state cannot be stored or read.
package typealias StateError = CodedError<StateErrors>

/// The domain of the codes of `StateError`.
package enum StateErrors {}

extension CodedError<StateErrors>.Code {
    /// The folder or file is not readable or writable; nothing was changed.
    package static var inaccessible: Self { Self(rawValue: "inaccessible") }
    /// The lock timeout expired, because another process holds it; nothing was changed.
    package static var busy: Self { Self(rawValue: "busy") }
    /// A newer version of Talkie wrote the file; it is unchanged.
    package static var newer: Self { Self(rawValue: "newer") }
}

extension TalkieError {
    /// Creates an error with the code `notPermitted` or `failed`.
    package init(_ error: StateError) {
        self.init(
            error.code == .inaccessible ? .notPermitted : .failed, error.message)
    }
}
