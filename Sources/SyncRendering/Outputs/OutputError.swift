public import MediaCore

/// Why an output cannot do what it was asked. The film can go on without it.
public typealias OutputError = CodedError<OutputErrors>

/// The codes of `OutputError`.
public enum OutputErrors {}

extension CodedError<OutputErrors>.Code {
    /// There is no such device, or nothing answers there.
    public static var unavailable: Self { Self(rawValue: "unavailable") }
    /// Somebody else holds it.
    public static var busy: Self { Self(rawValue: "busy") }
    /// The system or the device refuses us.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// It was there and is gone.
    public static var lost: Self { Self(rawValue: "lost") }
    /// It cannot take this format.
    public static var unsupportedFormat: Self { Self(rawValue: "unsupportedFormat") }
    /// It insists on a clock while another output insists on another.
    public static var clockConflict: Self { Self(rawValue: "clockConflict") }
    /// It broke while running, or the system gives no thread or descriptor for it.
    public static var failed: Self { Self(rawValue: "failed") }
}

extension OutputError {
    /// - Parameter name: the output's.
    package init(_ error: ExhaustionError, output name: String) {
        self.init(.failed, "\(name) cannot play: \(error.message)")
    }
}

extension Remedy {
    /// For an output that does not get this computer's time.
    package static let checkFirewall = Remedy(.checkFirewall, advice: "a firewall may keep its messages out")
}
