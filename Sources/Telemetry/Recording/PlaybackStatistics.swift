package import MediaCore
package import SyncRendering

/// What the outputs have reported so far, summed up for a status line. Offsets are positive when sound is later than
/// picture.
package struct PlaybackStatistics: Sendable {
    package internal(set) var shownFrames = 0
    /// When the last picture became visible.
    package internal(set) var lastShown: HostInstant?
    /// Pictures left out because their time had passed, and those not even decoded.
    package internal(set) var droppedFrames = 0
    package internal(set) var underruns = 0
    /// How late pictures have been lately (negative: early); nil before the first after a start or a jump.
    package internal(set) var pictureError: Duration?
    /// Events that nobody could record because the queue was full.
    package internal(set) var lostEvents = 0

    /// What the first of the outputs that spoke said last.
    private var sound: (output: Int, error: Duration)?
    private var line = CommandedLine()

    package init() {}

    /// How late the first sound output is, as it said last; nil before that after a start or a jump.
    package var soundError: Duration? { sound?.error }

    /// Sound against picture; nil until both have spoken.
    package var offset: Duration? {
        guard let soundError, let pictureError else { return nil }
        return soundError - pictureError
    }

    /// Weight of one picture in the running mean: about the last second at 24 pictures per second.
    private static let smoothing = 1.0 / 24

    package mutating func add(_ entry: EventLog.Entry) {
        switch entry.event {
        case .frame(_, let target, let presented):
            shownFrames += 1
            lastShown = presented
            // A picture shown while time stands still is due whenever it comes.
            guard line.rate(at: presented) > 0, line.rate(at: target) > 0 else { return }
            let error = presented - target
            pictureError = pictureError.map { $0 + (error - $0) * Self.smoothing } ?? error
        case .framesDropped(let count, _, _): droppedFrames += count
        case .anchor(let media, let host, let rate, _):
            line.command(film: media.seconds, host: host, rate: rate, at: entry.at)
            pictureError = nil
            sound = nil
        case .steered(let media, let host, let rate, let speed, _):
            line.bend(film: media.seconds, host: host, rate: rate, speed: speed)
        case .audioDrift(let error, _, let output):
            if sound == nil || output.index <= sound!.output { sound = (output.index, error) }
        case .outputLost(let output), .outputMoved(let output), .outputLeft(let output, _, _):
            if sound?.output == output.index { sound = nil }
        case .underrun: underruns += 1
        case .audioAccepted, .audioHeard, .latency, .outputRestored, .outputJoined, .clock, .speakerAnchored, .resumed,
            .startWaits:
            break
        }
    }
}
