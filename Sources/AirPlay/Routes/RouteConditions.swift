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
