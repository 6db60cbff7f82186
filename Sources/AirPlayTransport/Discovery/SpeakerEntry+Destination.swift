package import SyncRendering

extension SpeakerEntry {
    /// The kind of the destination for the user.
    package var destinationKind: OutputDestination.Kind {
        if kind == .stereoPair { return .stereoPair }
        let traits = leader.traits
        return traits.isTelevision ? .television : traits.isMac ? .computer : .speaker
    }

    /// The identifier of the destination, the same for each version of AirPlay; speakers without one use their name.
    package var destinationID: String { leader.id?.description ?? "name:\(name)" }
}
