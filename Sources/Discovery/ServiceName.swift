/// The identity of one announcement; one service on two interfaces has two of these.
package struct ServiceName: Hashable, Sendable {
    /// A service type, such as `_airplay._tcp` (RFC 6763, section 7).
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The mDNS group.
    package enum Family: Hashable, Sendable { case v4, v6 }

    package let kind: Kind
    /// Instance name: arbitrary, at most 63 bytes (RFC 6763, section 4.1.1).
    package let instance: String
    let domain: String
    /// Interface index.
    let interface: Int32
    /// The mDNS group on which it was received.
    let family: Family

    /// Returns the identity for resolving a service by its name alone, on any interface and without browsing.
    package static func sought(_ kind: Kind, _ instance: String) -> ServiceName {
        ServiceName(kind: kind, instance: instance, interface: -1, family: .v4)
    }

    /// True if created by `sought`: AVAHI_IF_UNSPEC is -1, which is no valid index.
    package var isSought: Bool { interface == -1 }

    package init(kind: Kind, instance: String, domain: String = "local", interface: Int32, family: Family) {
        self.kind = kind
        self.instance = instance
        self.domain = domain
        self.interface = interface
        self.family = family
    }
}
