public import MediaCore

/// Why something could not be kept or read back.
public typealias StateError = CodedError<StateErrors>

/// The codes of `StateError`.
public enum StateErrors {}

extension CodedError<StateErrors>.Code {
    /// The folder or file cannot be read or written; nothing was changed.
    public static var inaccessible: Self { Self(rawValue: "inaccessible") }
    /// A newer Talkie wrote it; it is left as it is.
    public static var newer: Self { Self(rawValue: "newer") }
}
