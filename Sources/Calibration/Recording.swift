package import MediaCore

/// Audio of a microphone, or of a recorder inside a speaker, with the host times of its frames; or a video.
package struct Recording: Sendable {
    /// The host time of a frame.
    package struct Anchor: Sendable, Equatable {
        /// The frame.
        var frame: Int64
        /// When the frame was recorded.
        var instant: HostInstant

        package init(frame: Int64, instant: HostInstant) {
            self.frame = frame
            self.instant = instant
        }
    }

    /// Frames per second as stated by the recording.
    package var sampleRate: Int
    /// One array per channel, all of equal length; full scale is 1.
    var channels: [[Float]]
    /// The known host times, in any order.
    package var anchors: [Anchor]
    /// The light of a video, on the timeline of the audio; nil for a recording of audio alone.
    package var film: FilmedLight?

    package init(sampleRate: Int, channels: [[Float]], anchors: [Anchor], film: FilmedLight? = nil) {
        self.sampleRate = sampleRate
        self.channels = channels
        self.anchors = anchors
        self.film = film
    }

    var frames: Int { channels.first?.count ?? 0 }

    /// Rates at which chirps can be found.
    package static let rateRange = 16_000...192_000
    /// Maximum duration, longer than any run.
    package static let longest = Duration.seconds(300)
    /// A microphone and a photodiode, or the two microphones of a phone.
    package static let maxChannels = 2
}

/// The relation between the recording's frames and host time: a line through its anchors.
struct RecordingClock: Equatable {
    /// The host time of frame 0 in nanoseconds, relative to `base`.
    let origin: Double
    /// Nanoseconds per frame.
    let perFrame: Double
    /// The reference of `origin`; it keeps doubles exact.
    private let base: Int64

    /// Maximum relative rate error; the worst crystals have some hundred ppm.
    static let largestRateError = 1e-3

    /// Returns nil without anchors.
    init?(_ recording: Recording) {
        let anchors = recording.anchors.sorted { $0.frame < $1.frame }
        guard let first = anchors.first, let last = anchors.last else { return nil }
        let base = first.instant.nanoseconds
        func height(_ anchor: Recording.Anchor) -> Double {
            Double(anchor.instant.nanoseconds.subtractingReportingOverflow(base).partialValue)
        }
        self.base = base
        let nominal = 1e9 / Double(recording.sampleRate)
        // With less than two seconds between the anchors their jitter would exceed the rate error.
        guard last.frame - first.frame >= Int64(recording.sampleRate) * 2, anchors.count >= 2 else {
            perFrame = nominal
            origin = OffsetStatistics.median(anchors.map { height($0) - Double($0.frame) * nominal })
            return
        }
        let readings = Self.thinned(anchors).map {
            (time: Double($0.frame), value: height($0) - Double($0.frame) * nominal)
        }
        guard let fit = OffsetStatistics(readings, floor: 100_000) else {
            perFrame = (height(last) - height(first)) / Double(last.frame - first.frame)
            origin = height(first) - Double(first.frame) * perFrame
            return
        }
        let middle = fit.used.reduce(0) { $0 + readings[$1].time } / Double(fit.used.count)
        perFrame = nominal + fit.slope
        origin = fit.level - fit.slope * middle
    }

    /// Returns at most 200 anchors, evenly selected: the cost of the fit is quadratic.
    private static func thinned(_ anchors: [Recording.Anchor]) -> [Recording.Anchor] {
        let maxAnchors = 200
        guard anchors.count > maxAnchors else { return anchors }
        return (0..<maxAnchors).map { anchors[$0 * (anchors.count - 1) / (maxAnchors - 1)] }
    }

    /// Returns the host time of a frame, which may be fractional, in nanoseconds relative to `instant`.
    func nanoseconds(of frame: Double, since instant: HostInstant) -> Double {
        Double(base.subtractingReportingOverflow(instant.nanoseconds).partialValue) + origin + frame * perFrame
    }

    /// Returns the fractional frame that was recorded at `instant`.
    func frame(at instant: HostInstant) -> Double {
        (Double(instant.nanoseconds.subtractingReportingOverflow(base).partialValue) - origin) / perFrame
    }

    /// Frames per second of host time.
    var rate: Double { 1e9 / perFrame }
}
