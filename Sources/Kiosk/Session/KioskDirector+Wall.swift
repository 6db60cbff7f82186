internal import MediaCore
internal import Playback
internal import SyncRendering

// Synchronization with the other kiosks of a wall.
extension KioskDirector {
    func joinWall() {
        guard let settings = configuration.wall else { return }
        let report: @Sendable (String) -> Void = { [mailbox] in mailbox.post(.remark(.warning, $0)) }
        let clock = WallClock(chrony: ChronyReader(host: settings.chrony, port: settings.chronyPort), tell: report)
        do throws(ExhaustionError) { try clock.start() } catch { return messages.say(.error, error.message) }
        wall = KioskWall(clock: clock, player: stage.player, report: report)
        rules = .wall
        // The position follows from the wall's time, whenever the kiosk was started.
        hours.skipStart()
        resume.takePlace()
    }

    /// Plays measured items of the current programme.
    func applyMeasurement(_ measured: KioskWall.Measured) {
        guard let wall, measured.programme == programme else { return }
        for failure in measured.failures {
            lastFailure = failure
            messages.say(.error, failure, KioskNote(.broken))
        }
        // A time of day recurs daily: the wall's time continues across changes of the list.
        let epoch = settings.start.wallBeginning(
            at: stage.now(), remembered: wall.line?.epoch, calendar: stage.calendar)
        guard wall.play(measured, from: epoch, loops: configuration.loops) else {
            return showSlate(.nothing(lastFailure))
        }
        if current == nil { progress.select(measured.items[0]) }
        isPlaying = false
        _ = startOnWall()
    }

    /// Applies `loop`. The current film and a wall's time continue.
    func applyLoop() {
        stage.player.setLoop(item: .times(0), list: configuration.loops ? .forever : .times(0))
        wall?.setLoops(configuration.loops)
    }

    /// Starts at the wall's current position, or shows the slate before its start. Returns false without a wall.
    func startOnWall() -> Bool {
        guard let wall else { return false }
        guard !isWaiting, !isHeld else { return true }
        let start = wall.start(at: now)
        isPlaying = start == .started
        if case .begins(let moment) = start { showSlate(.begins(stage.calendar.local(moment).time.words)) }
        return true
    }

    /// Starts playback once possible, and seeks if a rate change would take too long.
    func keepStep(at now: HostInstant) {
        guard !isWaiting, !isHeld else { return }
        if isPlaying { wall?.seekIfDue(at: now) } else { _ = startOnWall() }
    }
}
