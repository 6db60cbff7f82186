package import LocalOutput
internal import MediaCodecs
package import MediaCore
package import Profiles
package import SyncRendering

/// Plays a plan through the outputs that films take, and notes when each flash was handed to the screen.
///
/// Sound and picture go the way of any film, uncorrected: what is measured is what a film would show. Used by one thread;
/// the screen's loop runs on the main thread meanwhile.
package final class StimulusRun {
    /// What was played.
    package struct Played {
        /// The line that all events were on: film time 0 at this moment.
        package var start: HostInstant
        /// When the picture of a film time was shown, for those that were.
        package var flips: [MediaTime: HostInstant]
    }

    /// What happens while it plays.
    package enum Progress {
        /// The outputs are being opened.
        case opening
        /// So many of the events are over, on a line that began at `start`.
        case events(Int, start: HostInstant)
    }

    private static let openPatience = Duration.seconds(20)
    private static let screenPatience = Duration.seconds(10)
    /// How often the run looks around; nothing depends on it.
    private static let beat = Duration.milliseconds(20)

    private let plan: StimulusPlan
    private let outputs: [any AudioOutput]
    private let screen: ScreenControl?
    private let interruption: Interruption
    private let events: EventLog
    private let synchronizer: RenderSynchronizer
    private let layer = DisplayLayer(depth: 8)
    private let wake = Signal()
    private let trouble = Lock<OutputError?>(nil)
    private var renderers: [AudioRenderer] = []
    private var sounds: [StimulusSound] = []
    private var flips: [MediaTime: HostInstant] = [:]
    /// Where the cards were heard at the end; nil for other outputs.
    package private(set) var sinks: [SinkKnowledge?] = []
    package private(set) var shares: [[LatencyLedger.Share]] = []
    /// An output was lost on the way; another try may do.
    package private(set) var wasLost = false

    /// - Parameter screen: nil for a run without a picture.
    package init(_ plan: StimulusPlan, outputs: [any AudioOutput], screen: ScreenControl?, interruption: Interruption) {
        self.plan = plan
        self.outputs = outputs
        self.screen = screen
        self.interruption = interruption
        events = EventLog(clock: MonotonicClock())
        synchronizer = RenderSynchronizer(clock: MonotonicClock(), events: events)
    }

    /// Plays the plan once, whatever comes in between; the outputs are closed when it returns.
    ///
    /// - Parameter isOver: asked many times a second; true ends the run before its end.
    /// - Returns: nil when it was interrupted.
    /// - Throws: status 69 for outputs that cannot be had, or are lost.
    package func play(
        until isOver: () -> Bool = { false }, _ progress: (Progress) -> Void
    ) throws(TalkieError) -> Played? {
        defer { close() }
        progress(.opening)
        // The screen first: it opens while the speakers are asked.
        screen?.open(for: PixelSize(width: 1280, height: 720))
        openSound()
        try awaitScreen()
        showFirstPicture()
        synchronizer.setRate(1, time: .zero)
        guard let start = try awaitStart() else { return nil }
        while synchronizer.currentTime() < plan.duration, !isOver() {
            guard interruption.status == nil else { return nil }
            try turn()
            let moment = synchronizer.currentTime()
            progress(.events(plan.events.count { $0.time < moment }, start: start))
        }
        sinks = outputs.map { ($0 as? SoundCard)?.sink }
        shares = outputs.map { LatencyLedger.stated($0.latency, isCard: $0.kind == .soundCard) }
        drainEvents()
        return Played(start: start, flips: flips)
    }

    // MARK: Opening

    private func openSound() {
        for (index, output) in outputs.enumerated() {
            let renderer = AudioRenderer(codecs: FilmAudioCodecs(), contentKind: .testSignal, events: events)
            renderer.onNews { [wake, trouble] news in
                switch news {
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
            sounds.append(StimulusSound(plan, speaker: index))
        }
        feed()
    }

    private func awaitScreen() throws(TalkieError) {
        guard let screen else { return }
        let deadline = HostInstant.now.advanced(by: Self.screenPatience)
        while !screen.status.isVisible {
            try check()
            guard interruption.status == nil else { return }
            guard HostInstant.now < deadline else {
                throw TalkieError(
                    .unavailable,
                    "no window opens, so nothing can flash; is a display connected, and DISPLAY or WAYLAND_DISPLAY set?"
                )
            }
            wake.wait(until: .now.advanced(by: Self.beat))
        }
    }

    /// Everything that will be seen. Two pictures only, so that all of it fits at once.
    private func showFirstPicture() {
        guard let screen else { return }
        let shape = screen.status.area
        let (black, white) = (SolidPicture(grey: 0, filling: shape), SolidPicture(grey: 255, filling: shape))
        func enqueue(_ picture: SolidPicture, at time: MediaTime) {
            layer.enqueue(SampleBuffer(payload: .picture(picture), presentationTime: time, flags: .sync))
        }
        enqueue(black, at: .zero)
        for event in plan.events {
            enqueue(white, at: event.time)
            enqueue(black, at: event.time + MediaTime(nanoseconds: event.flash.wholeNanoseconds))
        }
        synchronizer.addRenderer(layer)
        screen.attach(layer, timebase: synchronizer.timebase, events: events)
    }

    /// Waits until film passes: every output has what that needs. Returns when it began; nil when it was interrupted.
    private func awaitStart() throws(TalkieError) -> HostInstant? {
        let deadline = HostInstant.now.advanced(by: Self.openPatience)
        while synchronizer.effectiveRate == 0 {
            guard interruption.status == nil else { return nil }
            if HostInstant.now >= deadline, let late = synchronizer.pendingStart?.waits.first {
                throw TalkieError(
                    .unavailable,
                    "'\(late.output)' does not begin to take sound; switch it off and on, and try again")
            }
            try turn()
        }
        return synchronizer.timebase.snapshot.segment(at: .now).hostInstant(of: .zero)
    }

    // MARK: Playing

    private func turn() throws(TalkieError) {
        feed()
        drainEvents()
        try check()
        wake.wait(until: .now.advanced(by: Self.beat))
        wake.clear()
    }

    private func feed() {
        for index in renderers.indices {
            while renderers[index].isReadyForMoreMediaData {
                guard let buffer = sounds[index].read() else {
                    renderers[index].finish()
                    break
                }
                renderers[index].enqueue(buffer)
            }
        }
    }

    private func drainEvents() {
        while let entry = events.take() {
            switch entry.event {
            case .frame(let pts, _, let presented): flips[pts] = presented
            case .outputLost(let output), .outputMoved(let output):
                wasLost = true
                let name = outputs.indices.contains(output.index) ? outputs[output.index].name : "a speaker"
                trouble.withLock { $0 = $0 ?? OutputError(.lost, "'\(name)' was lost during the run; try again") }
            case .resumed:
                // Film went on later, on another line.
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
        // A speaker that does not answer shall not keep the others.
        let closers = renderers.map { renderer in
            // ignored: without a thread this one closes the output itself.
            let closer = try? WorkerThread.start(name: "calibration closing") { renderer.invalidate() }
            if closer == nil { renderer.invalidate() }
            return closer
        }
        for closer in closers { closer?.join() }
    }
}
