extension ControlTable {
    /// A table of the commands and properties of every player, for one player: `playlist` keeps its last value.
    package static var player: ControlTable {
        ControlTable(
            properties: ControlProperty.playback + ControlProperty.playlist + [.films] + ControlProperty.media
                + ControlProperty.audio + ControlProperty.video,
            commands: ControlCommand.properties + ControlCommand.playback + ControlCommand.playlist)
    }
}
