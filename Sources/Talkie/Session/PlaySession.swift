/// Everything between the words of `talkie play` and its exit status. Runs on the main thread and returns when the
/// last film has ended or the user has had enough.
public enum PlaySession {
    /// - Returns: the exit status.
    /// - Throws: what kept the films from being played, with its exit status; nothing is left open.
    public static func run(_ arguments: PlayArguments) throws(PlayerFailure) -> Int32 {
        for file in arguments.files {
            if let objection = InputCheck.objection(to: file) { throw objection }
        }
        for case .named(let name) in arguments.speakers {
            throw PlayerFailure(
                exitStatus: ExitStatus.unavailable,
                message: "the speaker '\(name)' cannot be driven yet; leave --speaker out or say --speaker local")
        }
        throw PlayerFailure(exitStatus: ExitStatus.unavailable, message: "films cannot be shown yet")
    }
}
