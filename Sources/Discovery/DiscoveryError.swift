package import MediaCore

/// The reason why a speaker was not found or cannot be addressed.
package typealias DiscoveryError = CodedError<DiscoveryErrors>

/// The domain of the codes of `DiscoveryError`.
package enum DiscoveryErrors {}

extension CodedError<DiscoveryErrors>.Code {
    /// avahi-daemon is not running; speakers can still be addressed by IP address.
    package static var daemonMissing: Self { Self(rawValue: "daemon-missing") }
    /// No service of that name is announced, or it has disappeared.
    package static var notFound: Self { Self(rawValue: "not-found") }
    /// Several speakers have that name; their ids differ.
    package static var ambiguous: Self { Self(rawValue: "ambiguous") }
    /// The text is not an address.
    package static var badAddress: Self { Self(rawValue: "bad-address") }
}
