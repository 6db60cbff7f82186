internal import MediaCore

/// Decides when a subtitle reader reports its reading position. Between subtitles it does so once per second of film,
/// so that the renderer knows until when none begins.
struct SubtitlePace {
    private static let step = MediaTime(value: 1, timescale: 1)
    /// The assumed interleaving: a subtitle may follow the audio and video of its time by this much in the file.
    private static let slack = MediaTime(value: 1, timescale: 1)

    /// The reading position at the last report or subtitle.
    private var reportedAt: MediaTime?
    /// The latest reported film time.
    private var reported: MediaTime?
    private var front: MediaTime?

    /// Records a returned subtitle.
    mutating func gave(_ time: MediaTime?) {
        if let time { reported = max(reported ?? time, time) }
        reportedAt = front
    }

    /// Returns the film time before which no further subtitle begins; nil until a second of film has passed without
    /// one.
    ///
    /// - Parameter front: The film time up to which the input has been read.
    mutating func nextTime(at front: MediaTime) -> MediaTime? {
        self.front = front
        guard let reportedAt else {
            self.reportedAt = front
            return nil
        }
        guard front - reportedAt >= Self.step else { return nil }
        self.reportedAt = front
        let time = max(reported ?? front - Self.slack, front - Self.slack)
        reported = time
        return time
    }
}
