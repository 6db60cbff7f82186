package import MediaCore

/// Tells when pictures came too late to be seen, once they come in time again. A value; whoever feeds it brings the time.
package struct LeftOutPictures: Sendable {
    /// Fewer within a second nobody takes for a fault: a fifth of a second of a film.
    package static let fewest = 5
    /// A computer that is too slow for its films says so this often at most.
    package static let rest = Duration.seconds(60)

    private var last: Int?
    private var open = 0
    private var told: HostInstant?

    package init() {}

    /// - Parameters:
    ///   - total: pictures left out so far; where it falls, counting began anew.
    ///   - isExpected: a film is to be seen; whatever is left out otherwise is right.
    /// - Returns: how many were left out since the last answer, once there are no more and there is something to tell.
    package mutating func note(total: Int, isExpected: Bool, at now: HostInstant) -> Int? {
        defer { last = total }
        guard let last, isExpected else {
            open = 0
            return nil
        }
        let new = total - last
        if new >= Self.fewest {
            open += new
            return nil
        }
        guard open > 0, told.map({ now - $0 >= Self.rest }) ?? true else { return nil }
        defer { open = 0 }
        told = now
        return open
    }
}
