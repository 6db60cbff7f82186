internal import MediaCore
internal import Playback

/// Accepts commands and remembers their ids, so that none is carried out twice. A value of bounded size.
struct FleetCommandFilter: Sendable {
    enum Verdict: Sendable {
        case carryOut(FleetCommand)
        case answer(FleetAnswer)
    }

    /// The maximum number of remembered commands; the oldest is discarded first. A broker repeats messages within
    /// seconds.
    static let maxRememberedCommands = 256

    private struct Known: Sendable {
        var id: String
        /// Nil while the command is carried out.
        var answer: FleetAnswer?
    }

    /// The commands that are carried out.
    private let table: ControlTable
    private var known: [Known] = []

    init(_ table: ControlTable) { self.table = table }

    /// Returns whether to carry out the command of a message, or the answer to send.
    ///
    /// - Parameter isRetained: Whether the broker stored the message before this connection.
    mutating func accept(_ bytes: UnsafeRawBufferPointer, isRetained: Bool) -> Verdict {
        let command: FleetCommand
        do throws(FleetCommand.Refusal) { command = try FleetCommand(bytes, table) } catch {
            return .answer(FleetAnswer(id: error.id, isDone: false, detail: error.sentence))
        }
        if let old = known.first(where: { $0.id == command.id }) {
            var answer = old.answer ?? FleetAnswer(id: command.id, isDone: false, detail: "The command is in progress.")
            answer.isRepeated = true
            return .answer(answer)
        }
        guard !isRetained else {
            return .answer(
                FleetAnswer(
                    id: command.id, isDone: false,
                    detail: "A retained command would be repeated at every connection; send it without the retain flag."
                )
            )
        }
        if known.count == Self.maxRememberedCommands { known.removeFirst() }
        known.append(Known(id: command.id))
        return .carryOut(command)
    }

    /// Records the answer to a command; returns false if it was answered before.
    mutating func recordAnswer(_ answer: FleetAnswer) -> Bool {
        guard let index = known.firstIndex(where: { $0.id == answer.id }) else { return true }
        guard known[index].answer == nil else { return false }
        known[index].answer = answer
        return true
    }
}
