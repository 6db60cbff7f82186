/// One announcement as the network names it: the same service heard on two interfaces is two of these.
package struct ServiceName: Hashable, Sendable {
    /// A kind of service: `_airplay._tcp` (RFC 6763, section 7).
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
    }

    package enum Family: Hashable, Sendable { case v4, v6 }

    package let kind: Kind
    /// At most 63 bytes (RFC 6763, section 4.1.1), any of them.
    package let instance: String
    package let domain: String
    package let interface: Int32
    /// Over which of the two mDNS groups it was heard.
    package let family: Family

    /// A service that is asked for by its name alone, wherever it is, heard of or not.
    package static func sought(_ kind: Kind, _ instance: String) -> ServiceName {
        ServiceName(kind: kind, instance: instance, interface: -1, family: .v4)
    }

    /// AVAHI_IF_UNSPEC is -1, and no interface has that number.
    package var isSought: Bool { interface == -1 }

    package init(kind: Kind, instance: String, domain: String = "local", interface: Int32, family: Family) {
        self.kind = kind
        self.instance = instance
        self.domain = domain
        self.interface = interface
        self.family = family
    }
}
