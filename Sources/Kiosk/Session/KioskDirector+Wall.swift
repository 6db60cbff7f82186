internal import MediaCore
internal import Playback
internal import SyncRendering

/// What a kiosk needs to keep step with others: the wall's time, the films with their lengths, and who steers.
final class WallSteps: Sendable {
    /// Films whose lengths are known.
    struct Measured: Sendable {
        var programme: Int
        var items: [PlayQueue.Item] = []
        var extents: [FilmExtent] = []
        /// Why others are left out.
        var failures: [String] = []
    }

    struct State: Sendable {
        var items: [QueueItem] = []
        /// The synchronizer knows it weakly.
        var follower: WallFollower?
        /// The lengths of files that were measured before.
        var known: [PlayQueue.Item: FilmExtent] = [:]
    }

    let clock: WallClock
    let state = Lock(State())

    init(clock: WallClock) { self.clock = clock }
}

// In step with the other kiosks of a wall.
extension KioskDirector {
    /// A file is not held open for longer before a wall begins.
    static let early = Duration.seconds(30)

    func joinWall() {
        guard let settings = configuration.wall else { return }
        let mailbox = mailbox
        let clock = WallClock(chrony: ChronyReader(host: settings.chrony, port: settings.chronyPort)) {
            mailbox.post(.remark(.warning, $0))
        }
        do throws(ExhaustionError) { try clock.start() } catch { return say(.error, error.message) }
        wall = WallSteps(clock: clock)
        // Where it is to be is a matter of the wall's line, whenever that began.
        (beginsAt, kept.place) = (nil, nil)
    }

    /// Finds out how long the films are; `take` goes on when that is known.
    func measure(_ items: [PlayQueue.Item]) {
        guard let wall else { return }
        let (mailbox, measure, crashes, programme) = (mailbox, stage.measure, stage.crashes, programme)
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "wall lengths") {
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

    func take(_ measured: WallSteps.Measured) {
        guard let wall, measured.programme == programme else { return }
        for failure in measured.failures {
            lastFailure = failure
            say(.error, failure, KioskNote(.broken))
        }
        let epoch = configuration.start.wallBeginning(at: stage.now(), calendar: stage.calendar)
        guard !measured.items.isEmpty,
            let line = WallLine(epoch: epoch, items: measured.extents, loops: configuration.loops)
        else { return showSlate(.nothing(lastFailure)) }
        let items = measured.items.map { QueueItem($0.address, title: $0.title) }
        queue = PlayQueue(measured.items, loop: configuration.loops ? .forever : .times(0))
        let present = wall.state.withLock { state in
            state.items = items
            return state.follower
        }
        present?.line = line
        let player = stage.player
        player.removeAll()
        player.append(items)
        player.setLoop(item: .times(0), list: configuration.loops ? .forever : .times(0))
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

    /// Takes over another `loop`: the film that plays goes on, and so does the wall's time.
    func applyLoopToWall() {
        guard let follower = wall?.state.withLock({ $0.follower }),
            let line = WallLine(epoch: follower.line.epoch, items: follower.line.items, loops: configuration.loops)
        else { return }
        follower.line = line
        stage.player.setLoop(item: .times(0), list: configuration.loops ? .forever : .times(0))
    }

    /// Measures the wall's films again: picture files last longer or shorter now.
    func forgetLengths() {
        guard let wall else { return }
        wall.state.withLock { $0.known = [:] }
        look()
    }

    /// Goes to where the wall is.
    func meetWall() {
        guard let wall, !isWaiting, !isHeld, let follower = wall.state.withLock({ $0.follower }) else { return }
        isPlaying = false
        let begins = follower.line.epoch
        if let target = wall.clock.mapping?.target(at: now), target.duration(to: begins) > Self.early {
            let moment = WallTime(seconds: Int(begins.nanoseconds / 1_000_000_000))
            return showSlate(.begins(stage.calendar.local(moment).time.words))
        }
        // Nobody knows the time so far: `keepStep` asks again.
        guard let meeting = follower.meeting(from: now) else { return }
        isPlaying = true
        go(to: meeting)
        stage.player.play()
    }

    /// Begins when that can be, and jumps where a bend would take too long.
    func keepStep(at now: HostInstant) {
        guard let wall, !isWaiting, !isHeld else { return }
        guard isPlaying else { return meetWall() }
        if let meeting = wall.state.withLock({ $0.follower })?.attend(now) { go(to: meeting) }
    }

    private func go(to meeting: WallFollower.Meeting) {
        guard let items = wall?.state.withLock({ $0.items }), items.indices.contains(meeting.item) else { return }
        stage.player.jump(to: items[meeting.item].id, at: meeting.position, perceivedAt: meeting.instant)
    }
}
