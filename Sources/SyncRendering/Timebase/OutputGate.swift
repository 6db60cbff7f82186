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
        if let moment = gate.opens { view = view.opening(at: moment) }
        if let moment = gate.closes { view = view.closing(at: moment) }
        return view
    }

    /// Returns a stopped timeline.
    private func still(at moment: MediaTime, since instant: HostInstant) -> TimebaseSnapshot {
        TimebaseSnapshot(
            current: TimebaseSegment(mediaAnchor: moment, hostAnchor: instant, rate: 0), scheduled: nil,
            generation: generation)
    }

    /// Returns the timeline, stopped until a media time.
    private func opening(at moment: MediaTime) -> TimebaseSnapshot {
        var view = self
        if let next = scheduled { view.scheduled = next.beginning(at: moment) }
        guard current.rate > 0, current.mediaAnchor < moment, let start = current.hostInstant(of: moment) else {
            return view
        }
        view.current = TimebaseSegment(mediaAnchor: moment, hostAnchor: current.hostAnchor, rate: 0)
        if scheduled == nil {
            view.scheduled = TimebaseSegment(
                mediaAnchor: moment, hostAnchor: start, rate: current.rate, speed: current.speed)
        }
        return view
    }

    /// Returns the timeline, stopped from a media time on.
    private func closing(at moment: MediaTime) -> TimebaseSnapshot {
        var view = self
        if let next = scheduled, next.rate > 0, next.mediaAnchor >= moment {
            view.scheduled = TimebaseSegment(mediaAnchor: moment, hostAnchor: next.hostAnchor, rate: 0)
        }
        guard current.rate > 0 else { return view }
        if current.mediaAnchor >= moment { return still(at: moment, since: current.hostAnchor) }
        guard let stop = current.hostInstant(of: moment) else { return view }
        if let next = scheduled, next.hostAnchor < stop { return view }
        view.scheduled = TimebaseSegment(mediaAnchor: moment, hostAnchor: stop, rate: 0)
        return view
    }
}

extension TimebaseSegment {
    /// Returns the segment with its start moved to a media time.
    fileprivate func beginning(at moment: MediaTime) -> TimebaseSegment {
        guard rate > 0, mediaAnchor < moment, let start = hostInstant(of: moment) else { return self }
        return TimebaseSegment(mediaAnchor: moment, hostAnchor: start, rate: rate, speed: speed)
    }
}
