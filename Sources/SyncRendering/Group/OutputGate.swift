package import MediaCore

/// The part of the film in which one output is heard, while it joins or leaves: elsewhere its time stands still.
package struct OutputGate: Hashable, Sendable, BitwiseCopyable {
    /// Nothing is heard yet; the output gets ready to begin at `opens`.
    package var isShut = false
    /// Heard from this film moment on; nil is from wherever the film is.
    package var opens: MediaTime?
    /// Silent from this film moment on.
    package var closes: MediaTime?

    package init(isShut: Bool = false, opens: MediaTime? = nil, closes: MediaTime? = nil) {
        self.isShut = isShut
        self.opens = opens
        self.closes = closes
    }
}

extension TimebaseSnapshot {
    /// This line as an output sees it that is heard in one part of the film only.
    ///
    /// A snapshot has room for two stretches. Where a pause is scheduled between the gate's moment and now, a third
    /// would be needed; the output is then silent up to that pause. Nothing is ever heard on the wrong side.
    ///
    /// - Parameter now: a stretch that was scheduled and has begun by then makes room for another.
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

    private func still(at moment: MediaTime, since instant: HostInstant) -> TimebaseSnapshot {
        TimebaseSnapshot(
            current: TimebaseSegment(mediaAnchor: moment, hostAnchor: instant, rate: 0), scheduled: nil,
            generation: generation)
    }

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
    /// The same stretch, begun only where the film reaches a moment.
    fileprivate func beginning(at moment: MediaTime) -> TimebaseSegment {
        guard rate > 0, mediaAnchor < moment, let start = hostInstant(of: moment) else { return self }
        return TimebaseSegment(mediaAnchor: moment, hostAnchor: start, rate: rate, speed: speed)
    }
}
