internal import LocalOutput
internal import MediaCore

/// A sound card made of arithmetic: frame n leaves it exactly n / rate after its origin, on this computer's clock or on
/// an oscillator of the speaker's own.
///
/// The playout thread alone uses it. Sound is placed a moment ahead; what must not be heard after all is cut again.
struct VirtualDevice {
    /// Sound that follows on is put there while its moment differs by no more than this: the line it is placed by
    /// moves a little with every message of the clock. shairport-sync lets 2 ms pass.
    static let tolerance: Duration = .microseconds(500)
    /// Beyond this the sound is seated anew instead of being moved by a frame a packet.
    static let largestDrift: Duration = .milliseconds(10)

    let sampleRate: Int
    let origin: HostInstant
    private let oscillator: Oscillator?
    private let sink: (any PlayoutSink)?
    private let record: SpeakerRecord
    /// The frame after the last one placed.
    private var end: DeviceFrame?
    /// The position that follows on there.
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

    /// Places stereo sound so that its first frame is heard at a moment.
    ///
    /// Sound that follows on from what was placed stays seamless as long as its moment agrees within a few frames;
    /// a larger difference is worked off by one frame a packet, dropped or doubled, as real speakers do.
    mutating func place(_ samples: ArraySlice<Float>, position: RTPTimestamp, at instant: HostInstant) {
        var samples = samples
        var position = position
        var start = frame(at: instant)
        if let end, nextPosition == position {
            let error = end.distance(to: start)
            let size = HeardSpan.length(of: Int(clamping: error.magnitude), sampleRate)
            if size <= Self.tolerance {
                start = end
            } else if size <= Self.largestDrift {
                // Late: one frame twice. Early: one frame left out.
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

    /// When the sound that was placed ends; nil when there is none.
    var endInstant: HostInstant? { end.map { instant(of: $0) } }

    /// Takes back everything from a moment on.
    mutating func cut(at instant: HostInstant) {
        if let end {
            let first = frame(at: instant)
            if first < end { sink?.silence(from: first, until: end) }
        }
        record.cut(at: instant)
        end = nil
        nextPosition = nil
    }

    /// The stream is over; a recording lasts until now, silence included.
    func finish(at now: HostInstant) { sink?.finish(frames: frame(at: now), origin: origin) }
}
