/// One announcement as the network names it: the same service heard on two interfaces is two of these.
public struct ServiceName: Hashable, Sendable {
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        case airPlay = "_airplay._tcp"
        case raop = "_raop._tcp"
    }

    public enum Family: Hashable, Sendable { case v4, v6 }

    public let kind: Kind
    /// At most 63 bytes (RFC 6763, section 4.1.1), any of them.
    public let instance: String
    public let domain: String
    public let interface: Int32
    /// Over which of the two mDNS groups it was heard.
    public let family: Family

    public init(kind: Kind, instance: String, domain: String = "local", interface: Int32, family: Family) {
        self.kind = kind
        self.instance = instance
        self.domain = domain
        self.interface = interface
        self.family = family
    }

    /// What `12 hex digits@name` of a RAOP service says; for AirPlay the name alone.
    var parts: (id: SpeakerID?, name: String) {
        guard kind == .raop, let at = instance.firstIndex(of: "@") else { return (nil, instance) }
        guard let id = SpeakerID(instance[..<at]) else { return (nil, instance) }
        return (id, String(instance[instance.index(after: at)...]))
    }
}
