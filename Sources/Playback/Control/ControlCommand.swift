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
    }

    /// Checked arguments; one for each parameter, nil if omitted.
    package struct Arguments: Sendable {
        let values: [JSONValue?]

        /// Returns an argument; nil if omitted.
        package subscript(index: Int) -> JSONValue? { index < values.count ? values[index] : nil }
        /// Returns the text of an argument; empty if omitted.
        package func text(_ index: Int) -> String { self[index]?.text ?? "" }
        /// Returns the words of an argument that were joined by `+`.
        package func words(_ index: Int) -> [String] { text(index).split(separator: "+").map(String.init) }
    }

    /// The name.
    package let name: String
    /// The parameters in order; optional ones are last.
    package let parameters: [Parameter]
    /// A description for the documentation, without a full stop.
    package let summary: String
    /// Whether a held key repeats the command.
    package let isRepeatable: Bool
    let run: @Sendable (Context, Arguments, @escaping ControlReply) -> Void

    /// Creates a command that replies itself, once, on any thread. `run` is called on the player's thread and must not
    /// block.
    package init(
        _ name: String, _ parameters: [Parameter] = [], _ summary: String, isRepeatable: Bool = false,
        replying run: @escaping @Sendable (Context, Arguments, @escaping ControlReply) -> Void
    ) {
        (self.name, self.parameters, self.summary, self.isRepeatable) = (name, parameters, summary, isRepeatable)
        self.run = run
    }

    /// Creates a command whose result is that of `run`, which is called on the player's thread and must not block.
    package init(
        _ name: String, _ parameters: [Parameter] = [], _ summary: String, isRepeatable: Bool = false,
        run: @escaping @Sendable (Context, Arguments) throws(ControlError) -> Void
    ) {
        self.init(name, parameters, summary, isRepeatable: isRepeatable) { context, arguments, reply in
            do throws(ControlError) {
                try run(context, arguments)
                reply(.success(.null))
            } catch { reply(.failure(error)) }
        }
    }
}

/// A command with checked arguments.
package struct ControlRequest: Sendable {
    /// The command.
    package let command: ControlCommand
    /// The arguments.
    package let arguments: ControlCommand.Arguments
}
