internal import MediaCodecs
public import MediaCore
public import SyncRendering
@_exported public import TalkieTestKit

/// An output on a manually advanced clock: the recording is exact, and the test needs no real time.
///
/// The renderer has no thread; `run` advances renderer, output and clock in steps of 2 ms. The output must run on the
/// clock of its context's timebase, and do its work in the closure that is given here.
public final class VirtualRoute: RecordedRoute {
    public let name: String
    public let synchronizer: RenderSynchronizer
    public let renderer: AudioRenderer
    public var queue: any MediaRequestQueue { manualQueue }
    public let promises: RoutePromises
    private let clock: ManualClock
    private let manualQueue: ManualQueue
    private var feeder: AudioFeeder
    private let runOutput: (HostInstant) -> Void
    private let recording: () -> OutputCapture

    /// Opens a route.
    ///
    /// - Parameters:
    ///   - runOutput: Does all work of the output that is due until an instant, and advances the clock to it.
    ///   - recording: Returns what the output has played. Called once, at the end.
    public init(
        _ output: any AudioDestination, clock: ManualClock, promises: RoutePromises = RoutePromises(),
        runOutput: @escaping (HostInstant) -> Void, recording: @escaping () -> OutputCapture
    ) {
        name = output.name
        self.clock = clock
        self.promises = promises
        self.runOutput = runOutput
        self.recording = recording
        manualQueue = ManualQueue(clock: clock)
        let events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
        synchronizer.addRenderer(renderer)
        feeder = renderer.startWithoutThread { _ in }
        renderer.setOutput(output)
    }

    private func runUntilIdle() {
        for _ in 0..<100 {
            let moved = manualQueue.runIteration()
            feeder.performDueWork()
            synchronizer.performDueWork()
            if moved == 0, manualQueue.runIteration() == 0 { return }
        }
    }

    public func run(until instant: HostInstant) {
        while clock.now < instant {
            runUntilIdle()
            runOutput(min(instant, clock.now.advanced(by: .milliseconds(2))))
        }
        runUntilIdle()
    }

    public func addAgain() {
        synchronizer.addRenderer(renderer)
        // The earlier feeder has ended, and without threads the route starts the next one.
        feeder = renderer.startWithoutThread { _ in }
    }

    public func finish() throws -> OutputCapture {
        renderer.invalidate()
        return recording()
    }
}

extension VirtualRoute {
    /// Opens a virtual sound card: the reference of the contract, with the playout code of real cards.
    public static func card() -> VirtualRoute {
        let rate = 48_000
        let clock = ManualClock()
        let device = VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: rate, layout: .stereo))
        let card = VirtualSoundCard(clock: clock, device: device)
        let (samples, start) = (Lock<[Float]>([]), Lock<HostInstant?>(nil))
        device.listener = { frame, at in
            let begin = start.withLock { start in
                start = start ?? at
                return start ?? at
            }
            // A discarded queue leaves a gap, which is filled with silence.
            let index = Int(((at - begin).inSeconds * Double(rate)).rounded())
            samples.withLock { samples in
                while samples.count < index { samples.append(0) }
                samples.append(frame[0])
            }
        }
        return VirtualRoute(card, clock: clock) {
            card.run(until: $0)
        } recording: {
            OutputCapture(
                samples: samples.withLock { $0 }, rate: Double(rate),
                start: start.withLock { $0 } ?? HostInstant(nanoseconds: 0))
        }
    }
}
