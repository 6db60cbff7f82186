package import MediaCore

/// The reason why a command or an access to a property was refused or failed.
package typealias ControlError = CodedError<ControlErrors>

/// The domain of the codes of `ControlError`.
package enum ControlErrors {}

extension CodedError<ControlErrors>.Code {
    /// No command or property has this name.
    package static var unknownName: Self { Self(rawValue: "unknown-name") }
    /// The value or the argument has another type, or the number of arguments is wrong.
    package static var wrongType: Self { Self(rawValue: "wrong-type") }
    /// The value is outside the range, or too long.
    package static var outOfRange: Self { Self(rawValue: "out-of-range") }
    /// The property cannot be written.
    package static var notWritable: Self { Self(rawValue: "not-writable") }
    /// The property has no value now, or the command is impossible now.
    package static var unavailable: Self { Self(rawValue: "unavailable") }
    /// The command was executed and failed.
    package static var failed: Self { Self(rawValue: "failed") }
}

/// Receives the result of a command: `null` unless the command has one. Called once; must not block.
package typealias ControlReply = @Sendable (Result<JSONValue, ControlError>) -> Void
