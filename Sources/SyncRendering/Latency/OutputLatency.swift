internal import MediaCore

/// Where a number about delay came from.
public enum LatencySource: String, Sendable {
    /// The device or its driver said so.
    case reported
    /// We measured it while running.
    case measured
    /// A calibration run found it.
    case calibrated
    /// The user set it.
    case configured
    /// Nobody said; a sensible value was taken.
    case assumed
}

/// One share of an output's delay, with its origin.
public struct LatencyShare: Sendable, Hashable {
    /// What takes the time: `"sound card buffer"`, `"screen"`, …
    public var name: String
    /// From hand-over of a sample to that stage's exit.
    public var duration: Duration
    public var uncertainty: Duration
    public var source: LatencySource

    public init(name: String, duration: Duration, uncertainty: Duration = .zero, source: LatencySource) {
        self.name = name
        self.duration = duration
        self.uncertainty = uncertainty
        self.source = source
    }
}

/// What an output costs in time. Every output subtracts its own delay, itself, in one place; the synchronizer only
/// asks how early a start must be announced.
public struct OutputLatency: Sendable, Hashable {
    /// How far in the future a start must lie so that this output can keep it.
    public var startLead: Duration
    /// How far in the future a stop must lie so that no sound is cut that was already handed over.
    public var stopLead: Duration
    /// The shares that lie between handing a sample over and perceiving it.
    public var shares: [LatencyShare]

    public init(startLead: Duration, stopLead: Duration = .zero, shares: [LatencyShare] = []) {
        self.startLead = startLead
        self.stopLead = stopLead
        self.shares = shares
    }

    /// The whole delay from hand-over to eye or ear.
    public var delay: Duration { shares.reduce(.zero) { $0 + $1.duration } }
}
