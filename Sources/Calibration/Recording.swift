package import MediaCore

/// Sound that a microphone (or a recorder inside a speaker) heard, and which frame was heard when.
package struct Recording: Sendable {
    /// Frame `frame` was heard at `instant`.
    package struct Anchor: Sendable, Equatable {
        package var frame: Int64
        package var instant: HostInstant

        package init(frame: Int64, instant: HostInstant) {
            self.frame = frame
            self.instant = instant
        }
    }

    /// Frames a second, as the recording says.
    package var sampleRate: Int
    /// One array a channel, all of one length; full scale is 1.
    package var channels: [[Float]]
    package var anchors: [Anchor]

    package init(sampleRate: Int, channels: [[Float]], anchors: [Anchor]) {
        self.sampleRate = sampleRate
        self.channels = channels
        self.anchors = anchors
    }

    var frames: Int { channels.first?.count ?? 0 }

    /// Rates that chirps can be found in.
    static let rateRange = 16_000...192_000
    /// Longer than any run; more is a recording of something else.
    package static let longest = Duration.seconds(300)
    /// A photodiode's, after the microphone's.
    static let mostChannels = 2
}

/// The recording's own clock in terms of the host's: a line through its anchors.
package struct RecordingClock: Equatable {
    /// Host time of frame 0, and nanoseconds for each frame.
    package let origin: Double
    let perFrame: Double
    /// The moment that `origin` counts from, to keep doubles exact.
    private let base: Int64

    /// How far a rate may lie from what is stated: the worst crystals are within some hundred parts per million.
    static let largestRateError = 1e-3

    /// - Returns: nil without anchors that make sense: at least one, and in order.
    package init?(_ recording: Recording) {
        let anchors = recording.anchors.sorted { $0.frame < $1.frame }
        guard let first = anchors.first, let last = anchors.last else { return nil }
        let base = first.instant.nanoseconds
        func height(_ anchor: Recording.Anchor) -> Double {
            Double(anchor.instant.nanoseconds.subtractingReportingOverflow(base).partialValue)
        }
        self.base = base
        let nominal = 1e9 / Double(recording.sampleRate)
        // Less than two seconds apart, the jitter of two anchors would say more than their rate.
        guard last.frame - first.frame >= Int64(recording.sampleRate) * 2, anchors.count >= 2 else {
            perFrame = nominal
            origin = OffsetStatistics.median(anchors.map { height($0) - Double($0.frame) * nominal })
            return
        }
        let readings = Self.thinned(anchors).map {
            (time: Double($0.frame), value: height($0) - Double($0.frame) * nominal)
        }
        guard let line = OffsetStatistics(readings, floor: 100_000) else {
            perFrame = (height(last) - height(first)) / Double(last.frame - first.frame)
            origin = height(first) - Double(first.frame) * perFrame
            return
        }
        let middle = line.used.reduce(0) { $0 + readings[$1].time } / Double(line.used.count)
        perFrame = nominal + line.slope
        origin = line.level - line.slope * middle
    }

    /// At most so many, evenly chosen: the line's cost grows with their square.
    private static func thinned(_ anchors: [Recording.Anchor]) -> [Recording.Anchor] {
        let most = 200
        guard anchors.count > most else { return anchors }
        return (0..<most).map { anchors[$0 * (anchors.count - 1) / (most - 1)] }
    }

    /// Host nanoseconds at which a frame was heard; between two frames is a place like any other. Relative to `instant`.
    package func nanoseconds(of frame: Double, since instant: HostInstant) -> Double {
        Double(base.subtractingReportingOverflow(instant.nanoseconds).partialValue) + origin + frame * perFrame
    }

    package func frame(at instant: HostInstant) -> Double {
        (Double(instant.nanoseconds.subtractingReportingOverflow(base).partialValue) - origin) / perFrame
    }

    /// Frames a second of the host's clock.
    package var rate: Double { 1e9 / perFrame }
}
