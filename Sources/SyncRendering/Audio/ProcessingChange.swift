internal import MediaCore

/// The audio processing of a feeder, and its change in progress. Audio that the output has buffered is flushed from a
/// media time on and delivered again with the new processing.
struct ProcessingChange {
    /// Margin beyond the output's lead, so that a second attempt still finds the position ahead of the playhead.
    private static let margin: Duration = .milliseconds(60)
    private static let maxAttempts = 5
    /// Maximum delay of a change that avoids an interruption.
    private static let timeout: Duration = .seconds(2)

    /// The current processing.
    private(set) var processing = AudioProcessing.none
    /// Whether the output holds audio with another processing, for which no flush was begun.
    private var isNew = false
    /// The number of refusals because the flush came too late.
    private var attempts = 0
    /// The earliest instant of the next change: outputs record only a limited number of flush positions.
    private var due: HostInstant?
    /// The partial flush that the output has to decide.
    private var request: PartialFlushRequest?

    /// When a pending change is due; nil if there is none or its flush is in progress. A past instant would keep the
    /// feeder from sleeping.
    var nextDue: HostInstant? { isNew && request == nil ? due : nil }

    /// Sets the processing.
    mutating func set(_ wanted: AudioProcessing) {
        guard wanted != processing else { return }
        processing = wanted
        isNew = true
    }

    /// Returns whether a change has to be begun.
    func isDue(at now: @autoclosure () -> HostInstant) -> Bool {
        isNew && request == nil && (due.map { $0 <= now() } ?? true)
    }

    /// Begins the flush of a change.
    mutating func begin(_ request: PartialFlushRequest) {
        isNew = false
        self.request = request
    }

    /// Ends the change.
    mutating func finish() { self = ProcessingChange(processing: processing) }

    private init(processing: AudioProcessing) { self.processing = processing }

    init() {}

    /// The consequence of a flush's result.
    enum Consequence: Equatable { case nothing, tryAgain, restart }

    /// Handles the result of a partial flush; nothing happens if it is not that of this change.
    ///
    /// - Parameters:
    ///   - lead: The output's lead of partial flushes.
    ///   - now: Nil while the timebase is stopped: another change need not wait.
    mutating func handle(
        _ result: PartialFlushResult, of request: PartialFlushRequest, lead: Duration, now: HostInstant?
    ) -> Consequence {
        guard self.request === request else { return .nothing }
        self.request = nil
        switch result {
        case .flushed:
            attempts = 0
            due = now?.advanced(by: min(.seconds(1), lead))
            return .nothing
        case .refused(.some) where attempts < Self.maxAttempts:
            attempts += 1
            isNew = true
            return .tryAgain
        case .refused:
            finish()
            return .restart
        case .overtaken:
            // The operation that superseded the flush delivers audio with the current processing.
            finish()
            return .nothing
        }
    }

    /// Returns the media time from which audio is delivered again, as close to the playhead as the output permits. Nil
    /// if the output cannot flush and buffers more than `timeout`.
    ///
    /// - Parameters:
    ///   - until: The end of the audio that the output has accepted.
    ///   - rate: That of the timebase; 0: stopped.
    ///   - lead: The output's lead of partial flushes; nil: not supported.
    func restartTime(until: MediaTime, playhead: MediaTime, rate: Double, lead: Duration?) -> MediaTime? {
        let isMoving = rate > 0 || attempts > 0
        let rate = rate > 0 ? rate : 1
        let margin = Self.margin * (attempts + 1)
        if let lead {
            let earliest = isMoving ? playhead.advanced(by: (lead + margin) * rate) : playhead
            if earliest < until || lead <= Self.timeout { return min(earliest, until) }
        }
        return (until - playhead).duration <= Self.timeout * rate ? until : nil
    }
}
