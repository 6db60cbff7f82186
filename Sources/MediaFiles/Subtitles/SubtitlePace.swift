internal import MediaCore

/// Says how far a track of subtitles has been read, while it has none: now and then, so that whoever waits for the next one
/// knows until when there is nothing to wait for.
struct SubtitlePace {
    private static let step = MediaTime(value: 1, timescale: 1)
    /// Films are interleaved no better than this: a subtitle may lie that far behind the sound and pictures of its time.
    private static let slack = MediaTime(value: 1, timescale: 1)

    /// Where reading was when something was last given out.
    private var toldAt: MediaTime?
    /// The latest moment given out.
    private var told: MediaTime?
    private var front: MediaTime?

    /// A subtitle was given out.
    mutating func gave(_ time: MediaTime?) {
        if let time { told = max(told ?? time, time) }
        toldAt = front
    }

    /// The moment up to which no subtitle begins any more, once a second of film has gone by without one.
    ///
    /// - Parameter front: film time up to which the input has been read.
    mutating func moment(at front: MediaTime) -> MediaTime? {
        self.front = front
        guard let toldAt else {
            self.toldAt = front
            return nil
        }
        guard front - toldAt >= Self.step else { return nil }
        self.toldAt = front
        let moment = max(told ?? front - Self.slack, front - Self.slack)
        told = moment
        return moment
    }
}
