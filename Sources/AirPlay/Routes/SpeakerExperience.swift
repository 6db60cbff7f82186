/// What playing to a speaker has taught about it.
public struct SpeakerExperience: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It took a line of sound to play from.
    public static let played = SpeakerExperience(rawValue: 1)
    /// It asked for our time.
    public static let probed = SpeakerExperience(rawValue: 2)
}

extension RouteMemory {
    /// What is worth remembering after a speaker was driven on a route; nil when nothing was learned.
    public static func after(
        _ experience: SpeakerExperience, on route: Route, role: ClockRole, sourceVersion: String?,
        before: RouteMemory?
    ) -> RouteMemory? {
        guard experience.contains(.played) else { return nil }
        // An update of the speaker's software makes what was learned void.
        var memory = before.flatMap { $0.sourceVersion == sourceVersion ? $0 : nil } ?? RouteMemory()
        memory.route = route
        memory.failed.remove(route)
        memory.role = role
        memory.hasProbed = memory.hasProbed || experience.contains(.probed)
        memory.sourceVersion = sourceVersion
        return memory == before ? nil : memory
    }
}
