extension ControlTable {
    /// The commands and properties of every player.
    package static let player = ControlTable(
        properties: ControlProperty.playback + ControlProperty.playlist + ControlProperty.media + ControlProperty.sound
            + ControlProperty.pictures,
        commands: ControlCommand.properties + ControlCommand.playback + ControlCommand.playlist)
}
