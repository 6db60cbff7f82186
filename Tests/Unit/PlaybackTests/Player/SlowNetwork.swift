import Dispatch
import MediaCore

@testable import Playback
@testable import TalkieTestKit

/// The rate at which films arrive, in film seconds per second of a test's clock.
///
/// `@unchecked Sendable`: only one of the test's thread and the pipelines' threads runs at a time (`PipelineRunners`).
final class SlowNetwork: @unchecked Sendable {
    private let clock: ManualClock
    private var (total, since): (Double, HostInstant)
    /// Takes effect from now on; 0 simulates an unreachable server.
    var rate: Double {
        willSet { (total, since) = (arrived, clock.now) }
    }

    init(_ clock: ManualClock, rate: Double = 1) { (self.clock, total, since, self.rate) = (clock, 0, clock.now, rate) }

    /// Film seconds that could have arrived so far.
    var arrived: Double { total + (clock.now - since).inSeconds * rate }
}

/// A film that arrives over a network, each track through a separate connection.
final class SlowFilm: MediaSource {
    private let film: any MediaSource
    private let network: SlowNetwork
    private let kinds: Set<Track.Kind>
    var summary: MediaSummary { film.summary }

    /// - Parameter kinds: tracks that arrive slowly; others are available at once.
    init(_ film: any MediaSource, _ network: SlowNetwork, _ kinds: Set<Track.Kind> = [.audio, .video]) {
        (self.film, self.network, self.kinds) = (film, network, kinds)
    }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        let source = try film.source(for: track)
        return kinds.contains(track.kind) ? SlowSource(source, network) : source
    }
}

/// `@unchecked Sendable`: as its network.
private final class SlowSource: SampleSource, @unchecked Sendable {
    let track: Track
    private let source: any SampleSource
    private let network: SlowNetwork
    /// Film time that had arrived when the network had delivered `arrived`.
    private var base: (film: Double, arrived: Double)
    private var next: SampleBuffer?

    /// Film seconds that arrive without being read.
    private static let window = 0.1

    init(_ source: any SampleSource, _ network: SlowNetwork) {
        (track, self.source, self.network) = (source.track, source, network)
        base = (0, network.arrived)
    }

    func read() throws(MediaError) -> SampleBuffer? {
        if next == nil { next = try source.read() }
        guard let buffer = next, let end = buffer.end?.seconds else { return nil }
        // Data read ahead by background tasks, which a test runs synchronously, is available at once.
        while PipelineRunners.isRunning, base.film + network.arrived - base.arrived < end {
            guard PipelineRunners.block() else { throw MediaError(.cancelled, "cancelled") }
        }
        let ahead = base.film + network.arrived - base.arrived
        if ahead > end + Self.window { base = (end + Self.window, network.arrived) }
        next = nil
        return buffer
    }

    func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
        next = nil
        base = (time.seconds, network.arrived)
        return try source.seek(to: time, mode: mode)
    }

    func cancel() { source.cancel() }
}

/// Threads for pipelines whose sources block. A test runs one thread at a time, until its iteration ends or its source
/// blocks.
///
/// `@unchecked Sendable`: one thread at a time runs; semaphores pass control.
final class PipelineRunners: @unchecked Sendable {
    private final class Runner: @unchecked Sendable {
        let (go, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var result: TrackPipeline.IterationResult?
        var isStopping = false
        var thread: WorkerThread?
    }

    private var runners: [ObjectIdentifier: Runner] = [:]
    @TaskLocal private static var current: Runner?

    /// True if the caller is the thread of a pipeline.
    static var isRunning: Bool { current != nil }

    /// Runs one iteration of a pipeline; returns nil if its source blocks.
    func runIteration(_ pipeline: TrackPipeline) -> TrackPipeline.IterationResult? {
        let runner = runners[ObjectIdentifier(pipeline)] ?? start(pipeline)
        runner.result = nil
        runner.go.signal()
        runner.done.wait()
        return runner.result
    }

    private func start(_ pipeline: TrackPipeline) -> Runner {
        let runner = Runner()
        runners[ObjectIdentifier(pipeline)] = runner
        runner.thread = try! WorkerThread.start(name: "pipeline") {
            Self.$current.withValue(runner) {
                while true {
                    runner.go.wait()
                    if runner.isStopping { return }
                    let result = pipeline.runIteration()
                    if runner.isStopping { return }
                    runner.result = result
                    runner.done.signal()
                }
            }
        }
        return runner
    }

    /// Suspends the iteration of the pipeline whose source calls this, until the test resumes it.
    ///
    /// - Returns: false if the test has ended.
    static func block() -> Bool {
        guard let runner = current else { return false }
        runner.done.signal()
        runner.go.wait()
        return !runner.isStopping
    }

    func stop() {
        for runner in runners.values {
            runner.isStopping = true
            runner.go.signal()
            runner.thread?.join()
        }
        runners = [:]
    }

    deinit { stop() }
}
