internal import MediaCore
internal import SyncRendering

extension OutputCommand {
    /// Performs the command as that of the table which keys and remote controllers use. One that is refused has no
    /// effect, such as the next item at the end of the list.
    ///
    /// - Parameter engine: The engine of the player, whose thread this is.
    func perform(on engine: PlaybackEngine, from output: OutputID) {
        let arguments: [JSONValue]
        switch self {
        case .play: arguments = [.text("set"), .text("pause"), .text("no")]
        // The table's `stop` clears the list.
        case .pause, .stop: arguments = [.text("set"), .text("pause"), .text("yes")]
        case .togglePause: arguments = [.text("cycle"), .text("pause")]
        case .next: arguments = [.text("playlist-next")]
        case .previous: arguments = [.text("playlist-prev")]
        case .seek(let distance): arguments = [.text("seek"), .real(distance.seconds, decimals: 3)]
        case .toggleMute: arguments = [.text("cycle"), .text("mute")]
        case .changeVolume(let steps): arguments = [.text("add"), .text("volume"), .real(steps, decimals: 3)]
        case .setVolume(let volume): return engine.audioControl.adoptVolume(volume, of: output)
        }
        let table = engine.controls
        // ignored: see above.
        guard let request = try? table.request(arguments) else { return }
        switch request.command.execution {
        case .program(let perform): perform(request) { _ in }
        // ignored: see above.
        case .player(let run): _ = try? run(ControlCommand.Context(engine: engine, table: table), request.arguments)
        }
    }
}
