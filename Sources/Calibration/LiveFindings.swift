package import CardOutput
package import MediaCore

/// A text plot of the offsets found so far in a live recording. Used by the thread of the run.
package final class LiveFindings {
    private let microphone: Microphone
    private let plan: StimulusPlan
    private var finder: ChirpFinder?
    private var offsets: [Double] = []
    private var looked = 0

    /// Time in seconds after which an event is evaluated; late sound and echoes are complete by then.
    private static let timeout = 1.2
    private static let columns = 41
    /// The range of the plot in milliseconds.
    private static let span = 20.0

    /// Creates a plot for a run that the microphone records.
    package init(_ microphone: Microphone, _ plan: StimulusPlan) {
        self.microphone = microphone
        self.plan = plan
    }

    /// Evaluates at most one due event per call: the run continues on this thread.
    package func evaluateNextEvent(start: HostInstant, now: HostInstant) {
        guard looked < plan.events.count else { return }
        let event = plan.events[looked]
        let due = start.advanced(by: event.time.duration)
        guard (now - due).inSeconds > Self.timeout else { return }
        looked += 1
        let finder = self.finder ?? ChirpFinder(rate: Double(microphone.sampleRate))
        self.finder = finder
        let reach = Int(clamping: Double(microphone.sampleRate) * (Self.timeout + 1), in: 0...1 << 32)
        let first = max(0, microphone.frames - reach)
        let audio = microphone.recording(from: first)
        let anchors = audio.anchors.map { Recording.Anchor(frame: $0.frame, instant: $0.instant) }
        let recording = Recording(sampleRate: audio.sampleRate, channels: [[]], anchors: anchors)
        guard let clock = RecordingClock(recording), let samples = audio.channels.first,
            let peak = finder.find([event.code], in: samples)[event.code]?.max(by: { $0.likeness < $1.likeness })
        else { return }
        offsets.append(clock.nanoseconds(of: peak.frame + Double(first), since: due) / 1e6)
    }

    /// The plot as one line: `|        . .:.     | +52.3 ms`.
    package var histogram: String {
        guard !offsets.isEmpty else { return "" }
        let middle = OffsetStatistics.median(offsets)
        var counts = [Int](repeating: 0, count: Self.columns)
        for offset in offsets {
            let column = ((offset - middle) / Self.span + 0.5) * Double(Self.columns)
            counts[Int(clamping: column.rounded(.down), in: 0...Self.columns - 1)] += 1
        }
        let marks: [Character] = [" ", ".", ":", "⋮"]
        let plot = String(counts.map { marks[min($0, marks.count - 1)] })
        return "|\(plot)| \(Decimals.signed(middle, 1)) ms"
    }
}
