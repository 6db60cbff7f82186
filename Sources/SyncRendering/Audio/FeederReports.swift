internal import MediaCore

/// What a feeder has reported, so that only changes are reported.
struct FeederReports {
    private var wasReadyToStart = true
    /// The last logged end of the accepted audio.
    private var loggedUntil: MediaTime?

    /// Returns true if the output's ability to schedule a start has changed.
    mutating func noteReadiness(_ isReady: Bool) -> Bool {
        defer { wasReadyToStart = isReady }
        return isReady != wasReadyToStart
    }

    /// Returns true once per second of media and at each seek, which bounds the size of the event log.
    mutating func logs(_ until: MediaTime) -> Bool {
        if let loggedUntil, until >= loggedUntil, (until - loggedUntil).duration < .seconds(1) { return false }
        loggedUntil = until
        return true
    }
}
