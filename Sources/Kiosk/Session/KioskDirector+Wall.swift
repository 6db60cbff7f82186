internal import MediaCore
internal import Playback
internal import SyncRendering

/// The state shared with the threads of a wall: clock, items with their durations, follower.
final class WallSteps: Sendable {
    /// The result of measuring the durations of all items.
    struct Measured: Sendable {
        var programme: Int
        var items: [PlaylistLoader.Item] = []
        var extents: [FilmExtent] = []
        /// The sentences about items that could not be measured.
        var failures: [String] = []
    }

    struct State: Sendable {
        var items: [QueueItem] = []
        /// The synchronizer holds a weak reference only.
        var follower: WallFollower?
        /// The known durations, so that unchanged files are not measured again.
        var known: [PlaylistLoader.Item: FilmExtent] = [:]
    }

    let clock: WallClock
    /// Locked: used by the kiosk's thread, "wall lengths" and the thread that services the timeline.
    let state = Lock(State())

    init(clock: WallClock) { self.clock = clock }
}

// Synchronization with the other kiosks of a wall.
extension KioskDirector {
    /// The maximum time between opening the first file and the start of the wall.
    static let early = Duration.seconds(30)

    func joinWall() {
        guard let settings = configuration.wall else { return }
        let mailbox = mailbox
        let clock = WallClock(chrony: ChronyReader(host: settings.chrony, port: settings.chronyPort)) {
            mailbox.post(.remark(.warning, $0))
        }
        do throws(ExhaustionError) { try clock.start() } catch { return say(.error, error.message) }
        wall = WallSteps(clock: clock)
        // The position follows from the wall's time, whenever the kiosk was started.
        hours.skipStart()
        kept.place = nil
    }

    /// Measures the items' durations on a thread "wall lengths", which posts the result.
    func measure(_ items: [PlaylistLoader.Item]) {
        guard let wall else { return }
        let (mailbox, measure, crashes, programme) = (mailbox, stage.measure, stage.crashes, programme)
        do throws(ExhaustionError) {
            try stage.run("wall lengths", .normal) {
                var measured = WallSteps.Measured(programme: programme)
                for item in items {
                    do throws(MediaError) {
                        var extent = wall.state.withLock { $0.known[item] }
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
                let known = Dictionary(zip(measured.items, measured.extents)) { first, _ in first }
                wall.state.withLock { $0.known = known }
                mailbox.post(.measured(measured))
            }
        } catch {
            say(.error, error.message)
        }
    }

    func applyMeasurement(_ measured: WallSteps.Measured) {
        guard let wall, measured.programme == programme else { return }
        for failure in measured.failures {
            lastFailure = failure
            say(.error, failure, KioskNote(.broken))
        }
        let present = wall.state.withLock { $0.follower }
        // A time of day recurs daily: the wall's time continues across changes of the list.
        let epoch = inForce.start.wallBeginning(
            at: stage.now(), remembered: present?.line.epoch, calendar: stage.calendar)
        guard !measured.items.isEmpty,
            let line = WallLine(epoch: epoch, items: measured.extents, loops: configuration.loops)
        else { return showSlate(.nothing(lastFailure)) }
        let items = measured.items.map { QueueItem($0.address, title: $0.title) }
        if current == nil { current = measured.items[0] }
        wall.state.withLock { $0.items = items }
        present?.line = line
        let player = stage.player
        player.removeAll()
        player.append(items)
        applyLoop()
        if present == nil { follow(line, wall) }
        isPlaying = false
        meetWall()
    }

    private func follow(_ line: WallLine, _ wall: WallSteps) {
        let (player, mailbox) = (stage.player, mailbox)
        let follower = WallFollower(
            clock: wall.clock, line: line,
            playing: { [weak player, weak wall] in
                guard let state = player?.state, let id = state.current?.id,
                    let item = wall?.state.withLock({ $0.items.firstIndex { $0.id == id } })
                else { return nil }
                return WallFollower.Playing(item: item, lineOffset: state.lineOffset)
            }, tell: { mailbox.post(.remark(.warning, $0)) })
        wall.state.withLock { $0.follower = follower }
        player.synchronizer.follow(follower)
    }

    /// Applies `loop`. The current film and a wall's time continue.
    func applyLoop() {
        stage.player.setLoop(item: .times(0), list: configuration.loops ? .forever : .times(0))
        guard let follower = wall?.state.withLock({ $0.follower }),
            let line = WallLine(epoch: follower.line.epoch, items: follower.line.items, loops: configuration.loops)
        else { return }
        follower.line = line
    }

    /// Measures all items again after the display duration of images has changed.
    func forgetLengths() {
        guard let wall else { return }
        wall.state.withLock { $0.known = [:] }
        findItems()
    }

    /// Starts at the wall's current position, or shows the slate before its start.
    func meetWall() {
        guard let wall, !isWaiting, !isHeld, let follower = wall.state.withLock({ $0.follower }) else { return }
        isPlaying = false
        let begins = follower.line.epoch
        if let target = wall.clock.mapping?.target(at: now), target.duration(to: begins) > Self.early {
            let moment = WallTime(seconds: Int(begins.nanoseconds / 1_000_000_000))
            return showSlate(.begins(stage.calendar.local(moment).time.words))
        }
        // The wall's time is unknown so far; `keepStep` retries.
        guard let meeting = follower.meeting(from: now) else { return }
        isPlaying = true
        go(to: meeting)
        stage.player.play()
    }

    /// Starts playback once possible, and seeks if a rate change would take too long.
    func keepStep(at now: HostInstant) {
        guard let wall, !isWaiting, !isHeld else { return }
        guard isPlaying else { return meetWall() }
        if let meeting = wall.state.withLock({ $0.follower })?.dueSeek(now) { go(to: meeting) }
    }

    private func go(to meeting: WallFollower.Meeting) {
        guard let items = wall?.state.withLock({ $0.items }), items.indices.contains(meeting.item) else { return }
        stage.player.jump(to: items[meeting.item].id, at: meeting.position, perceivedAt: meeting.instant)
    }
}
