package import MediaCore

/// Why something could not be kept or read back.
package typealias StateError = CodedError<StateErrors>

/// The codes of `StateError`.
package enum StateErrors {}

extension CodedError<StateErrors>.Code {
    /// The folder or file cannot be read or written; nothing was changed.
    package static var inaccessible: Self { Self(rawValue: "inaccessible") }
    /// Another process changes it and does not come to an end; nothing was changed.
    package static var busy: Self { Self(rawValue: "busy") }
    /// A newer Talkie wrote it; it is left as it is.
    package static var newer: Self { Self(rawValue: "newer") }
}

extension TalkieError {
    package init(_ error: StateError) {
        self.init(
            error.code == .inaccessible ? .notPermitted : .failed, error.message)
    }
}
