package import Discovery

extension ServiceName.Kind {
    package static let airPlay = Self(rawValue: "_airplay._tcp")
    package static let raop = Self(rawValue: "_raop._tcp")
    /// The services that announce speakers.
    package static let ofSpeakers = [airPlay, raop]
}

extension ServiceName {
    /// The parts of a RAOP instance name `12 hex digits@name`; for AirPlay the name alone.
    package var components: (id: SpeakerID?, name: String) {
        guard kind == .raop, let at = instance.firstIndex(of: "@") else { return (nil, instance) }
        guard let id = SpeakerID(instance[..<at]) else { return (nil, instance) }
        return (id, String(instance[instance.index(after: at)...]))
    }
}
