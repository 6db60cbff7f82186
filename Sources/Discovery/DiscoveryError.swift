package import MediaCore

/// Why a speaker was not found or cannot be named this way.
package typealias DiscoveryError = CodedError<DiscoveryErrors>

/// The codes of `DiscoveryError`.
package enum DiscoveryErrors {}

extension CodedError<DiscoveryErrors>.Code {
    /// No avahi-daemon answers; speakers can still be named by their address.
    package static var daemonMissing: Self { Self(rawValue: "daemon-missing") }
    /// Nothing of that name is on the network, or it went away.
    package static var notFound: Self { Self(rawValue: "not-found") }
    /// Several speakers have that name; their ids differ.
    package static var ambiguous: Self { Self(rawValue: "ambiguous") }
    /// The words are not an address.
    package static var badAddress: Self { Self(rawValue: "bad-address") }
}
