internal import MediaCore

extension ControlTable {
    /// The commands and properties of every player.
    package static let player = ControlTable(
        properties: ControlProperty.transport + ControlProperty.sound, commands: ControlCommand.properties)
}

extension ControlProperty {
    private static let maxSeconds = 1e9

    /// Playback.
    static let transport: [ControlProperty] = [
        .number(
            "time-pos", 0...maxSeconds, "the position in the film", unit: .seconds, isContinuous: true,
            read: { $0.isUnderWay ? $0.position.seconds : nil },
            write: { $0.seek(to: MediaTime(seconds: $1), exact: true) },
            step: { $0.seek(by: MediaTime(seconds: $1), exact: true) }),
        .number("duration", 0...maxSeconds, "the duration of the film", unit: .seconds, read: { $0.duration?.seconds }),
        .flag(
            "pause", "whether playback is paused", read: { $0.isPaused },
            write: { $1 ? $0.pause() : $0.play() }, step: { engine, _ in engine.togglePause() }),
        .number(
            "speed", PlayerOptions.speedRange, "seconds of the film per second; the pitch is preserved",
            read: { $0.speed }, write: { $0.setSpeed($1) }),
    ]

    /// Audio.
    static let sound: [ControlProperty] = [
        .flag("mute", "whether the sound is muted", read: { $0.isMuted }, write: { $0.sound.setMuted($1) })
    ]
}

extension PlayerState {
    /// Whether an item is open.
    var isUnderWay: Bool { [.playing, .paused, .buffering].contains(phase) }
}

extension ControlCommand {
    /// Access to properties.
    static let properties: [ControlCommand] = [
        ControlCommand(
            "set", [Parameter("property", .property), Parameter("value", .value)], "sets a property",
            run: { (context, arguments) throws(ControlError) in
                guard let value = arguments[1] else { return }
                try context.table.property(arguments.text(0)).write?(context.engine, value)
            }),
        ControlCommand(
            "cycle",
            [Parameter("property", .property), Parameter("direction", .choice(["up", "down"]), isOptional: true)],
            "changes a property to its next or previous value",
            run: { (context, arguments) throws(ControlError) in
                let steps: Double = arguments.text(1) == "down" ? -1 : 1
                try context.table.property(arguments.text(0)).cycle(steps, context.engine)
            }),
    ]
}

extension ControlProperty {
    /// Changes the value to the next one in a direction; after the last one follows the first.
    fileprivate func cycle(_ steps: Double, _ engine: PlaybackEngine) throws(ControlError) {
        if let step { return try step(engine, steps) }
        guard let value = read(engine.state) else {
            throw ControlError(.unavailable, "the property '\(name)' is unavailable")
        }
        if let flag = value.flag { try write?(engine, .flag(!flag)) }
    }
}
