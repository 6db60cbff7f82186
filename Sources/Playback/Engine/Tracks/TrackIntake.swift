internal import MediaCore

/// The reading state of a track. It is written by the pipeline's thread and read by the engine, which decides whether
/// the timeline must be held. Any thread; the lock is held for nanoseconds.
final class TrackIntake: Sendable {
    /// The activity of the pipeline's thread since the last seek.
    struct Report: Sendable {
        /// The timeline up to which decoded video frames were enqueued; nil before the first. Unused for audio, whose
        /// renderer reports it.
        var handedUntil: MediaTime?
        /// The timeline up to which the source has delivered, decoded or not; nil before the first packet.
        var readUntil: MediaTime?
        /// When the current call into the source started.
        fileprivate var readSince: HostInstant?
        /// Since when the renderer has wanted more media.
        fileprivate var hungrySince: HostInstant?
        /// The time spent in calls into the source since then, without the current one.
        fileprivate var readTime = Duration.zero
        /// When the source delivered last, or a reserve was requested.
        fileprivate var deliveredAt: HostInstant?
        /// Whether the reserve exceeds the memory limit of the track.
        fileprivate(set) var isSated = false
        /// Whether the timeline does not wait for the track until its source delivers again.
        fileprivate(set) var isExcused = false

        /// A longer call waits for a network or a disk.
        private static let slowCall = Duration.milliseconds(200)

        /// Returns true if the source has delivered nothing for a time.
        func isSilent(for time: Duration, at now: HostInstant) -> Bool { deliveredAt.map { now - $0 >= time } ?? false }

        /// Returns true if the track lacks media because of its source and not because of slow decoding: the current
        /// call is long, or most of the time was spent in such calls.
        func isWaitingForSource(at now: HostInstant) -> Bool {
            guard let readSince, let hungrySince else { return false }
            let call = now - readSince
            return call >= Self.slowCall || (readTime + call) * 2 > now - hungrySince
        }
    }

    /// Guarded by the lock `state`.
    private struct State {
        var report = Report()
        /// The timeline up to which to read although the renderer is full.
        var reserve: MediaTime?
    }

    private let state = Lock(State())
    private let clock: any HostClock

    init(clock: any HostClock) { self.clock = clock }

    var report: Report { state.withLock { $0.report } }

    // MARK: Engine's thread

    /// Requests reading up to a position although the renderer is full; nil: only as the renderer requires.
    func setReserve(until position: MediaTime?) {
        let now = clock.now
        state.withLock { state in
            state.reserve = position
            (state.report.isSated, state.report.deliveredAt) = (false, now)
        }
    }

    /// Excludes the track from holds until its source delivers again.
    func excuse() { state.withLock { $0.report.isExcused = true } }

    // MARK: Pipeline's thread

    /// Whether the engine requires more than the renderer accepts.
    var wantsMore: Bool {
        state.withLock { state in state.reserve.map { $0 > state.report.readUntil ?? .zero } ?? false }
    }

    /// Resets the state for a seek.
    func restart() { state.withLock { $0 = State() } }

    /// Records the start of a call into the source, which may block.
    func beginReading() {
        let now = clock.now
        state.withLock { state in
            state.report.readSince = now
            if state.report.hungrySince == nil { state.report.hungrySince = now }
        }
    }

    /// Records the end of a call into the source.
    func endReading() {
        let now = clock.now
        state.withLock { state in
            guard let since = state.report.readSince.take() else { return }
            state.report.readTime += now - since
        }
    }

    /// Records that the renderer is full or the track has ended.
    func rest() { state.withLock { ($0.report.hungrySince, $0.report.readTime) = (nil, .zero) } }

    func record(readUntil position: MediaTime) {
        let now = clock.now
        state.withLock { state in
            if let before = state.report.readUntil, before >= position { return }
            state.report.readUntil = position
            (state.report.deliveredAt, state.report.isExcused) = (now, false)
        }
    }

    /// Records that no more of the reserve can be read.
    func markSated() {
        state.withLock { state in
            state.reserve = nil
            state.report.isSated = true
        }
    }

    func record(handedUntil position: MediaTime) { state.withLock { $0.report.handedUntil = position } }
}
