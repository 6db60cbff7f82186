public import MediaCore

/// Why a speaker was not found or cannot be named this way.
public typealias DiscoveryError = CodedError<DiscoveryErrors>

/// The codes of `DiscoveryError`.
public enum DiscoveryErrors {}

extension CodedError<DiscoveryErrors>.Code {
    /// No avahi-daemon answers; speakers can still be named by their address.
    public static var daemonMissing: Self { Self(rawValue: "daemon-missing") }
    /// Nothing of that name is on the network, or it went away.
    public static var notFound: Self { Self(rawValue: "not-found") }
    /// Several speakers have that name; their ids differ.
    public static var ambiguous: Self { Self(rawValue: "ambiguous") }
    /// The words are not an address.
    public static var badAddress: Self { Self(rawValue: "bad-address") }
}
