package import MediaCore

/// A command: its declaration and its execution. Named as mpv's command of the same meaning, if there is one.
package struct ControlCommand: Sendable {
    /// A parameter.
    package struct Parameter: Sendable {
        /// The name, for the documentation.
        package let name: String
        /// The type of the argument.
        package let type: ControlType
        /// Whether the argument may be omitted.
        package let isOptional: Bool

        package init(_ name: String, _ type: ControlType, isOptional: Bool = false) {
            (self.name, self.type, self.isOptional) = (name, type, isOptional)
        }
    }

    /// What a command is executed with.
    package struct Context {
        /// The engine of the player, whose thread this is.
        package let engine: PlaybackEngine
        /// The table of the command.
        package let table: ControlTable
        /// See `ControlRequest.isListed`.
        var isListed = false
    }

    /// Checked arguments; one for each parameter, nil if omitted.
    package struct Arguments: Sendable {
        let values: [JSONValue?]

        /// Returns an argument; nil if omitted.
        package subscript(index: Int) -> JSONValue? { index < values.count ? values[index] : nil }
        /// Returns the text of an argument; empty if omitted.
        package func text(_ index: Int) -> String { self[index]?.text ?? "" }
        /// Returns the words of an argument that were joined by `+`.
        package func flags(_ index: Int) -> [String] { text(index).split(separator: "+").map(String.init) }
    }

    /// The name.
    package let name: String
    /// The parameters in order; optional ones are last.
    package let parameters: [Parameter]
    /// A description for the documentation, without a full stop.
    package let summary: String
    /// Whether a held key repeats the command.
    package let isRepeatable: Bool
    /// Whether it is a command of the program, which does not depend on the player's thread.
    package var isOfProgram: Bool { if case .program = execution { true } else { false } }
    /// Checks arguments beyond their types.
    let check: @Sendable (Arguments) throws(ControlError) -> Void
    let execution: Execution

    /// Where a command is executed.
    enum Execution: Sendable {
        /// On the player's thread, after all earlier commands.
        case player(@Sendable (Context, Arguments) throws(ControlError) -> JSONValue)
        /// At once, on the caller's thread.
        case program(@Sendable (ControlRequest, @escaping ControlReply) -> Void)
    }

    private init(
        _ name: String, _ parameters: [Parameter], _ summary: String, isRepeatable: Bool = false,
        check: @escaping @Sendable (Arguments) throws(ControlError) -> Void = { _ in }, execution: Execution
    ) {
        (self.name, self.parameters, self.summary) = (name, parameters, summary)
        (self.isRepeatable, self.check, self.execution) = (isRepeatable, check, execution)
    }

    /// Creates a command of the player.
    ///
    /// - Parameter run: Returns the result; null: none. Called on the player's thread; must not block.
    package init(
        _ name: String, _ parameters: [Parameter] = [], _ summary: String, isRepeatable: Bool = false,
        returning run: @escaping @Sendable (Context, Arguments) throws(ControlError) -> JSONValue
    ) {
        self.init(name, parameters, summary, isRepeatable: isRepeatable, execution: .player(run))
    }

    /// Creates a command of the player without a result. Otherwise same.
    package init(
        _ name: String, _ parameters: [Parameter] = [], _ summary: String, isRepeatable: Bool = false,
        run: @escaping @Sendable (Context, Arguments) throws(ControlError) -> Void
    ) {
        self.init(name, parameters, summary, isRepeatable: isRepeatable) {
            (context, arguments) throws(ControlError) in
            try run(context, arguments)
            return .null
        }
    }

    /// Creates a command of the program, which does not depend on the player's thread.
    ///
    /// - Parameters:
    ///   - check: Checks the arguments beyond their types.
    ///   - perform: Called on the caller's thread; must not block. Replies once, on any thread.
    package init(
        _ name: String, _ parameters: [Parameter] = [], _ summary: String,
        check: @escaping @Sendable (Arguments) throws(ControlError) -> Void = { _ in },
        perform: @escaping @Sendable (ControlRequest, @escaping ControlReply) -> Void
    ) {
        self.init(name, parameters, summary, check: check, execution: .program(perform))
    }

    /// Returns this command as one of the program: with the same declaration, performed by its own rules.
    package func performed(
        by perform: @escaping @Sendable (ControlRequest, @escaping ControlReply) -> Void
    ) -> ControlCommand {
        ControlCommand(
            name, parameters, summary, isRepeatable: isRepeatable, check: check, execution: .program(perform))
    }
}

/// A command with checked arguments.
package struct ControlRequest: Sendable {
    /// The command.
    package let command: ControlCommand
    /// The arguments.
    package let arguments: ControlCommand.Arguments
    /// The property that the command accesses; nil if there is none.
    package let property: ControlProperty?
    /// Whether another program chose the address that the command opens: of local files only regular ones are opened.
    package var isListed = false

    /// The name and the arguments for a log, without free text.
    package var logText: String {
        let shown = command.parameters.indices.filter { command.parameters[$0].type != .text }
        return ([command.name] + shown.compactMap { arguments[$0]?.mpvText }).joined(separator: " ")
    }
}
