package import MediaCore

/// Why this computer cannot take part in PTP timing.
package typealias PTPError = CodedError<PTPErrors>

/// The codes of `PTPError`.
package enum PTPErrors {}

extension CodedError<PTPErrors>.Code {
    /// The ports are below 1024 and this process may not bind them.
    package static var notPermitted: Self { Self(rawValue: "not-permitted") }
    /// Another program holds the ports on this address.
    package static var portsBusy: Self { Self(rawValue: "ports-busy") }
    /// This computer does not have the address, or the system refuses a socket.
    package static var unavailable: Self { Self(rawValue: "unavailable") }
}
