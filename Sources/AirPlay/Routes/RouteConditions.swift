/// What a route depends on besides the speaker.
package struct RouteConditions: Hashable, Sendable {
    package enum ClockPorts: Hashable, Sendable {
        case available
        /// A sentence that says why UDP 319 and 320 cannot be used and what to do.
        case unavailable(String)
        /// The same where this program lacks the right to them.
        case forbidden(String)

        /// Why they cannot be used; nil when they can.
        package var objection: String? {
            switch self {
            case .available: nil
            case .unavailable(let why), .forbidden(let why): why
            }
        }
    }

    /// The route a person asked for.
    package var requested: Route?
    /// What worked, and what did not, when this speaker was last played to.
    package var memory: RouteMemory?
    package var clockPorts: ClockPorts
    /// Whether keys of an earlier pairing are kept for it.
    package var isPaired: Bool

    package init(
        requested: Route? = nil, memory: RouteMemory? = nil, clockPorts: ClockPorts = .available,
        isPaired: Bool = false
    ) {
        self.requested = requested
        self.memory = memory
        self.clockPorts = clockPorts
        self.isPaired = isPaired
    }
}

/// What playing to a speaker has taught about it.
package struct RouteMemory: Hashable, Sendable {
    /// The last route on which it was heard.
    package var route: Route?
    /// Routes that were accepted and gave no sound, or never got a clock.
    package var failed: Set<Route>
    package var role: ClockRole?
    /// Whether it has ever asked for our time; only then does its silence mean anything.
    package var hasProbed: Bool
    /// `srcvers` at the time: what an update changes must be learned again.
    package var sourceVersion: String?

    package init(
        route: Route? = nil, failed: Set<Route> = [], role: ClockRole? = nil, hasProbed: Bool = false,
        sourceVersion: String? = nil
    ) {
        self.route = route
        self.failed = failed
        self.role = role
        self.hasProbed = hasProbed
        self.sourceVersion = sourceVersion
    }
}
