package import AirPlayTransport

/// The conditions of a route besides the speaker's traits.
package struct RouteConditions: Hashable, Sendable {
    /// Whether UDP 319 and 320 can be used.
    package enum ClockPorts: Hashable, Sendable {
        case available
        /// The ports cannot be used; a sentence with reason and remedy.
        case unavailable(String)
        /// The process lacks the permission; a sentence with reason and remedy.
        case forbidden(String)

        /// Why the ports cannot be used; nil if they can.
        var objection: String? {
            switch self {
            case .available: nil
            case .unavailable(let why), .forbidden(let why): why
            }
        }
    }

    /// The route requested by the user.
    package var requested: Route?
    /// What earlier sessions with this speaker revealed.
    package var memory: RouteMemory?
    var clockPorts: ClockPorts
    /// Whether keys of a pairing are stored.
    var isPaired: Bool

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

/// What sessions with a speaker have revealed.
package struct RouteMemory: Hashable, Sendable {
    /// The last route that played.
    package var route: Route?
    /// Routes that were accepted but remained silent or unsynchronized.
    package var failed: Set<Route>
    package var role: ClockRole?
    /// Whether it has ever sent a timing request; only then is missing requests a fault.
    package var hasProbed: Bool
    /// The `srcvers` at that time; after a software update everything is determined again.
    var sourceVersion: String?
    /// The only route that the user wants; nil: the best one.
    package var wanted: Route?
    /// What it stated about its own delay at its last use.
    var stated: StatedLatency

    package init(
        route: Route? = nil, failed: Set<Route> = [], role: ClockRole? = nil, hasProbed: Bool = false,
        sourceVersion: String? = nil, wanted: Route? = nil, stated: StatedLatency = StatedLatency()
    ) {
        self.wanted = wanted
        self.stated = stated
        self.route = route
        self.failed = failed
        self.role = role
        self.hasProbed = hasProbed
        self.sourceVersion = sourceVersion
    }
}
