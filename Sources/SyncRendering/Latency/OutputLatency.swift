internal import MediaCore

/// The origin of a delay.
public enum LatencySource: String, Sendable {
    /// Reported by the device or its driver.
    case reported = "reported"
    /// Measured during operation.
    case measured = "measured"
    /// Determined by a calibration.
    case calibrated = "calibrated"
    /// Set by the user.
    case configured = "configured"
    /// Unknown; a typical value is used.
    case assumed = "assumed"
}

/// A component of an output's delay, with its origin.
public struct LatencyShare: Sendable, Hashable {
    /// The component that causes the delay: `"sound card buffer"`, `"screen"`, …
    public var name: String
    /// The delay from delivery of a sample to the exit of that component.
    public var duration: Duration
    /// The standard uncertainty of `duration`.
    public var uncertainty: Duration
    /// The origin of `duration`.
    public var source: LatencySource

    /// Creates a component.
    public init(name: String, duration: Duration, uncertainty: Duration = .zero, source: LatencySource) {
        self.name = name
        self.duration = duration
        self.uncertainty = uncertainty
        self.source = source
    }
}

/// The timing requirements of an output. Every output compensates its own delay, in one place; the synchronizer only
/// uses the leads.
public struct OutputLatency: Sendable, Hashable {
    /// How far ahead a start must be announced for the output to meet it.
    public var startLead: Duration
    /// How far ahead a stop must be announced so that no delivered audio is cut.
    public var stopLead: Duration
    /// The components of the delay from delivery of a sample to its presentation.
    public var shares: [LatencyShare]

    /// Creates the requirements.
    public init(startLead: Duration, stopLead: Duration = .zero, shares: [LatencyShare] = []) {
        self.startLead = startLead
        self.stopLead = stopLead
        self.shares = shares
    }

    /// The total delay from delivery to presentation.
    public var delay: Duration { shares.reduce(.zero) { $0 + $1.duration } }
}
