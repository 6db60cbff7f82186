package import MediaCore

/// The reason why this computer cannot take part in PTP timing.
package typealias PTPError = CodedError<PTPErrors>

/// The domain of the codes of `PTPError`.
package enum PTPErrors {}

extension CodedError<PTPErrors>.Code {
    /// The ports are below 1024 and this process lacks the privilege to bind them.
    package static var notPermitted: Self { Self(rawValue: "not-permitted") }
    /// Another program holds the ports on this address.
    package static var portsBusy: Self { Self(rawValue: "ports-busy") }
    /// This computer does not have the address, or the system cannot create a socket, signal or thread.
    package static var unavailable: Self { Self(rawValue: "unavailable") }
}
