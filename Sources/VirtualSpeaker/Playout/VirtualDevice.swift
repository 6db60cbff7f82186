internal import MediaCore

/// A simulated sound card: frame n is audible exactly n / rate after its origin.
///
/// Its clock is the host clock or an oscillator of the speaker. Used by the playout thread only. Audio is placed ahead
/// of its time and can be removed again.
struct VirtualDevice {
    /// Contiguous audio is appended while its time differs by at most this: the clock filter changes with every
    /// message. shairport-sync tolerates 2 ms.
    static let tolerance: Duration = .microseconds(500)
    /// A larger difference repositions the audio instead of correcting one frame per packet.
    static let largestDrift: Duration = .milliseconds(10)

    let sampleRate: Int
    let origin: HostInstant
    private let oscillator: Oscillator?
    private let sink: (any PlayoutSink)?
    private let record: SpeakerRecord
    /// The frame after the last one placed; nil if there is none.
    private var end: DeviceFrame?
    /// The stream position that would be contiguous at `end`.
    private var nextPosition: RTPTimestamp?

    init(
        sampleRate: Int, origin: HostInstant, oscillator: Oscillator? = nil, sink: (any PlayoutSink)?,
        record: SpeakerRecord
    ) {
        self.oscillator = oscillator
        self.sampleRate = sampleRate
        self.origin = origin
        self.sink = sink
        self.record = record
    }

    private func frame(at instant: HostInstant) -> DeviceFrame {
        let since =
            oscillator.map { $0.speakerInstant(at: origin).duration(to: $0.speakerInstant(at: instant)) }
            ?? instant - origin
        let elapsed = Int128(since.wholeNanoseconds) * Int128(sampleRate)
        let half: Int128 = elapsed < 0 ? -500_000_000 : 500_000_000
        return DeviceFrame(Int64(clamping: (elapsed + half) / 1_000_000_000))
    }

    private func instant(of frame: DeviceFrame) -> HostInstant {
        let nanoseconds = Int128(frame.index) * 1_000_000_000 / Int128(sampleRate)
        let elapsed = Duration.nanoseconds(Int64(clamping: nanoseconds))
        guard let oscillator else { return origin.advanced(by: elapsed) }
        return oscillator.hostInstant(at: oscillator.speakerInstant(at: origin).advanced(by: elapsed))
    }

    /// Places stereo audio so that its first frame is audible at `instant`.
    ///
    /// Contiguous audio is appended if its time agrees within `tolerance`. A larger difference is corrected by one
    /// frame per packet, dropped or repeated, as real speakers do.
    mutating func schedule(_ samples: ArraySlice<Float>, position: RTPTimestamp, at instant: HostInstant) {
        var samples = samples
        var position = position
        var start = frame(at: instant)
        if let end, nextPosition == position {
            let error = end.distance(to: start)
            let size = HeardSpan.length(of: Int(clamping: error.magnitude), sampleRate)
            if size <= Self.tolerance {
                start = end
            } else if size <= Self.largestDrift {
                // Late: repeats one frame. Early: drops one frame.
                if error > 0 {
                    write(samples.prefix(2), at: end)
                    start = end.advanced(byFrames: 1)
                } else {
                    samples = samples.dropFirst(2)
                    position = position.advanced(byFrames: 1)
                    start = end
                }
            }
        }
        let frames = samples.count / 2
        write(samples, at: start)
        record.add(
            HeardSpan(position: position, frames: frames, instant: self.instant(of: start), sampleRate: sampleRate))
        end = start.advanced(byFrames: Int64(frames))
        nextPosition = position.advanced(byFrames: Int64(frames))
    }

    private func write(_ samples: ArraySlice<Float>, at start: DeviceFrame) {
        sink?.write(samples, at: start)
    }

    /// When the placed audio ends; nil if there is none.
    var endInstant: HostInstant? { end.map { instant(of: $0) } }

    /// Removes all audio from `instant` on.
    mutating func cut(at instant: HostInstant) {
        if let end {
            let first = frame(at: instant)
            if first < end { sink?.silence(from: first, until: end) }
        }
        record.cut(at: instant)
        end = nil
        nextPosition = nil
    }

    /// Ends the stream. A recording lasts until `now`, silence included.
    func finish(at now: HostInstant) { sink?.finish(frames: frame(at: now), origin: origin) }
}
