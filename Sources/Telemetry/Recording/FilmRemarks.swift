/// Decides when the films of a playlist are recorded. A value; `ID` identifies an item of the playlist.
///
/// A film that follows another one is recorded, and announced to the user, when it starts. A film that starts
/// separately (requested by the user, at a position of its own, or after a failure) is recorded when it is opened.
/// Items that fail while another film plays are not recorded.
package struct FilmRemarks<ID: Equatable & Sendable>: Sendable {
    private enum Stage {
        case idle
        /// The player opens the item. It may have skipped it already and opened others.
        case opening
        /// The item is open and fills its buffers; the following ones are opened in advance.
        case open
        case playing
        case failed
    }

    private var stage = Stage.idle
    private var current: ID?
    /// Whether the current item is recorded.
    private var isRecorded = false
    /// True while the item that is opened is to be recorded and announced when it starts.
    package private(set) var isAwaitingStart = false

    package init() {}

    /// Handles the opening of an item.
    ///
    /// - Parameters:
    ///   - isCommanded: Whether the user chose it, or the playlist starts with it.
    ///   - isSeparate: Whether it cannot follow the preceding item, which has therefore ended.
    package mutating func open(_ id: ID, _ name: String, isCommanded: Bool, isSeparate: Bool) -> [TimelineRemark] {
        let (before, isOther) = (stage, id != current)
        let follows = !isCommanded && (before == .playing || isAwaitingStart)
        (stage, current) = (.opening, id)
        isAwaitingStart = follows && !isSeparate
        if isAwaitingStart {
            isRecorded = false
            return []
        }
        if !isCommanded, !follows {
            switch before {
            // Recorded when it is known which item could be opened.
            case .failed:
                isRecorded = false
                return []
            case .opening, .open: if !isRecorded || !isOther { return [] }
            case .idle, .playing: break
            }
        }
        isRecorded = true
        return (follows && before == .playing ? [.phase("ended")] : []) + [.film(name)]
    }

    /// Handles a phase of the player, which is recorded as well.
    package mutating func enter(_ phase: String, of id: ID, _ name: String) -> [TimelineRemark] {
        if phase == "failed" { return fail(id, name) }
        guard phase == "buffering", stage == .opening else { return [.phase(phase)] }
        (stage, current) = (.open, id)
        if isRecorded || isAwaitingStart { return [.phase(phase)] }
        isRecorded = true
        return [.film(name), .phase(phase)]
    }

    /// Handles the start of an item. At a gapless boundary the caller records the boundary instead of the result.
    package mutating func begin(_ id: ID, _ name: String) -> [TimelineRemark] {
        let isKnown = isRecorded && current == id && (stage == .opening || stage == .open)
        (stage, current, isRecorded, isAwaitingStart) = (.playing, id, true, false)
        return isKnown ? [] : [.film(name)]
    }

    /// Handles the failure of an item that is skipped.
    package mutating func skip(_ id: ID, _ name: String) -> [TimelineRemark] {
        stage == .playing || (stage == .open && current != id) ? [] : fail(id, name)
    }

    private mutating func fail(_ id: ID, _ name: String) -> [TimelineRemark] {
        let isKnown = isRecorded && current == id
        (stage, current, isRecorded, isAwaitingStart) = (.failed, id, true, false)
        return (isKnown ? [] : [.film(name)]) + [.phase("failed")]
    }

    /// Handles a pause of the playlist after its last playable item.
    package mutating func interrupt() -> [TimelineRemark] {
        guard stage == .playing else { return [] }
        stage = .idle
        return [.phase("ended")]
    }
}
