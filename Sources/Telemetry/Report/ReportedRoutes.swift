/// The statistics of the outputs of a timeline.
struct ReportedRoutes {
    /// The statistics of one output.
    struct Route {
        /// The index of the output.
        let index: Int
        /// The displayed name.
        var name = ""
        /// The kind of output.
        var kind = ""
        /// Sound against picture.
        var offset = ClaimedOffset()
        /// The lateness of sound in ms, one value per report.
        var error = QuantileSketch()
        var errorSeries = DecimatedSeries()
        var lowestPPM: Double?
        var highestPPM: Double?
        /// The last reported delay in seconds.
        var latency: Double?
        /// The shift by a calibration in seconds; not included in any offset.
        var calibration = 0.0
        /// The number of underruns.
        var underruns = 0
        /// Missing audio of all underruns in seconds.
        var missing = 0.0
        var losses = 0
        /// When the route becomes audible and silent within a film, in nanoseconds; nil if it does not.
        var joined: Int64?
        var left: Int64?

        func isHeard(at instant: Int64) -> Bool { instant >= joined ?? .min && instant < left ?? .max }

        /// Adds a report of sound lateness.
        mutating func heard(error milliseconds: Double, at seconds: Double, holds: Bool = false) {
            offset.heard(error: milliseconds, at: seconds, holds: holds)
            error.add(milliseconds)
            errorSeries.add(milliseconds, at: seconds)
        }
    }

    private(set) var all: [Route] = []
    /// The initial state of a route at its first report: the frames since the last start.
    private var unheard = ClaimedOffset()

    /// Ends the validity of earlier sound reports, at a new start of sound.
    mutating func restart() {
        unheard.restart()
        for known in all.indices { all[known].offset.restart() }
    }

    /// Adds a frame that became visible at an instant, in nanoseconds, to the routes that are audible then.
    mutating func shown(_ frame: ClaimedOffset.Shown, at instant: Int64) {
        unheard.shown(frame)
        for known in all.indices where all[known].isHeard(at: instant) { all[known].offset.shown(frame) }
    }

    /// Calls `body` with a route, created if necessary. Returns false beyond the maximum number of routes.
    mutating func update(_ key: Int64, _ body: (inout Route) -> Void) -> Bool {
        guard let index = Int(exactly: key), index >= 0 else { return false }
        if let known = all.firstIndex(where: { $0.index == index }) {
            body(&all[known])
        } else {
            guard all.count < TimelineContext.maxRoutes else { return false }
            var route = Route(index: index)
            route.offset = unheard
            body(&route)
            all.append(route)
        }
        return true
    }

    /// Compares the waiting frames and sorts the routes by index, after the last line.
    mutating func finish() {
        for known in all.indices { all[known].offset.compareWaiting() }
        all.sort { $0.index < $1.index }
    }
}
