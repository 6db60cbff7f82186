/// The interruptions in progress. A value.
///
/// What an interruption states about resuming applies to what it has paused itself, and to the instant at which it
/// ends. Playback therefore resumes at the end of the last one that pauses, if that one permits it, and so did the one
/// that has paused playback. Those that began and ended in between decide nothing: they found playback paused, and
/// leave it so.
struct ActiveInterruptions {
    typealias Cause = PlaybackInterruption.Cause

    private struct Interruption {
        let cause: Cause
        let response: PlaybackSession.Mixing
        /// Whether it has paused playback; otherwise playback was paused, or continues.
        let hasPaused: Bool
    }

    private var all: [Interruption] = []
    /// Whether playback was paused by an interruption, and resumes when none pauses it any more.
    private(set) var resumes = false

    /// The latest cause; nil if there is none.
    var latest: Cause? { all.last?.cause }
    /// Whether one of them lowers the volume.
    var areDucking: Bool { all.contains { $0.response == .ducks } }
    /// The causes that pause playback.
    var pausingCauses: [Cause] { all.filter { $0.response == .pauses }.map(\.cause) }

    func contains(_ cause: Cause) -> Bool { all.contains { $0.cause == cause } }

    /// Adds an interruption. Returns whether playback is to be paused.
    ///
    /// - Parameter isPlaying: Whether something plays, or is about to, that it can pause.
    mutating func add(_ cause: Cause, _ response: PlaybackSession.Mixing, isPlaying: Bool) -> Bool {
        let hasPaused = response == .pauses && isPlaying
        if hasPaused { resumes = true }
        all.append(Interruption(cause: cause, response: response, hasPaused: hasPaused))
        return hasPaused
    }

    /// Makes playback stay paused at the end of all interruptions.
    mutating func cancelResume() { resumes = false }

    /// Removes an interruption, after which playback may resume or not. Returns whether playback resumes now.
    mutating func remove(_ cause: Cause, mayResume: Bool) -> Bool {
        guard let index = all.firstIndex(where: { $0.cause == cause }) else { return false }
        let ended = all.remove(at: index)
        let isLast = pausingCauses.isEmpty
        guard ended.response == .pauses else { return false }
        if !mayResume, ended.hasPaused || isLast { resumes = false }
        guard resumes, isLast else { return false }
        resumes = false
        return true
    }
}
