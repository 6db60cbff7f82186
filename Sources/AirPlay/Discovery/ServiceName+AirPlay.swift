package import Discovery

extension ServiceName.Kind {
    package static let airPlay = Self(rawValue: "_airplay._tcp")
    package static let raop = Self(rawValue: "_raop._tcp")
    /// Everything by which a speaker announces itself.
    static let ofSpeakers = [airPlay, raop]
}

extension ServiceName {
    /// What `12 hex digits@name` of a RAOP service says; for AirPlay the name alone.
    var parts: (id: SpeakerID?, name: String) {
        guard kind == .raop, let at = instance.firstIndex(of: "@") else { return (nil, instance) }
        guard let id = SpeakerID(instance[..<at]) else { return (nil, instance) }
        return (id, String(instance[instance.index(after: at)...]))
    }
}
