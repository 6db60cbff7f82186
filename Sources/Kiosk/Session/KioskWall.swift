internal import MediaCore
internal import Playback
internal import SyncRendering

/// Keeps the player of a kiosk in sync with the other kiosks of a wall: measures the items, makes them the player's
/// playlist, and starts it at the wall's position. Confined to the kiosk's thread; items are measured on a thread "wall
/// lengths", and the timeline is steered on the thread that services it.
final class KioskWall {
    typealias Item = PlaylistLoader.Item

    /// The result of measuring the durations of all items.
    struct Measured: Sendable {
        var search: Int
        /// The number of the measurement; only the result of the latest one is played.
        var number = 0
        var items: [Item] = []
        var extents: [FilmExtent] = []
        /// The sentences about items that could not be measured.
        var failures: [String] = []
    }

    /// What `play` does.
    enum Change {
        case replaced
        /// The result is outdated, or has the same items as the one before.
        case unchanged
        /// The items have no duration.
        case unplayable
    }

    /// The result of a start.
    enum Start: Equatable {
        case started
        /// The wall begins at this time.
        case begins(WallTime)
        /// The wall's time is unknown so far, nothing is measured, or the playlist has ended.
        case unknown
    }

    /// The maximum delay before what could not be measured is measured again.
    private static let maxDelay = Duration.seconds(60)

    private let stage: KioskStage
    private let clock: WallClock
    private let report: @Sendable (String) -> Void
    private let post: @Sendable (Measured) -> Void
    /// The synchronizer holds a weak reference only.
    private var follower: WallFollower?
    /// The items in the order of `timeline`. Locked: read by the thread that services the timeline.
    private let items = Lock<[QueueItem]>([])
    /// The known durations, so that unchanged files are not measured again. Locked: used by "wall lengths".
    private let known = Lock<[Item: FilmExtent]>([:])
    /// The items of the latest measurement, their programme, and the number of measurements.
    private var request: (items: [Item], programme: Int, number: Int) = ([], 0, 0)
    /// The last result that `play` accepted.
    private var result: Measured?
    /// When the items are measured again because some could not be measured; nil without a measurement to come.
    private(set) var nextMeasurement: HostInstant?
    /// The delay of the next measurement that is scheduled; doubled each time.
    private var delay = PlaylistRetry.delay

    /// - Parameters:
    ///   - clock: A started clock.
    ///   - report: Receives sentences for the user, on any thread.
    ///   - post: Receives the results of `measure`, on any thread.
    init(
        _ stage: KioskStage, clock: WallClock, report: @escaping @Sendable (String) -> Void,
        post: @escaping @Sendable (Measured) -> Void
    ) { (self.stage, self.clock, self.report, self.post) = (stage, clock, report, post) }

    private var player: Player { stage.player }

    /// The wall's timeline; nil until items were measured.
    var timeline: WallTimeline? { follower?.timeline }

    /// The sentences about items that could not be measured.
    var failures: [String] { result?.failures ?? [] }

    func stop() { clock.stop() }

    // MARK: Items

    /// Measures the durations of items on another thread, which posts the result.
    func measure(_ items: [Item], search: Int) {
        (request.items, request.programme, delay) = (items, search, PlaylistRetry.delay)
        measure()
    }

    /// Measures again what could not be measured, if that is due: a server may start after the kiosk.
    func performDueWork() { if let due = nextMeasurement, due <= stage.clock.now { measure() } }

    /// Drops the results of all measurements: the playlist has become empty.
    func cancelMeasurement() {
        request.number += 1
        (result, nextMeasurement) = (nil, nil)
    }

    private func measure() {
        request.number += 1
        nextMeasurement = nil
        do throws(ExhaustionError) { try startMeasurement() } catch {
            report(error.message)
            scheduleMeasurement()
        }
    }

    private func scheduleMeasurement() {
        nextMeasurement = stage.clock.now.advanced(by: delay)
        delay = min(delay * 2, Self.maxDelay)
    }

    private func startMeasurement() throws(ExhaustionError) {
        let (items, search, number) = request
        let (known, measure, crashes, post) = (known, stage.measure, stage.crashes, post)
        try stage.run("wall lengths", .normal) {
            var measured = Measured(search: search, number: number)
            for item in items {
                do throws(MediaError) {
                    var extent = known.withLock { $0[item] }
                    if extent == nil {
                        extent = try crashes.measuring(item.address) { () throws(MediaError) in
                            try measure(item.address)
                        }
                    }
                    if let extent { measured.extents.append(extent) }
                    measured.items.append(item)
                } catch {
                    measured.failures.append(error.message)
                }
            }
            let found = Dictionary(zip(measured.items, measured.extents)) { first, _ in first }
            known.withLock { $0 = found }
            post(measured)
        }
    }

    /// Measures unchanged files again as well: the display duration of images has changed.
    func forgetExtents() { known.withLock { $0 = [:] } }

    /// Makes the items of the latest measurement the player's playlist, and schedules another one if some could not be
    /// measured.
    ///
    /// - Parameter epoch: When the first item starts.
    func play(_ measured: Measured, from epoch: WallInstant, loops: Bool) -> Change {
        guard measured.number == request.number else { return .unchanged }
        if !measured.failures.isEmpty { scheduleMeasurement() }
        defer { result = measured }
        // A film that plays is not opened again.
        if let result, result.items == measured.items, result.extents == measured.extents { return .unchanged }
        guard !measured.items.isEmpty, let timeline = WallTimeline(epoch: epoch, items: measured.extents, loops: loops)
        else {
            return .unplayable
        }
        let items = measured.items.map { item in
            var made = QueueItem(item.address, title: item.title)
            made.isListed = item.isListed
            return made
        }
        self.items.withLock { $0 = items }
        follower?.timeline = timeline
        player.removeAll()
        player.append(items)
        player.setLoop(item: .times(0), list: loops ? .forever : .times(0))
        if follower == nil { setTimeline(timeline) }
        return .replaced
    }

    /// Sets whether the playlist repeats. The wall's time continues.
    func setLoops(_ loops: Bool) {
        guard let follower,
            let timeline = WallTimeline(epoch: follower.timeline.epoch, items: follower.timeline.items, loops: loops)
        else { return }
        follower.timeline = timeline
    }

    private func setTimeline(_ timeline: WallTimeline) {
        let follower = WallFollower(
            clock: clock, timeline: timeline,
            playing: { [weak player, items] in
                guard let state = player?.state, let id = state.current?.id,
                    let item = items.withLock({ $0.firstIndex { $0.id == id } })
                else { return nil }
                return WallFollower.Playing(item: item, timelineOffset: state.timelineOffset)
            }, report: report)
        self.follower = follower
        player.synchronizer.setTimelineSource(follower)
    }

    // MARK: Position

    /// Starts at the wall's current position, unless the wall begins much later.
    func start(at now: HostInstant) -> Start {
        guard let follower else { return .unknown }
        let epoch = follower.timeline.epoch
        if let wallNow = clock.mapping?.target(at: now), wallNow.duration(to: epoch) > WallTimeline.early {
            return .begins(WallTime(seconds: Int(epoch.nanoseconds / 1_000_000_000)))
        }
        guard let meeting = follower.meeting(from: now) else { return .unknown }
        seek(to: meeting)
        player.play()
        return .started
    }

    /// Seeks if a rate change would take too long.
    func seekIfDue(at now: HostInstant) { if let meeting = follower?.dueSeek(now) { seek(to: meeting) } }

    private func seek(to meeting: WallFollower.Meeting) {
        let items = items.withLock { $0 }
        guard items.indices.contains(meeting.item) else { return }
        player.jump(to: items[meeting.item].id, at: meeting.position, perceivedAt: meeting.instant)
    }

    // MARK: State

    /// Adds the state of the clock and the deviation to a message.
    func describe(in message: inout KioskStateMessage) {
        message.clock = clock.shown.standing.rawValue
        message.wallOffset = follower?.status.outcome?.lead
    }
}
