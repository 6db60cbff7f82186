internal import MediaCore

/// Decides when a subtitle reader reports its reading position. Between subtitles it does so once per second of film,
/// so that the renderer knows until when none begins.
struct SubtitlePace {
    private static let step = MediaTime(value: 1, timescale: 1)
    /// The assumed interleaving: a subtitle may follow the audio and video of its time by this much in the file.
    private static let slack = MediaTime(value: 1, timescale: 1)

    /// The reading position at the last report or subtitle.
    private var toldAt: MediaTime?
    /// The latest reported film time.
    private var told: MediaTime?
    private var front: MediaTime?

    /// Records a returned subtitle.
    mutating func gave(_ time: MediaTime?) {
        if let time { told = max(told ?? time, time) }
        toldAt = front
    }

    /// Returns the film time before which no further subtitle begins; nil until a second of film has passed without
    /// one.
    ///
    /// - Parameter front: The film time up to which the input has been read.
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
