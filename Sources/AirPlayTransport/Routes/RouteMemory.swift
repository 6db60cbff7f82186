/// What sessions with a speaker have revealed.
package struct RouteMemory: Hashable, Sendable {
    /// The last route that played.
    package var route: Route?
    /// The clock role that the speaker required.
    package var role: ClockRole?
    /// Whether the speaker was grouped when it required the role, which is void otherwise; nil: not known.
    package var isRoleOfGroup: Bool?
    /// Whether it has ever sent a timing request; only then is missing requests a fault.
    package var hasProbed: Bool
    /// The `srcvers` at that time; after a software update everything is determined again.
    package var sourceVersion: String?
    /// The only route that the user wants; nil: the best one.
    package var wanted: Route?
    /// What it stated about its own delay at its last use.
    package var stated: StatedLatency

    package init(
        route: Route? = nil, role: ClockRole? = nil, isRoleOfGroup: Bool? = nil, hasProbed: Bool = false,
        sourceVersion: String? = nil, wanted: Route? = nil, stated: StatedLatency = StatedLatency()
    ) {
        self.wanted = wanted
        self.stated = stated
        self.route = route
        (self.role, self.isRoleOfGroup) = (role, isRoleOfGroup)
        self.hasProbed = hasProbed
        self.sourceVersion = sourceVersion
    }
}
