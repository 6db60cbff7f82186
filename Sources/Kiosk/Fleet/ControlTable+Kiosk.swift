internal import MediaCore
package import Playback

extension ControlTable {
    private static let maxSlateBytes = 500
    private static let maxCodeBytes = 1024

    /// Returns the commands and properties of a kiosk: some of the player's, and its own.
    ///
    /// - Parameter perform: Performs each command by the kiosk's rules. Called on the caller's thread; must not block.
    package static func kiosk(
        _ perform: @escaping @Sendable (ControlRequest, @escaping ControlReply) -> Void
    ) -> ControlTable {
        let (maxSlateBytes, maxCodeBytes, player) = (maxSlateBytes, maxCodeBytes, ControlTable.player)
        return ControlTable(
            properties: ["pause", "volume"].compactMap { player.properties[$0] },
            commands: ["set", "playlist-next", "playlist-prev"].compactMap {
                player.commands[$0]?.performed(by: perform)
            } + [
                ControlCommand(
                    "pair-output",
                    [
                        ControlCommand.Parameter("name", .text),
                        ControlCommand.Parameter("code", .text, isOptional: true),
                        ControlCommand.Parameter(
                            "method", .choice(KioskPairing.Method.allCases.map(\.rawValue)), isOptional: true),
                    ],
                    "pairs with a speaker by its password or PIN; without a code the speaker displays its PIN, with which"
                        + " the command is repeated",
                    check: { (arguments) throws(ControlError) in
                        guard arguments.text(1).utf8.count <= maxCodeBytes else {
                            throw ControlError(.outOfRange, "a password has at most \(maxCodeBytes) bytes")
                        }
                    }, perform: perform),
                ControlCommand(
                    "calibrate-outputs", [ControlCommand.Parameter("request", .text)],
                    "calibrates outputs while the film is paused; replies with the progress, of which"
                        + " `calibration-progress` has the rest",
                    perform: perform),
                ControlCommand(
                    "calibration-progress", [],
                    "waits for the next `progress` or the `result` of a calibration, which is cancelled without this"
                        + " command for 5 s", perform: perform),
                ControlCommand(
                    "profiles", [ControlCommand.Parameter("request", .text)],
                    "lists, removes, exports or imports calibrations", perform: perform),
                ControlCommand("reload", [], "reads the configuration again", perform: perform),
                ControlCommand(
                    "screenshot", [], "writes the picture of the screen to a file; its result has the `filename`",
                    perform: perform),
                ControlCommand(
                    "slate", [ControlCommand.Parameter("words", .text, isOptional: true)],
                    "pauses, and shows a slate with a text of at most \(maxSlateBytes) bytes until playback continues",
                    check: { (arguments) throws(ControlError) in
                        guard arguments.text(0).utf8.count <= maxSlateBytes else {
                            throw ControlError(.outOfRange, "the words of a slate have at most \(maxSlateBytes) bytes")
                        }
                    }, perform: perform),
            ])
    }

    /// Adds what a controller displays: `health`, and the other properties of the player, which cannot be changed.
    mutating func addState(health: @escaping @Sendable () -> KioskHealth) {
        for property in ControlTable.player.properties.values where properties[property.name] == nil {
            add(property.writing(nil))
        }
        add(
            .text("health", "what the kiosk does, and its faults") { _ in
                String(MetricsText.healthz(health(), at: .now).text.dropLast())
            })
    }
}
