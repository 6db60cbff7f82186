import CardPlayout
import MediaCore

@testable import SyncRendering
@testable import TalkieTestKit

/// A synchronizer, a renderer that was added to it, and a virtual sound card: the contract from the view of an
/// application, on a manually advanced clock.
final class VirtualStage {
    let clock = ManualClock()
    let queue: ManualQueue
    let events: EventLog
    let synchronizer: RenderSynchronizer
    let renderer: AudioRenderer
    let device: VirtualPlayoutDevice
    let card: VirtualSoundCard
    var feeder: AudioFeeder
    let film: SyntheticFilm
    let rendererEvents = Lock<[String]>([])
    static let rate = 3000

    /// Audible frames: the instant, and the film time in seconds; nil for silence.
    private(set) var heard: [(at: HostInstant, film: Double?)] = []
    /// Called before each step of virtual time.
    var meanwhile: () -> Void = {}

    /// - Parameter isGrouped: the card is the only member of a group, as in a player.
    init(
        seconds: Int64 = 600, codecs: any AudioCodecs = SyntheticCodecs(), film: SyntheticFilm? = nil,
        output: (any AudioDestination)? = nil, isGrouped: Bool = false
    ) throws {
        queue = ManualQueue(clock: clock)
        events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        renderer = AudioRenderer(codecs: codecs, events: events)
        device = VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: Self.rate, layout: .stereo))
        card = VirtualSoundCard(clock: clock, device: device)
        // A fade would change the encoded numbers.
        card.edges.fadeIn = .zero
        card.edges.fadeOut = .zero
        self.film =
            film ?? SyntheticFilm(duration: MediaTime(value: seconds, timescale: 1), sampleRate: Self.rate)
        synchronizer.addRenderer(renderer)
        let rendererEvents = rendererEvents
        feeder = renderer.startWithoutThread { item in rendererEvents.withLock { $0.append("\(item)") } }
        let group = isGrouped ? OutputGroup(members: [card], codecs: codecs, work: .byHand()) : nil
        renderer.setOutput(output ?? (group as (any AudioDestination)?) ?? card)
        device.listener = { [unowned self] frame, at in
            let number = SyntheticFilm.frame(ofValue: frame[0])
            heard.append((at, number.map { Double($0) / Double(Self.rate) }))
        }
    }

    var sound: any SampleSource { film.source(for: film.summary.tracks[1]) }

    /// Requests audio from a source like an application.
    func feed(from source: any SampleSource) {
        let renderer = renderer
        renderer.requestMediaDataWhenReady(on: queue) {
            while renderer.isReadyForMoreMediaData {
                guard let buffer = try? source.read() else { return renderer.stopRequestingMediaData() }
                renderer.enqueue(buffer)
            }
        }
    }

    /// Runs everything that can progress without time passing.
    func runUntilIdle() {
        for _ in 0..<100 {
            let moved = queue.runIteration()
            feeder.performDueWork()
            synchronizer.performDueWork()
            if moved == 0, queue.runIteration() == 0 { return }
        }
    }

    /// Advances virtual time.
    func run(for duration: Duration, step: Duration = .milliseconds(5)) {
        let end = clock.now.advanced(by: duration)
        while clock.now < end {
            meanwhile()
            runUntilIdle()
            card.run(until: min(end, clock.now.advanced(by: step)))
        }
        runUntilIdle()
    }

    /// Returns what was audible from an instant on, without silence.
    func sounds(from instant: HostInstant) -> [(at: HostInstant, film: Double)] {
        heard.compactMap { item in item.at < instant ? nil : item.film.map { (item.at, $0) } }
    }

    /// Returns the largest deviation of audible film time from the timebase since an instant, in seconds.
    func worstError(from instant: HostInstant) -> Double {
        let snapshot = synchronizer.timebase.snapshot
        return sounds(from: instant).map { abs(snapshot.mediaTime(at: $0.at).seconds - $0.film) }.max() ?? .infinity
    }
}

extension GroupWork {
    /// Runs everything on the test's thread; changes of members only when the test advances them.
    ///
    /// - Parameter turns: called for each feeder that would have a separate thread.
    static func byHand(_ turns: @escaping @Sendable (OutputFeed) -> Void = { _ in }) -> GroupWork {
        var work = GroupWork()
        work.startFeeder = { feeder, _ in
            turns(feeder)
            return nil
        }
        work.run = { name, body in
            if name != "route change" { body() }
            return nil
        }
        work.changesByHand = true
        return work
    }
}

/// Returns a film time in seconds.
func second(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }
/// Returns a film time in milliseconds.
func millisecond(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1000) }
