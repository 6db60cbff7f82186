internal import MediaCore
internal import Playback
internal import Telemetry

/// The item that a kiosk plays or opens next, and the player's progress with it. A value: events of the player in; out
/// are the remarks for the flight recorder, and whether the item is to be shown.
struct ItemProgress: Sendable {
    typealias Item = PlaylistLoader.Item

    /// The result of an event.
    struct Change: Sendable {
        var remarks: [TimelineRemark] = []
        /// Whether the item is to be shown: title, log, window.
        var isToBeShown = false
        /// Whether the preceding item has played to its end.
        var hasEnded = false
    }

    /// Nil until items were found.
    private(set) var item: Item?
    /// The same item in the player's playlist; nil until it is opened.
    private var id: QueueItem.ID?
    /// Whether it is open, and whether it has begun.
    private(set) var isOpen = false
    private(set) var hasBegun = false
    /// The number of open commands whose phase `opening` has not arrived yet.
    private var commands = 0
    private var recorder = FilmRemarks<QueueItem.ID>()

    static func name(of item: Item) -> String { item.title ?? PrintableText.withoutCredentials(item.address) }

    // MARK: Commands

    /// Makes an item the one that is opened next.
    mutating func select(_ item: Item) { (self.item, id, isOpen, hasBegun) = (item, nil, false, false) }

    /// Records that the player was requested to open an item.
    mutating func expectOpening() { commands += 1 }

    /// Records that the item is left before its end.
    mutating func leave() { hasBegun = false }

    // MARK: Events

    /// True while events concern items that are replaced by a command.
    var isReplaced: Bool { commands > 0 }

    /// Handles the phase `opening`. Returns whether it follows a command; nil if another command has replaced it.
    mutating func consumeOpening() -> Bool? {
        let isCommanded = commands > 0
        commands = max(0, commands - 1)
        return commands == 0 ? isCommanded : nil
    }

    /// Handles the opening of an item. Returns nil if it is the same item, opened again by the player.
    ///
    /// - Parameter isSeparate: Whether it or the preceding item is played alone.
    mutating func open(_ next: QueueItem, isCommanded: Bool, isSeparate: Bool) -> Change? {
        guard isCommanded || next.id != id else { return nil }
        let item = Item(next)
        let change = Change(
            remarks: recorder.open(
                next.id, Self.name(of: item), isCommanded: isCommanded || !hasBegun, isSeparate: isSeparate),
            hasEnded: hasBegun && !isCommanded)
        (self.item, id, isOpen, hasBegun) = (item, next.id, false, false)
        return change
    }

    /// Handles another phase.
    mutating func enter(_ phase: PlayerState.Phase) -> Change {
        guard let item else { return Change(remarks: [.phase(phase.rawValue)]) }
        var change = Change()
        if let id {
            change.remarks = recorder.enter(phase.rawValue, of: id, Self.name(of: item))
        } else {
            change.remarks = [.phase(phase.rawValue)]
        }
        switch phase {
        case .buffering:
            // An item that follows another one is shown when it starts.
            change.isToBeShown = !isOpen && !recorder.isAwaitingStart
            isOpen = true
        case .failed: (isOpen, hasBegun) = (false, false)
        case .idle, .opening, .playing, .paused, .ended: break
        }
        return change
    }

    /// Handles the start of an item.
    ///
    /// - Parameters:
    ///   - time: Its start on the timeline.
    ///   - origin: Where its own time 0 is on the timeline; nil unless it follows the preceding item gaplessly.
    mutating func begin(_ next: QueueItem, at time: MediaTime, origin: MediaTime?) -> Change {
        let (begun, isAwaited) = (Item(next), recorder.isAwaitingStart)
        let name = Self.name(of: begun)
        let separate = recorder.begin(next.id, name)
        let isToBeShown = origin != nil || isAwaited || !isOpen || hasBegun || next.id != id
        if isToBeShown { (item, id, isOpen) = (begun, next.id, true) }
        hasBegun = true
        return Change(
            remarks: origin.map { [TimelineRemark.gaplessBoundary(name: name, at: time, origin: $0)] } ?? separate,
            isToBeShown: isToBeShown)
    }

    /// Handles an item that is skipped.
    mutating func skip(_ item: QueueItem) -> [TimelineRemark] { recorder.skip(item.id, Self.name(of: Item(item))) }

    /// Handles a pause of the playlist after its last playable item.
    mutating func interrupt() -> [TimelineRemark] { recorder.interrupt() }
}
