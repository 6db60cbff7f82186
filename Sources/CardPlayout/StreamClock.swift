internal import MediaCore

/// When the frames of a device's stream are audible: `DeviceClock`, fed with the latencies that a sound server measures
/// as long as it does, otherwise with the delays that the device reports.
///
/// Confined to one thread. Allocates nothing after `init`.
struct StreamClock {
    /// A start is not scheduled by reported delays for this long while measurements may follow.
    private static let maxWait = Duration.milliseconds(250)
    /// Reported delays count again after this time without a measurement, the shorter one while a start waits.
    private static let maxGap = Duration.seconds(30)
    private static let maxGapBeforeStart = Duration.milliseconds(100)
    /// Measured positions that are farther from the estimate belong to another line.
    private static let step = Duration.microseconds(1500)
    /// The number of measurements in a row that must agree before another line is followed: before a start, during
    /// playback, and for a line that is earlier, because frames that are under way to the server make it seem earlier.
    private static let agreeingBeforeStart = 2
    private static let agreeing = 3
    private static let agreeingOnEarlier = 6

    private var clock: DeviceClock
    private var positions: MeasuredPositions
    /// When the stream started.
    private var start: HostInstant
    /// When the newest measurement was used; nil before the first.
    private var lastMeasured: HostInstant?
    /// Whether the clock is accurate enough to schedule the first audio.
    private(set) var isSteady = false

    init(sampleRate: Int, at now: HostInstant) {
        clock = DeviceClock(sampleRate: sampleRate)
        positions = MeasuredPositions(sampleRate: sampleRate, at: now)
        start = now
    }

    /// The newest estimate; nil until a first reading after a start.
    var estimate: DeviceClock.Estimate? { clock.estimate }
    /// Whether the estimate rests on a fitted line instead of the newest readings.
    var isSettled: Bool { clock.isSettled }

    /// Forgets the stream's positions; another stream starts. The device's rate is retained.
    mutating func reset(at now: HostInstant) {
        clock.reset()
        positions.reset(at: now)
        (start, lastMeasured, isSteady) = (now, nil, false)
    }

    /// Forgets reported delays of the stream's former sink. Measured ones follow a move on their own.
    mutating func moved() {
        if lastMeasured == nil { clock.reset() }
    }

    /// Records a write.
    ///
    /// - Parameter written: The frames written since the start, this write included.
    mutating func record(written: Int64, from: HostInstant, until: HostInstant) {
        positions.record(written: written, from: from, until: until)
    }

    /// Adds what is known of the stream's position.
    ///
    /// - Parameters:
    ///   - written: The frames written since the start.
    ///   - queued: Those in the device's queue.
    ///   - server: The measurements of its server; nil if it has none.
    mutating func record(_ reading: PlayoutDeviceReading, written: Int64, queued: Int, server: ServerLatency?) {
        // A single measurement is not enough for a start: reported delays are, after a longer wait.
        if !isSteady, let lastMeasured, reading.instant - lastMeasured > Self.maxGapBeforeStart {
            self.lastMeasured = nil
        }
        if let measurement = server?.newest, let position = positions.position(by: measurement) {
            add(position, isFirst: lastMeasured == nil)
            lastMeasured = reading.instant
        } else if isUnmeasured(at: reading.instant, server), written > Int64(queued) {
            // Until it has accepted frames, a sound server's position only reflects the elapsed time.
            clock.add(position: DeviceFrame(written - Int64(reading.delay)), at: reading.instant)
        }
        let isAwaited = lastMeasured == nil && server?.isPossible == true && reading.instant - start < Self.maxWait
        // A step that is followed later is no new start.
        isSteady = isSteady || clock.isSteady && !isAwaited
    }

    private func isUnmeasured(at now: HostInstant, _ server: ServerLatency?) -> Bool {
        guard let lastMeasured, server?.isPossible == true else { return true }
        return now - lastMeasured > Self.maxGap
    }

    private mutating func add(_ position: MeasuredPositions.Position, isFirst: Bool) {
        let late = estimate.map { position.instant - $0.instant(of: position.frame) } ?? .zero
        let isEarlier = late < .zero - Self.step
        let needed = isEarlier ? Self.agreeingOnEarlier : isSteady ? Self.agreeing : Self.agreeingBeforeStart
        let isStep = isEarlier || late > Self.step
        if !isFirst, isStep, position.agreeing < needed { return }
        // Reported delays of a start belong to another line too.
        if isFirst || isStep { clock.reset() }
        clock.add(position: position.frame, at: position.instant)
    }
}
