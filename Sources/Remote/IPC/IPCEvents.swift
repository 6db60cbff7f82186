internal import MediaCore
internal import Playback

/// Translates the events of a player into mpv's (its manual, "List of events").
struct IPCEvents {
    typealias Event = (name: String, members: [(String, JSONValue)])

    /// All events that a client can disable.
    static let names: Set<String> = [
        "start-file", "file-loaded", "end-file", "seek", "playback-restart", "idle", "shutdown", "client-message",
        "property-change",
    ]

    /// The maximum number of items in `failures`; further ones are not reported.
    static let maxFailures = 256

    /// The item between its `start-file` and its `end-file`.
    private var current: Int?
    /// Whether it has its `file-loaded`.
    private var isLoaded: Bool
    /// Whether an item is open, although it may not have begun: others that fail are opened in advance.
    private var isOpen: Bool
    /// Whether the item that is being opened has not begun: its first position is reported as a seek before that.
    private var awaitsBegin: Bool
    /// The items that were opened in advance and have failed; reported after the end of the open one.
    private var failures: [(number: Int, error: TalkieError)] = []

    /// - Parameter state: The state before the first event.
    init(after state: PlayerState = PlayerState()) {
        current = state.isUnderWay || state.phase == .opening ? state.current.map(Self.number) : nil
        // An item begins when it first plays or pauses.
        isLoaded = state.phase == .playing || state.phase == .paused
        isOpen = state.isUnderWay
        awaitsBegin = !isLoaded && (state.phase == .opening || state.phase == .buffering)
    }

    /// Returns the events of an event of the player.
    ///
    /// - Parameter isStopped: Whether the playlist is empty, which is the effect of the command `stop`.
    mutating func events(for event: PlayerEvent, isStopped: Bool) -> [Event] {
        switch event {
        case .ended(let item): return Self.number(of: item) == current ? ended("eof") : []
        case .began(let item, _, _):
            let number = Self.number(of: item)
            awaitsBegin = false
            guard number != current || !isLoaded else { return [] }
            // A command has replaced an item that has not ended.
            let end = current == nil || number == current ? [] : ended("stop")
            let start = end + (number == current ? [] : [started(number)])
            (current, isLoaded) = (number, true)
            return start + [("file-loaded", []), ("playback-restart", [])]
        case .failed(let item, let error):
            let number = Self.number(of: item)
            if number == current { return ended("error", error) }
            if failures.count < Self.maxFailures { failures.append((number, error)) }
            return current == nil && !isOpen ? failed() : []
        case .phase(.opening):
            (isOpen, awaitsBegin) = (false, true)
            return current == nil ? failed() : []
        case .phase(.buffering):
            isOpen = true
            return []
        case .phase(.ended):
            (isOpen, awaitsBegin) = (false, false)
            // They are not to be played any more.
            if isStopped { failures = [] }
            return ended("stop") + [("idle", [])]
        case .phase(.failed):
            (isOpen, awaitsBegin) = (false, false)
            return ended("error") + [("idle", [])]
        case .phase(.playing), .phase(.paused):
            awaitsBegin = false
            return []
        case .seeking: return [("seek", [])]
        case .sought: return awaitsBegin ? [] : [("playback-restart", [])]
        case .looped:
            awaitsBegin = false
            return [("seek", []), ("playback-restart", [])]
        case .phase, .message, .incomplete, .outputProblem, .outputRecovered, .routeChanged, .interruption, .lost:
            return []
        }
    }

    /// Returns the events of the end of the program.
    mutating func eventsOfShutdown() -> [Event] {
        failures = []
        return ended("quit") + [("shutdown", [])]
    }

    private static func number(of item: QueueItem) -> Int { Int(truncatingIfNeeded: item.id.number) }

    private func started(_ number: Int) -> Event { ("start-file", [("playlist_entry_id", .integer(number))]) }

    private func ended(_ number: Int, _ reason: String, _ error: TalkieError?) -> Event {
        let members: [(String, JSONValue)] = [("reason", .text(reason)), ("playlist_entry_id", .integer(number))]
        return ("end-file", members + (error.map { [("file_error", .text($0.message))] } ?? []))
    }

    /// Returns the events of the end of the current item, and of those that have failed meanwhile.
    private mutating func ended(_ reason: String, _ error: TalkieError? = nil) -> [Event] {
        (current.take().map { [ended($0, reason, error)] } ?? []) + failed()
    }

    private mutating func failed() -> [Event] {
        defer { failures = [] }
        return failures.flatMap { [started($0.number), ended($0.number, "error", $0.error)] }
    }
}
