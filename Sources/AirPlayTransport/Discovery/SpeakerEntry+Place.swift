package import SyncRendering

extension SpeakerEntry {
    /// The kind of the place for the user.
    package var placeKind: OutputPlace.Kind {
        if kind == .stereoPair { return .stereoPair }
        let traits = leader.traits
        return traits.isTelevision ? .television : traits.isMac ? .computer : .speaker
    }

    /// The identifier of the place, the same for each version of AirPlay; speakers without one use their name.
    package var placeID: String { leader.id?.description ?? "name:\(name)" }
}
