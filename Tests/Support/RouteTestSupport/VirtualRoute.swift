import MediaCodecs
import MediaCore
import TalkieTestKit

@testable import SyncRendering

/// A virtual card on a manually advanced clock: the recording is exact, and the test needs no real time.
final class VirtualRoute: RecordedRoute {
    let name = "virtual card"
    let synchronizer: RenderSynchronizer
    let renderer: AudioRenderer
    let queue: any MediaRequestQueue
    let promises = RoutePromises(
        flushLead: .milliseconds(350), maxFlushLead: .milliseconds(350), depth: 0.3...3, factor: 1, startError: 2)
    private let clock = ManualClock()
    private let hand: ManualQueue
    private let card: VirtualSoundCard
    private var feeder: AudioFeeder
    private let ears = Ears()

    /// The samples that left the card, in order.
    private final class Ears {
        var samples: [Float] = []
        var start: HostInstant?
    }

    static let rate = 48000

    init() throws {
        hand = ManualQueue(clock: clock)
        queue = hand
        let events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        renderer = AudioRenderer(codecs: FilmAudioCodecs(), events: events)
        let device = VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: Self.rate, layout: .stereo))
        card = VirtualSoundCard(clock: clock, device: device)
        let ears = ears
        device.listener = { frame, at in
            let start = ears.start ?? at
            ears.start = start
            // A discarded queue leaves a gap, which is filled with silence.
            let place = Int(((at - start).inSeconds * Double(Self.rate)).rounded())
            while ears.samples.count < place { ears.samples.append(0) }
            ears.samples.append(frame[0])
        }
        synchronizer.addRenderer(renderer)
        feeder = renderer.startWithoutThread { _ in }
        renderer.setOutput(card)
    }

    private func runUntilIdle() {
        for _ in 0..<100 {
            let moved = hand.runIteration()
            feeder.performDueWork()
            synchronizer.performDueWork()
            if moved == 0, hand.runIteration() == 0 { return }
        }
    }

    func run(until instant: HostInstant) {
        while clock.now < instant {
            runUntilIdle()
            card.run(until: min(instant, clock.now.advanced(by: .milliseconds(2))))
        }
        runUntilIdle()
    }

    func addAgain() {
        synchronizer.addRenderer(renderer)
        // The earlier feeder has ended, and without threads the test starts the next one.
        feeder = renderer.startWithoutThread { _ in }
    }

    func finish() throws -> Recording {
        renderer.invalidate()
        return Recording(
            samples: ears.samples, rate: Double(Self.rate), start: ears.start ?? HostInstant(nanoseconds: 0))
    }
}
