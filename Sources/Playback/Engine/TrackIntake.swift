internal import MediaCore

/// The state of one track's reading, shared by the pipeline's thread, which writes it, and the engine, which decides from it whether
/// film time must wait. Any thread; the lock is held for nanoseconds.
final class TrackIntake: Sendable {
    /// What the pipeline's thread did since the last jump.
    struct Report: Sendable {
        /// Position on the timeline up to which decoded video frames were handed to the renderer; nil before the first. Unused for sound:
        /// its renderer knows.
        var handedUntil: MediaTime?
        /// Position on the timeline up to which the source has delivered, decoded or not; nil before the first packet.
        var readUntil: MediaTime?
        /// When the call into the source that is under way began.
        fileprivate var readSince: HostInstant?
        /// Since when the renderer has wanted more than it was given.
        fileprivate var hungrySince: HostInstant?
        /// Time spent inside the source since then, without the call that is under way.
        fileprivate var readTime = Duration.zero
        /// When the source delivered last, or the track was asked for its reserve.
        fileprivate var deliveredAt: HostInstant?
        /// The track cannot read its whole reserve: that would take too much memory.
        fileprivate(set) var isSated = false
        /// Film time passes without the track until its source delivers again.
        fileprivate(set) var isExcused = false

        /// A call into the source that lasts longer waits for a network or a disk.
        private static let slowCall = Duration.milliseconds(200)

        /// Returns true if the source has delivered nothing for a time.
        func isSilent(for time: Duration, at now: HostInstant) -> Bool { deliveredAt.map { now - $0 >= time } ?? false }

        /// Whether the track lacks material because its source delivers nothing, rather than because decoding is slow: the call under way
        /// has lasted long, or most of the time went into such calls.
        func isWaitingForSource(at now: HostInstant) -> Bool {
            guard let readSince, let hungrySince else { return false }
            let call = now - readSince
            return call >= Self.slowCall || (readTime + call) * 2 > now - hungrySince
        }
    }

    private struct State {
        var report = Report()
        /// Position on the timeline up to which the track is to be read although its renderer is full.
        var reserve: MediaTime?
    }

    private let state = Lock(State())
    private let clock: any HostClock

    init(clock: any HostClock) { self.clock = clock }

    var report: Report { state.withLock { $0.report } }

    // MARK: The engine's thread

    /// Asks the track to be read up to a position although its renderer is full; nil reads only what the renderer wants.
    func setReserve(until position: MediaTime?) {
        let now = clock.now
        state.withLock { state in
            state.reserve = position
            (state.report.isSated, state.report.deliveredAt) = (false, now)
        }
    }

    /// Lets film time pass without the track, until its source delivers again.
    func excuse() { state.withLock { $0.report.isExcused = true } }

    // MARK: The pipeline's thread

    var reserve: MediaTime? { state.withLock { $0.reserve } }

    /// Returns true if the engine wants more read than the renderer has room for.
    var wantsMore: Bool {
        state.withLock { state in state.reserve.map { $0 > state.report.readUntil ?? .zero } ?? false }
    }

    /// Forgets what was read: the track continues elsewhere.
    func restart() { state.withLock { $0 = State() } }

    /// Notes a call into the source, which may block.
    func beginReading() {
        let now = clock.now
        state.withLock { state in
            state.report.readSince = now
            if state.report.hungrySince == nil { state.report.hungrySince = now }
        }
    }

    func endReading() {
        let now = clock.now
        state.withLock { state in
            guard let since = state.report.readSince.take() else { return }
            state.report.readTime += now - since
        }
    }

    /// Notes that the renderer wants nothing more for now, or that the track has ended.
    func rest() { state.withLock { ($0.report.hungrySince, $0.report.readTime) = (nil, .zero) } }

    func note(readUntil position: MediaTime) {
        let now = clock.now
        state.withLock { state in
            if let before = state.report.readUntil, before >= position { return }
            state.report.readUntil = position
            (state.report.deliveredAt, state.report.isExcused) = (now, false)
        }
    }

    /// Notes that no more of the reserve can be read.
    func noteSated() {
        state.withLock { state in
            state.reserve = nil
            state.report.isSated = true
        }
    }

    func note(handedUntil position: MediaTime) { state.withLock { $0.report.handedUntil = position } }
}
