import CardPlayout
import MediaCore

@testable import SyncRendering
@testable import TalkieTestKit

/// A synchronizer, a renderer that was added to it, and a virtual sound card: the contract as an application sees it, all
/// on a clock that the test turns.
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
    let news = Lock<[String]>([])
    static let rate = 3000

    /// Sound that was heard: when, and which film moment it is, in seconds; nil for silence.
    private(set) var heard: [(at: HostInstant, film: Double?)] = []
    /// Called before each step of virtual time.
    var meanwhile: () -> Void = {}

    /// - Parameter isGrouped: the card is the only member of a group, as in a player.
    init(
        seconds: Int64 = 600, codecs: any AudioCodecs = SyntheticCodecs(), film: SyntheticFilm? = nil,
        output: (any AudioOutput)? = nil, isGrouped: Bool = false
    ) throws {
        queue = ManualQueue(clock: clock)
        events = EventLog(clock: clock)
        synchronizer = RenderSynchronizer(clock: clock, events: events)
        renderer = AudioRenderer(codecs: codecs, events: events)
        device = VirtualPlayoutDevice(clock: clock, format: PCMFormat(sampleRate: Self.rate, layout: .stereo))
        card = VirtualSoundCard(clock: clock, device: device)
        // A number that fades is another number.
        card.edges.fadeIn = .zero
        card.edges.fadeOut = .zero
        self.film =
            film ?? SyntheticFilm(duration: MediaTime(value: seconds, timescale: 1), sampleRate: Self.rate)
        synchronizer.addRenderer(renderer)
        let news = news
        feeder = renderer.startWithoutThread { item in news.withLock { $0.append("\(item)") } }
        let group = isGrouped ? OutputGroup(members: [card], codecs: codecs, work: .byHand()) : nil
        renderer.setOutput(output ?? group ?? card)
        device.listener = { [unowned self] frame, at in
            let number = SyntheticFilm.frame(ofValue: frame[0])
            heard.append((at, number.map { Double($0) / Double(Self.rate) }))
        }
    }

    var sound: any SampleSource { film.source(for: film.summary.tracks[1]) }

    /// Asks for sound of a source as an application would.
    func feed(from source: any SampleSource) {
        let renderer = renderer
        renderer.requestMediaDataWhenReady(on: queue) {
            while renderer.isReadyForMoreMediaData {
                guard let buffer = try? source.read() else { return renderer.stopRequestingMediaData() }
                renderer.enqueue(buffer)
            }
        }
    }

    /// Everything that can move without time passing, moves.
    func settle() {
        for _ in 0..<100 {
            let moved = queue.turn()
            feeder.settle()
            synchronizer.settle()
            if moved == 0, queue.turn() == 0 { return }
        }
    }

    /// Lets virtual time pass.
    func run(for duration: Duration, step: Duration = .milliseconds(5)) {
        let end = clock.now.advanced(by: duration)
        while clock.now < end {
            meanwhile()
            settle()
            card.run(until: min(end, clock.now.advanced(by: step)))
        }
        settle()
    }

    /// What was heard from an instant on, without silence.
    func sounds(from instant: HostInstant) -> [(at: HostInstant, film: Double)] {
        heard.compactMap { item in item.at < instant ? nil : item.film.map { (item.at, $0) } }
    }

    /// The largest distance between what was heard from an instant on and what the timebase says, in seconds.
    func worstError(from instant: HostInstant) -> Double {
        let snapshot = synchronizer.timebase.snapshot
        return sounds(from: instant).map { abs(snapshot.mediaTime(at: $0.at).seconds - $0.film) }.max() ?? .infinity
    }
}

extension GroupWork {
    /// Everything happens on the test's thread, changes of members only when it advances them.
    ///
    /// - Parameter turns: told each feeder that is to have a thread of its own.
    static func byHand(_ turns: @escaping @Sendable (MemberFeeder) -> Void = { _ in }) -> GroupWork {
        var work = GroupWork()
        work.turn = { feeder, _ in
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

/// A moment on the film in whole seconds.
func second(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1) }
/// A moment on the film in milliseconds.
func millisecond(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1000) }
