package import MediaCore
internal import SyncRendering

/// Executes commands and accesses properties of a player by name: for keys, the bar, and remote controllers. A player
/// has at most one. Any thread.
package final class PlayerControl: Sendable {
    package static let ended = ControlError(.unavailable, "the player has ended")
    /// The error of a command while too many wait.
    static let busy = ControlError(.unavailable, "the player is busy; try again")

    /// The commands and properties.
    package let table: ControlTable
    private let mailbox: PlayerMailbox
    private let publisher: PlayerStatePublisher
    private let observer: ControlObserver

    /// Creates the control of a player.
    ///
    /// - Parameter table: `ControlTable.player`, with what the program adds.
    package convenience init(_ player: Player, table: ControlTable = .player) {
        self.init(player.mailbox, player.publisher, table: table)
    }

    init(_ mailbox: PlayerMailbox, _ publisher: PlayerStatePublisher, table: ControlTable = .player) {
        var table = table
        table.addLists()
        (self.mailbox, self.publisher, self.table) = (mailbox, publisher, table)
        observer = ControlObserver(publisher)
        // For the commands of outputs.
        mailbox.post { [table] in $0.controls = table }
    }

    // MARK: Properties

    /// The state that the properties describe.
    package var state: PlayerState { publisher.state }

    /// Returns the value of a property.
    ///
    /// - Throws: `unknownName` or `unavailable`.
    package func value(of name: String) throws(ControlError) -> JSONValue {
        let property = try table.property(name)
        guard let value = property.read(publisher.state) else {
            throw ControlError(.unavailable, "the property '\(property.name)' is unavailable")
        }
        return value
    }

    /// Sets a property; same as the command `set`.
    package func set(_ name: String, to value: JSONValue, reply: @escaping ControlReply = { _ in }) {
        perform([.text("set"), .text(name), value], reply: reply)
    }

    // MARK: Commands

    /// Executes a command: on the player's thread, after all earlier ones; a command of the program at once.
    ///
    /// - Parameters:
    ///   - words: The name and the arguments.
    ///   - reply: Receives the result when properties have their new values. Called once, on any thread, also if the
    ///     command is refused.
    package func perform(_ words: [JSONValue], reply: @escaping ControlReply = { _ in }) {
        do throws(ControlError) { perform(try table.request(words), reply: reply) } catch { reply(.failure(error)) }
    }

    /// Same with a checked command.
    package func perform(_ request: ControlRequest, reply: @escaping ControlReply = { _ in }) {
        switch request.command.execution {
        case .program(let perform): perform(request, reply)
        case .player(let run):
            let isTaken = mailbox.request { [table] engine in
                let context = ControlCommand.Context(engine: engine, table: table, isListed: request.isListed)
                do throws(ControlError) { reply(.success(try run(context, request.arguments))) } catch {
                    reply(.failure(error))
                }
            }
            if !isTaken { reply(.failure(mailbox.isClosed ? Self.ended : Self.busy)) }
        }
    }

    /// Calls a closure on the player's thread after all earlier commands; at once if the player has ended.
    package func afterCommands(_ body: @escaping @Sendable () -> Void) {
        if !mailbox.request({ _ in body() }) { body() }
    }

    // MARK: Observation

    /// Observes a property, from its present value on. Changes in quick succession are coalesced; a continuous property
    /// is reported four times per second during playback.
    ///
    /// - Parameter handler: Receives the value; nil: unavailable. Called on the control's thread; must not block.
    /// - Returns: The number for `removeObserver`.
    /// - Throws: `unknownName`; `ended`; `unavailable` if there is no thread.
    package func observe(
        _ name: String, _ handler: @escaping @Sendable (JSONValue?) -> Void
    ) throws(ControlError) -> Int {
        let property = try table.property(name)
        return try observer.add { $0.add(property, handler) }
    }

    /// Observes the events of the player. Otherwise same as `observe`.
    package func observeEvents(_ handler: @escaping @Sendable (PlayerEvent) -> Void) throws(ControlError) -> Int {
        try observer.add { $0.add(handler) }
    }

    /// Observes the image of the current item: the bytes of its file, see `PlayerOptions.loadsArtwork`; nil: none.
    /// Otherwise same as `observe`.
    package func observeArtwork(_ handler: @escaping @Sendable ([UInt8]?) -> Void) throws(ControlError) -> Int {
        let number = ControlProperty("artwork", .node, "", read: { .integer($0.artworkNumber) })
        return try observer.add { [publisher] in $0.add(number) { _ in handler(publisher.state.artwork?.bytes) } }
    }

    /// Ends an observation. A call of its handler may still be in progress.
    package func removeObserver(_ number: Int) { observer.remove(number) }

    /// Signals that properties which the program has added may have changed.
    package func propertiesHaveChanged() { publisher.changes.raise() }

    /// Ends all observations. Must not be called by a handler.
    package func close() { observer.close() }
}
