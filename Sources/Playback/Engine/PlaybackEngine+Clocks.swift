internal import MediaCore
internal import SyncRendering

/// What clocks other than the film's own do to it.
extension PlaybackEngine {
    /// A bend is at most 100 ppm: in this time a film that lags behind one gets 50 µs away.
    private static let steeringInterval: Duration = .milliseconds(500)
    /// A sound card's pump and a speaker's control thread notice a suspension within this time, or their first request.
    private static let noticeTime: Duration = .milliseconds(250)

    /// Bends the line towards the clock of a speaker that insists on its own: sound inside it cannot be moved.
    func steer() {
        let now = parts.clock.now
        guard now - lastSteering >= Self.steeringInterval else { return }
        lastSteering = now
        if let line = renderer?.remoteTimeline {
            synchronizer.steer(toward: line)
        } else {
            let segment = synchronizer.timebase.snapshot.segment(at: now)
            guard segment.rate != segment.speed else { return }
            // Nobody holds it any more: film passes at its own rate again.
            synchronizer.steer(
                toward: TimebaseSegment(
                    mediaAnchor: segment.mediaTime(at: now), hostAnchor: now, rate: segment.speed,
                    speed: segment.speed))
        }
    }

    /// The computer was suspended. Film time stood still, and the film goes on from there: on a new line, once every
    /// output has found its feet. A speaker may have played on by itself; the stop silences it.
    func resumed(after asleep: Duration) {
        events.note(.resumed(after: asleep))
        let now = parts.clock.now
        if jump != nil {
            jump?.began = now
        } else if state.phase == .playing {
            hold(at: synchronizer.currentTime())
        }
        jump?.notBefore = now.advanced(by: Self.noticeTime)
    }
}
