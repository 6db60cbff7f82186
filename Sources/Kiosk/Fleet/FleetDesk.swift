internal import MediaCore

/// Takes commands and remembers which were taken, so that none is done twice. A value; bounded whatever comes.
struct FleetDesk: Sendable {
    enum Verdict: Sendable, Hashable {
        case carryOut(FleetCommand)
        case answer(FleetAnswer)
    }

    /// So many commands are remembered, the oldest forgotten first: a broker repeats what it sent within seconds.
    static let most = 256

    private struct Known: Sendable {
        var id: String
        /// Nil while it is being carried out.
        var answer: FleetAnswer?
    }

    private var known: [Known] = []

    /// - Parameter isRetained: the broker kept it for whoever comes, from before this connection.
    mutating func take(_ bytes: UnsafeRawBufferPointer, isRetained: Bool) -> Verdict {
        let command: FleetCommand
        do throws(FleetCommand.Refusal) { command = try FleetCommand(bytes) } catch {
            return .answer(FleetAnswer(id: error.id, isDone: false, words: error.sentence))
        }
        if let old = known.first(where: { $0.id == command.id }) {
            var answer = old.answer ?? FleetAnswer(id: command.id, isDone: false, words: "It is being done.")
            answer.isRepeated = true
            return .answer(answer)
        }
        guard !isRetained else {
            return .answer(
                FleetAnswer(
                    id: command.id, isDone: false,
                    words: "A retained command would be done at every connection; send it without that flag."))
        }
        if known.count == Self.most { known.removeFirst() }
        known.append(Known(id: command.id))
        return .carryOut(command)
    }

    /// A command has been carried out, or could not be; false when that was said before.
    mutating func note(_ answer: FleetAnswer) -> Bool {
        guard let index = known.firstIndex(where: { $0.id == answer.id }) else { return true }
        guard known[index].answer == nil else { return false }
        known[index].answer = answer
        return true
    }
}
