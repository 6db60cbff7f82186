package import MediaCore
import SyncRendering

/// The statistics of all outputs for a status line. Offsets are positive when sound is later than picture.
package struct PlaybackStatistics: Sendable {
    /// The number of displayed frames.
    package internal(set) var shownFrames = 0
    /// When the last frame became visible.
    package internal(set) var lastShown: HostInstant?
    /// The number of frames dropped as late or skipped before decoding.
    package internal(set) var droppedFrames = 0
    /// The number of underruns of all outputs.
    package internal(set) var underruns = 0
    /// The mean lateness of recent frames (negative: early); nil before the first frame after a start or seek.
    var videoError: Duration?
    /// The number of events lost to a full log.
    var lostEvents = 0

    /// The last report of the output with the lowest index.
    private var audio: (output: Int, error: Duration)?
    private var timeline = CommandedTimeline()

    package init() {}

    /// The last reported lateness of the first output; nil before the first report after a start or seek.
    var audioError: Duration? { audio?.error }

    /// Sound against picture; nil until both are known.
    package var offset: Duration? {
        guard let audioError, let videoError else { return nil }
        return audioError - videoError
    }

    /// Weight of one frame in the running mean: about the last second at 24 frames per second.
    private static let smoothing = 1.0 / 24

    /// Adds an event.
    mutating func add(_ entry: EventLog.Entry) {
        switch entry.event {
        case .frame(_, let target, let presented):
            shownFrames += 1
            lastShown = presented
            // A frame shown while paused has no due time.
            guard timeline.rate(at: presented) > 0, timeline.rate(at: target) > 0 else { return }
            let error = presented - target
            videoError = videoError.map { $0 + (error - $0) * Self.smoothing } ?? error
        case .framesDropped(let count, _, _): droppedFrames += count
        case .anchor(let media, let host, let rate, _):
            timeline.command(film: media.seconds, host: host, rate: rate, at: entry.at)
            videoError = nil
            audio = nil
        case .steered(let media, let host, let rate, let speed, _):
            timeline.bend(film: media.seconds, host: host, rate: rate, speed: speed)
        case .audioDrift(let error, _, let output):
            if audio == nil || output.index <= audio!.output { audio = (output.index, error) }
        case .outputLost(let output), .outputMoved(let output), .outputLeft(let output, _, _):
            if audio?.output == output.index { audio = nil }
        case .underrun: underruns += 1
        case .audioAccepted, .audioHeard, .latency, .outputRestored, .outputJoined, .clock, .speakerAnchored, .resumed,
            .startWaits:
            break
        }
    }
}
