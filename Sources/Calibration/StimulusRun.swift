package import CardOutput
internal import MediaCodecs
package import MediaCore
package import Profiles
package import ScreenOutput
package import SyncRendering

/// Plays a plan through the normal outputs and records when each flash was presented.
///
/// Without `corrections` none is applied to audio or video: the result is what a film would have. Used by one thread;
/// the screen's loop runs on the main thread at the same time.
package final class StimulusRun {
    /// The result of a completed run.
    package struct Played {
        /// The host time of media time 0.
        package var start: HostInstant
        /// Presentation times by media time; frames that were not presented are missing.
        package var flips: [MediaTime: HostInstant]
    }

    /// The progress of a run.
    package enum Progress {
        /// The outputs are being opened.
        case opening
        /// The number of past events, and the host time of media time 0.
        case events(Int, start: HostInstant)
    }

    private static let openTimeout = Duration.seconds(20)
    private static let screenTimeout = Duration.seconds(10)
    /// Interval of the loop.
    private static let beat = Duration.milliseconds(20)

    private let plan: StimulusPlan
    private let outputs: [any AudioOutput]
    private let screen: ScreenControl?
    private let interruption: Interruption
    private let corrections: Corrections?
    private let events: EventLog
    private let synchronizer: RenderSynchronizer
    private let layer = DisplayLayer(depth: 8)
    private let wake = Signal()
    /// The first error of an output. Written by the feeder threads and the run's thread.
    private let trouble = Lock<OutputError?>(nil)
    private var renderers: [AudioRenderer] = []
    private var stimuli: [StimulusAudio] = []
    private var flips: [MediaTime: HostInstant] = [:]
    /// What the sound cards' sinks reported at the end; nil for other outputs.
    package private(set) var sinks: [SinkKnowledge?] = []
    /// The latency shares that each output stated at the end.
    package private(set) var shares: [[LatencyLedger.Share]] = []
    /// Whether an output was lost or the computer suspended; a retry may succeed.
    package private(set) var wasLost = false

    /// Returns the delay of each output's sound, negative to play it earlier. Called once the screen is open, if there
    /// is one.
    package typealias Corrections = () throws(TalkieError) -> [Duration]

    /// - Parameters:
    ///   - screen: Nil for a run without a picture.
    ///   - corrections: Nil for a run that measures what they should be.
    package init(
        _ plan: StimulusPlan, outputs: [any AudioOutput], screen: ScreenControl?, interruption: Interruption,
        corrections: Corrections? = nil
    ) {
        self.plan = plan
        self.corrections = corrections
        self.outputs = outputs
        self.screen = screen
        self.interruption = interruption
        events = EventLog(clock: MonotonicClock())
        synchronizer = RenderSynchronizer(clock: MonotonicClock(), events: events)
    }

    /// Plays the plan once and blocks until its end. The outputs are closed when it returns.
    ///
    /// - Parameters:
    ///   - isOver: Polled every 20 ms; true ends the run early.
    ///   - progress: Called on the calling thread.
    /// - Returns: Nil if interrupted.
    /// - Throws: Status 69 if an output cannot be opened or is lost, or the status for missing permission.
    package func play(
        until isOver: () -> Bool = { false }, _ progress: (Progress) -> Void
    ) throws(TalkieError) -> Played? {
        defer { close() }
        progress(.opening)
        // The screen opens while the speakers connect.
        screen?.open(for: PixelSize(width: 1280, height: 720))
        openAudio()
        try awaitScreen()
        if let corrections {
            // As in a film: before the start, so that it is scheduled for the slowest output.
            for (renderer, delay) in zip(renderers, try corrections()) { renderer.delay = delay }
        }
        enqueueFrames()
        synchronizer.setRate(1, time: .zero)
        guard let start = try awaitStart() else { return nil }
        while synchronizer.currentTime() < plan.duration, !isOver() {
            guard interruption.status == nil else { return nil }
            try runIteration()
            let time = synchronizer.currentTime()
            progress(.events(plan.events.count { $0.time < time }, start: start))
        }
        sinks = outputs.map { ($0 as? SoundCard)?.sink }
        shares = outputs.map { LatencyLedger.stated($0.latency, isCard: $0.kind == .soundCard) }
        drainEvents()
        return Played(start: start, flips: flips)
    }

    // MARK: Opening

    private func openAudio() {
        for (index, output) in outputs.enumerated() {
            let renderer = AudioRenderer(codecs: FilmAudioCodecs(), contentKind: .testSignal, events: events)
            renderer.onEvent { [wake, trouble] event in
                switch event {
                case .outputFailed(let error): trouble.withLock { $0 = $0 ?? error }
                case .cannotDecode(let error):
                    trouble.withLock { $0 = $0 ?? OutputError(.failed, error.message) }
                case .progress, .readyForMoreMediaData: break
                }
                wake.raise()
            }
            renderer.setOutput(output, id: OutputID(index))
            renderer.requestMediaData(raising: wake)
            if let refusal = synchronizer.addRenderer(renderer) {
                trouble.withLock { $0 = $0 ?? OutputError(.failed, refusal.message) }
            }
            renderers.append(renderer)
            stimuli.append(StimulusAudio(plan, speaker: index))
        }
        feed()
    }

    private func awaitScreen() throws(TalkieError) {
        guard let screen else { return }
        let deadline = HostInstant.now.advanced(by: Self.screenTimeout)
        while !screen.status.isVisible {
            try check()
            guard interruption.status == nil else { return }
            guard HostInstant.now < deadline else {
                throw TalkieError(
                    .unavailable,
                    "no window can be opened for the flashes; check that a display is connected and DISPLAY or WAYLAND_DISPLAY is set"
                )
            }
            wake.wait(until: .now.advanced(by: Self.beat))
        }
    }

    /// Enqueues all frames; they are two pictures only, so they fit at once.
    private func enqueueFrames() {
        guard let screen else { return }
        let shape = screen.status.area
        let (black, white) = (SolidFrame(grey: 0, filling: shape), SolidFrame(grey: 255, filling: shape))
        func enqueue(_ frame: SolidFrame, at time: MediaTime) {
            layer.enqueue(SampleBuffer(payload: .videoFrame(frame), presentationTime: time, flags: .sync))
        }
        enqueue(black, at: .zero)
        for event in plan.events {
            enqueue(white, at: event.time)
            enqueue(black, at: event.end)
        }
        synchronizer.addRenderer(layer)
        screen.attach(layer, timebase: synchronizer.timebase, events: events)
    }

    /// Waits until the timeline starts. Returns the host time of media time 0, or nil if interrupted.
    private func awaitStart() throws(TalkieError) -> HostInstant? {
        let deadline = HostInstant.now.advanced(by: Self.openTimeout)
        while synchronizer.effectiveRate == 0 {
            guard interruption.status == nil else { return nil }
            if HostInstant.now >= deadline, let late = synchronizer.pendingStart?.waits.first {
                throw TalkieError(
                    .unavailable,
                    "'\(late.output)' does not start to accept audio; turn it off and on, and try again")
            }
            try runIteration()
        }
        return synchronizer.timebase.snapshot.segment(at: .now).hostInstant(of: .zero)
    }

    // MARK: Playing

    private func runIteration() throws(TalkieError) {
        feed()
        drainEvents()
        try check()
        wake.wait(until: .now.advanced(by: Self.beat))
        wake.clear()
    }

    private func feed() {
        for index in renderers.indices {
            while renderers[index].isReadyForMoreMediaData {
                guard let buffer = stimuli[index].read() else {
                    renderers[index].finish()
                    break
                }
                renderers[index].enqueue(buffer)
            }
        }
    }

    private func drainEvents() {
        while let entry = events.removeFirst() {
            switch entry.event {
            case .frame(let pts, _, let presented): flips[pts] = presented
            case .outputLost(let output), .outputMoved(let output):
                wasLost = true
                let name = outputs.indices.contains(output.index) ? outputs[output.index].name : "a speaker"
                trouble.withLock { $0 = $0 ?? OutputError(.lost, "'\(name)' was lost during the run; try again") }
            case .resumed:
                // The timeline continued on another segment.
                wasLost = true
                trouble.withLock {
                    $0 = $0 ?? OutputError(.lost, "the computer was suspended during the run; try again")
                }
            default: break
            }
        }
    }

    private func check() throws(TalkieError) {
        let error = trouble.withLock { $0 } ?? outputs.compactMap(\.failure).first
        guard let error else { return }
        throw TalkieError(
            error.code == .notPermitted ? .notPermitted : .unavailable,
            error.message)
    }

    private func close() {
        synchronizer.setRate(0, atHostTime: .now)
        screen?.detach()
        // In parallel: a speaker that does not answer must not delay the others.
        let closers = renderers.map { renderer in
            // ignored: without a thread the output is closed on this one.
            let closer = try? WorkerThread.start(name: "calibration closing") { renderer.invalidate() }
            if closer == nil { renderer.invalidate() }
            return closer
        }
        for closer in closers { closer?.join() }
    }
}
