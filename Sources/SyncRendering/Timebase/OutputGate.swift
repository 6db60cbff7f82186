import MediaCore

/// The range of media time in which an output is audible while it joins or leaves; outside it the output's timeline is
/// stopped.
struct OutputGate: Hashable, Sendable, BitwiseCopyable {
    /// Whether the output is silent and prepares to start at `opens`.
    var isShut = false
    /// The media time from which the output is audible; nil: the current one.
    var opens: MediaTime?
    /// The media time from which the output is silent; nil: never.
    var closes: MediaTime?
}

extension TimebaseSnapshot {
    /// Returns this timeline restricted to a gate.
    ///
    /// A snapshot holds two segments. If a pause is scheduled between the gate's time and now, a third would be
    /// required. The output is then silent up to that pause. It is never audible outside the gate.
    ///
    /// - Parameter now: A scheduled segment that has started by now replaces the current one.
    func gated(by gate: OutputGate, at now: HostInstant) -> TimebaseSnapshot {
        guard gate != OutputGate() else { return self }
        if let next = scheduled, next.hostAnchor <= now {
            return TimebaseSnapshot(current: next, scheduled: nil, generation: generation).gated(by: gate, at: now)
        }
        if gate.isShut {
            return still(at: gate.opens ?? current.mediaAnchor, since: current.hostAnchor)
        }
        var view = self
        if let switchInstant = gate.opens { view = view.opening(at: switchInstant) }
        if let switchInstant = gate.closes { view = view.closing(at: switchInstant) }
        return view
    }

    /// Returns a stopped timeline.
    private func still(at switchInstant: MediaTime, since instant: HostInstant) -> TimebaseSnapshot {
        TimebaseSnapshot(
            current: TimebaseSegment(mediaAnchor: switchInstant, hostAnchor: instant, rate: 0), scheduled: nil,
            generation: generation)
    }

    /// Returns the timeline, stopped until a media time.
    private func opening(at switchInstant: MediaTime) -> TimebaseSnapshot {
        var view = self
        if let next = scheduled { view.scheduled = next.beginning(at: switchInstant) }
        guard current.rate > 0, current.mediaAnchor < switchInstant, let start = current.hostInstant(of: switchInstant)
        else {
            return view
        }
        view.current = TimebaseSegment(mediaAnchor: switchInstant, hostAnchor: current.hostAnchor, rate: 0)
        if scheduled == nil {
            view.scheduled = TimebaseSegment(
                mediaAnchor: switchInstant, hostAnchor: start, rate: current.rate, speed: current.speed)
        }
        return view
    }

    /// Returns the timeline, stopped from a media time on.
    private func closing(at switchInstant: MediaTime) -> TimebaseSnapshot {
        var view = self
        if let next = scheduled, next.rate > 0, next.mediaAnchor >= switchInstant {
            view.scheduled = TimebaseSegment(mediaAnchor: switchInstant, hostAnchor: next.hostAnchor, rate: 0)
        }
        guard current.rate > 0 else { return view }
        if current.mediaAnchor >= switchInstant { return still(at: switchInstant, since: current.hostAnchor) }
        guard let stop = current.hostInstant(of: switchInstant) else { return view }
        if let next = scheduled, next.hostAnchor < stop { return view }
        view.scheduled = TimebaseSegment(mediaAnchor: switchInstant, hostAnchor: stop, rate: 0)
        return view
    }
}

extension TimebaseSegment {
    /// Returns the segment with its start moved to a media time.
    fileprivate func beginning(at switchInstant: MediaTime) -> TimebaseSegment {
        guard rate > 0, mediaAnchor < switchInstant, let start = hostInstant(of: switchInstant) else { return self }
        return TimebaseSegment(mediaAnchor: switchInstant, hostAnchor: start, rate: rate, speed: speed)
    }
}
