package import MediaCore

/// The subject of a log sentence, for programs that read the journal.
struct KioskNote: Sendable, Equatable {
    enum Event: String, Sendable, CaseIterable {
        case start = "start"
        case reload = "reload"
        case stop = "stop"
        /// An item starts.
        case item = "item"
        /// An item cannot be played.
        case broken = "broken"
        /// Video or audio is missing for longer than expected.
        case fault = "fault"
        /// A repair was made, or a fault is over.
        case repair = "repair"
        /// The programme changes; quiet hours start or end.
        case schedule = "schedule"
        case output = "output"
    }

    var event: Event?
    /// The name in the playlist, without credentials.
    var item: String?
    /// The stage of a repair.
    var stage: String?

    init(_ event: Event? = nil, item: String? = nil, stage: String? = nil) {
        self.event = event
        self.item = item.map { PrintableText.withoutCredentials($0) }
        self.stage = stage
    }
}

/// The log of a kiosk: the journal if standard error is connected to it, otherwise plain sentences as in other
/// commands. Any thread.
package struct KioskLog: Sendable {
    private let journal: ServiceJournal?
    private let plainly: @Sendable (LogLevel, String) -> Void
    private let maxLevel: LogLevel

    /// Creates a log.
    ///
    /// - Parameters:
    ///   - maxLevel: The least severe level that is logged.
    ///   - journal: `ServiceJournal.ofStandardError()`.
    ///   - plainly: Writes a sentence to the terminal.
    package init(
        maxLevel: LogLevel, journal: ServiceJournal?, plainly: @escaping @Sendable (LogLevel, String) -> Void
    ) {
        (self.maxLevel, self.journal, self.plainly) = (maxLevel, journal, plainly)
    }

    /// Logs a sentence.
    func say(_ level: LogLevel, _ sentence: String, _ note: KioskNote = KioskNote()) {
        guard level <= maxLevel else { return }
        if let journal { journal.write(level, sentence, note) } else { plainly(level, sentence) }
    }

    /// Writes all pending sentences. Must be the last call.
    package func close() { journal?.close() }
}
