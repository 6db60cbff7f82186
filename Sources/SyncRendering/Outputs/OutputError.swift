public import MediaCore

/// An error of an output. Playback can continue without the output.
public typealias OutputError = CodedError<OutputErrors>

/// The domain of the codes of `OutputError`.
public enum OutputErrors {}

extension CodedError<OutputErrors>.Code {
    /// There is no such device, or it does not respond.
    public static var unavailable: Self { Self(rawValue: "unavailable") }
    /// Another sender or program uses the device.
    public static var busy: Self { Self(rawValue: "busy") }
    /// The system or the device denies access.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// The device was in use and is lost.
    public static var lost: Self { Self(rawValue: "lost") }
    /// The output does not support the format.
    public static var unsupportedFormat: Self { Self(rawValue: "unsupportedFormat") }
    /// The output requires a clock, and another output requires a different one.
    public static var clockConflict: Self { Self(rawValue: "clockConflict") }
    /// The device failed during operation, or the system provides no thread or descriptor.
    public static var failed: Self { Self(rawValue: "failed") }
}

extension OutputError {
    /// Creates the error for a thread or descriptor that the system did not provide.
    ///
    /// - Parameter name: The name of the output.
    package init(_ error: ExhaustionError, output name: String) {
        self.init(.failed, "\(name) cannot play: \(error.message)")
    }
}

extension Remedy {
    /// The remedy for an output that receives no timing messages of this computer.
    package static let checkFirewall = Remedy(.checkFirewall, advice: "a firewall may block its messages")
}
