package import MediaCore

/// What a sentence of a kiosk is about, for programs that read the journal.
package struct KioskNote: Sendable, Equatable {
    package enum Event: String, Sendable, CaseIterable {
        case start, reload, stop
        /// Another item begins.
        case item
        /// An item cannot be played.
        case broken
        /// Nothing is shown or heard for longer than there should be.
        case fault
        /// A step was taken against a fault, or ended one.
        case repair
        /// Another programme, quiet hours.
        case schedule
        case output
    }

    package var event: Event?
    /// The item as its list names it, without names and passwords.
    package var item: String?
    /// Which step of a repair.
    package var stage: String?

    package init(_ event: Event? = nil, item: String? = nil, stage: String? = nil) {
        self.event = event
        self.item = item.map { PrintableText.withoutCredentials($0) }
        self.stage = stage
    }
}

/// Where a kiosk says what it does: the journal where standard error leads there, otherwise plain sentences as everywhere in the program. Any
/// thread.
package struct KioskLog: Sendable {
    private let journal: ServiceJournal?
    private let plainly: @Sendable (LogLevel, String) -> Void
    private let most: LogLevel

    /// - Parameters:
    ///   - most: what is told besides errors; those below are not.
    ///   - journal: `ServiceJournal.ofStandardError()`.
    ///   - plainly: writes a sentence on the terminal.
    package init(
        most: LogLevel, journal: ServiceJournal?, plainly: @escaping @Sendable (LogLevel, String) -> Void
    ) {
        (self.most, self.journal, self.plainly) = (most, journal, plainly)
    }

    package func say(_ level: LogLevel, _ sentence: String, _ note: KioskNote = KioskNote()) {
        guard level <= most else { return }
        if let journal { journal.write(level, sentence, note) } else { plainly(level, sentence) }
    }

    /// Nothing of it is lost when the process ends. The last call.
    package func close() { journal?.close() }
}
