package import MediaCore
import SyncRendering

@testable package import Playback

/// A command and property table without a player: properties have the values that were set, and commands are recorded.
/// Names and types are checked as by the real table. Any thread.
package final class TablePlayer: Sendable {
    private struct State {
        var values: [String: JSONValue] = [:]
        var commands: [String] = []
        var refusal: ControlError?
        var held: [@Sendable () -> Void] = []
        var holds = false
    }

    private let state = Lock(State())
    private let board = PlayerStatePublisher(timebase: RenderSynchronizer(clock: MonotonicClock()).timebase)
    private let made = Lock<PlayerControl?>(nil)

    /// Creates a player that plays the second of three films.
    package init() {
        state.withLock { state in
            state.values = [
                "pause": .flag(false), "idle-active": .flag(false), "eof-reached": .flag(false),
                "speed": .real(1, decimals: 6), "volume": .real(80, decimals: 6), "volume-max": .real(130, decimals: 6),
                "loop-file": .flag(false), "loop-playlist": .flag(false), "shuffle": .flag(false),
                "duration": .real(60, decimals: 6), "time-pos": .real(10, decimals: 6), "media-title": .text("Zwei"),
                "metadata": .object([
                    ("artist", .text("Ada")), ("album", .text("Album")), ("genre", .text("Folk")),
                    ("track", .text("3")),
                ]), "fullscreen": .flag(false),
            ]
        }
        setPlaylist([11, 12, 13], current: 12)
        var table = ControlTable.player
        for property in table.properties.values { table.add(stored(property)) }
        table.add(stored(.flag("fullscreen", "full screen", read: { _ in nil }, write: { _, _ in })))
        table.add(stored(.text("next-episode", "the offered episode", read: { _ in nil })))
        for command in table.commands.values { table.add(recorded(command)) }
        for name in ["quit", "raise"] { table.add(recorded(ControlCommand(name, [], "does it", run: { _, _ in }))) }
        let control = PlayerControl(PlayerMailbox(), board, table: table)
        made.withLock { $0 = control }
    }

    /// The control of the player.
    package var control: PlayerControl { made.withLock { $0! } }

    private func stored(_ property: ControlProperty) -> ControlProperty {
        let write: ControlProperty.Write = { _, _ in }
        return ControlProperty(
            property.name, property.type, property.summary, isContinuous: property.isContinuous,
            read: { [self] _ in state.withLock { $0.values[property.name] } },
            write: property.isWritable ? write : nil)
    }

    private func recorded(_ command: ControlCommand) -> ControlCommand {
        command.performed { [self] request, reply in
            let answer: @Sendable () -> Void = { [self] in reply(perform(request)) }
            let isHeld = state.withLock { state in
                if state.holds { state.held.append(answer) }
                return state.holds
            }
            if !isHeld { answer() }
        }
    }

    private func perform(_ request: ControlRequest) -> Result<JSONValue, ControlError> {
        let result: Result<JSONValue, ControlError> = state.withLock { state in
            let words = (0..<request.command.parameters.count).compactMap { request.arguments[$0]?.mpvText }
            state.commands.append(([request.command.name] + words).joined(separator: " "))
            if let refusal = state.refusal { return .failure(refusal) }
            if request.command.name == "set", let name = request.property?.name, let value = request.arguments[1] {
                state.values[name] = value
            }
            return .success(.null)
        }
        control.propertiesHaveChanged()
        return result
    }

    /// Sets a property; nil: unavailable.
    package func set(_ name: String, _ value: JSONValue?) {
        state.withLock { $0.values[name] = value }
        control.propertiesHaveChanged()
    }

    /// Sets the playlist to films of these IDs.
    package func setPlaylist(_ ids: [Int], current: Int?) {
        let items = ids.map { id -> JSONValue in
            .object(
                [("filename", .text("/films/\(id) ä.mkv")), ("title", .text("Film \(id)")), ("id", .integer(id))]
                    + (id == current ? [("current", .flag(true))] : []))
        }
        state.withLock { $0.values["playlist"] = .array(items) }
        made.withLock { $0 }?.propertiesHaveChanged()
    }

    /// Reports an event of the player.
    package func report(_ event: PlayerEvent) { board.changes.report(event) }

    /// Lets all commands fail; nil: none.
    package func refuse(_ error: ControlError?) { state.withLock { $0.refusal = error } }

    /// Lets commands wait for `release`.
    package func hold() { state.withLock { $0.holds = true } }

    /// Executes the waiting commands.
    package func release() {
        let held = state.withLock { state in
            defer { (state.holds, state.held) = (false, []) }
            return state.held
        }
        for answer in held { answer() }
    }

    /// The number of commands that wait for `release`.
    package var heldCount: Int { state.withLock { $0.held.count } }

    /// Returns the executed commands, and forgets them.
    package func takeCommands() -> [String] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }
}
