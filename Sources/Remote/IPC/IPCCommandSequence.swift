internal import MediaCore
internal import Playback

/// Executes commands in order, each after the reply to the preceding one. Continues after its client has disconnected.
/// Any thread.
final class IPCCommandSequence: Sendable {
    private let state: Lock<(commands: ArraySlice<[JSONValue]>, due: Int)>
    private let perform: @Sendable ([JSONValue], @escaping ControlReply) -> Void
    private let end: @Sendable () -> Void

    /// - Parameters:
    ///   - perform: Executes a command and replies once, on any thread.
    ///   - end: Called after the last reply.
    init(
        _ commands: [[JSONValue]], perform: @escaping @Sendable ([JSONValue], @escaping ControlReply) -> Void,
        end: @escaping @Sendable () -> Void
    ) {
        state = Lock((commands[...], 0))
        (self.perform, self.end) = (perform, end)
    }

    /// Executes the next command, or calls `end`.
    func proceed() {
        // Not recursive: a line can have 30,000 commands that reply at once.
        let isFirst = state.withLock { state in
            state.due += 1
            return state.due == 1
        }
        guard isFirst else { return }
        var isDue = true
        while isDue {
            guard let arguments = state.withLock({ $0.commands.popFirst() }) else { return end() }
            perform(arguments) { [self] _ in proceed() }
            isDue = state.withLock { state in
                state.due -= 1
                return state.due > 0
            }
        }
    }
}
