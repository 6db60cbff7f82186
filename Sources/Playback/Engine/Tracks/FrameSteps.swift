internal import MediaCore

/// The pending frame steps while paused. Steps requested faster than frames arrive are accumulated.
struct FrameSteps {
    /// The frames of a layer.
    struct Frames {
        /// The times of the visible frame and of the next one on the timeline.
        var shown: MediaTime?
        var next: MediaTime?
        /// Whether the visible frame is not yet the one at the playhead.
        var awaitsFirst: Bool
        /// Whether no frame follows.
        var isDrained: Bool
    }

    enum Step: Equatable {
        /// Moves the paused timeline to the time of the next frame.
        case forward(to: MediaTime)
        /// Seeks to the frame before this one on the timeline.
        case backward(before: MediaTime)
    }

    /// Negative for backward.
    private var count = 0

    /// Whether steps are pending.
    var isActive: Bool { count != 0 }

    mutating func add(_ steps: Int) { count += steps }

    mutating func cancel() { count = 0 }

    /// Removes and returns the next step; nil while its frame is not there.
    mutating func next(_ frames: Frames, playhead: MediaTime) -> Step? {
        if count < 0 {
            guard let shown = frames.shown else { return nil }
            count += 1
            return .backward(before: shown)
        }
        guard let next = frames.next else {
            if frames.isDrained { count = 0 }
            return nil
        }
        // The preceding frame must be shown first.
        guard count > 0, !frames.awaitsFirst, next > playhead else { return nil }
        count -= 1
        return .forward(to: next)
    }
}
