package import CardPlayout
package import MediaCore

/// A simulated sound card queue in virtual time, with a switch for each fault of real ones.
///
/// It records which sample was audible when. Used by one thread of a test.
package final class VirtualPlayoutDevice: PlayoutDevice {
    /// Consecutively audible samples.
    package struct Heard: Sendable {
        /// When the first sample was audible.
        package var start: HostInstant
        /// Host nanoseconds per frame.
        package var nanosecondsPerFrame: Double
        /// Interleaved samples.
        package var samples: [Float] = []
        /// Returns when a frame was audible.
        package func instant(of index: Int) -> HostInstant {
            HostInstant(nanoseconds: start.nanoseconds + Int64((Double(index) * nanosecondsPerFrame).rounded()))
        }
    }

    package let format: PCMFormat
    package let capacity: Int
    package var canRewind: Bool
    /// Rate error in ppm; positive: fast. Applied at the next start.
    package var ratePPM = 0.0
    /// Delay from the end of the queue to audibility.
    package var latency: Duration
    /// Maximum error of delay readings in either direction.
    package var delayJitter: Duration = .zero
    /// Error of delay readings for a time after a start.
    package var delayErrorAtStart: (error: Duration, lasting: Duration) = (.zero, .zero)
    /// Measurements of a sound server that the device plays through; nil: it is hardware. Made by `measure`.
    package var serverLatency: ServerLatency?
    /// Returns how long the thread is preempted between the position and the instant of the next reading.
    package var preemption: (() -> Duration)?
    /// The number of frames that the device takes from the queue at once, as a sound server does.
    package var quantum = 1
    /// Whether the device waits, and reports no underrun, while the queue holds less than a quantum.
    package var awaitsQuantum = false
    /// The time that a slow processor takes to render a frame.
    package var renderTime: Duration = .zero
    /// The audible samples in order.
    package private(set) var heard: [Heard] = []
    /// Called for every audible frame in order; `heard` then stays empty.
    package var listener: ((UnsafeBufferPointer<Float>, HostInstant) -> Void)?
    /// Whether the device is lost.
    package var isGone = false
    /// The number of starts.
    package private(set) var starts = 0

    private let clock: ManualClock
    private var state = PlayoutDeviceReading.State.prepared
    private var queue: [Float] = []
    private var queueHead = 0
    private var writtenFrames = 0
    private var playedFrames = 0
    /// The frames of silence that were played while the device waited.
    private var silentFrames = 0
    /// When the device started last.
    package private(set) var startedAt = HostInstant(nanoseconds: 0)
    private var random: UInt64 = 0x9E37_79B9_7F4A_7C15

    package init(
        clock: ManualClock, format: PCMFormat, capacity: Duration = .milliseconds(200),
        latency: Duration = .milliseconds(5), canRewind: Bool = false
    ) {
        self.clock = clock
        self.format = format
        self.capacity = Int(capacity.inSeconds * Double(format.sampleRate))
        self.latency = latency
        self.canRewind = canRewind
    }

    private var nanosecondsPerFrame: Double { 1e9 / (Double(format.sampleRate) * (1 + ratePPM * 1e-6)) }
    private var queuedFrames: Int { writtenFrames - playedFrames }

    /// Plays the frames that are due.
    package func advance() {
        guard state == .running else { return }
        let elapsed = Double(clock.now.nanoseconds - startedAt.nanoseconds)
        let period = nanosecondsPerFrame
        let due = Int(elapsed / period) / quantum * quantum - silentFrames
        let count = (min(due, writtenFrames) - playedFrames) / quantum * quantum
        if count > 0 {
            queue.withUnsafeBufferPointer { record($0.baseAddress! + queueHead, frames: count, every: period) }
            queueHead += count * format.channels
            playedFrames += count
            if queueHead > 65536 {
                queue.removeFirst(queueHead)
                queueHead = 0
            }
        }
        guard due > playedFrames, due > writtenFrames else { return }
        if awaitsQuantum { silentFrames += due - playedFrames } else { state = .underrun }
    }

    /// Passes frames that are audible now to the listener, or adds them to `heard`.
    private func record(_ samples: UnsafePointer<Float>, frames: Int, every period: Double) {
        let channels = format.channels
        let origin =
            startedAt.nanoseconds + latency.wholeNanoseconds + Int64((Double(silentFrames) * period).rounded())
        guard let listener else {
            if playedFrames == 0 {
                heard.append(Heard(start: HostInstant(nanoseconds: origin), nanosecondsPerFrame: period))
            }
            heard[heard.count - 1].samples.append(
                contentsOf: UnsafeBufferPointer(start: samples, count: frames * channels))
            return
        }
        for index in 0..<frames {
            let audible = origin + Int64((Double(playedFrames + index) * period).rounded())
            listener(
                UnsafeBufferPointer(start: samples + index * channels, count: channels),
                HostInstant(nanoseconds: audible))
        }
    }

    private func next() -> Double {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Double(random >> 11) / Double(1 << 53)
    }

    /// Lets the sound server measure the latency now.
    package func measure(roundTrip: Duration = .zero) {
        advance()
        guard state == .running else { return }
        let elapsed = Double(clock.now.nanoseconds - startedAt.nanoseconds)
        let queued = Double(silentFrames + writtenFrames) * nanosecondsPerFrame - elapsed
        serverLatency?.publish(
            ServerLatency.Measurement(
                asked: clock.now.advanced(by: .zero - roundTrip), answered: clock.now,
                latency: latency + .nanoseconds(Int64(queued))))
    }

    // MARK: PlayoutDevice

    package func readState() -> PlayoutDeviceReading {
        advance()
        if isGone { return PlayoutDeviceReading(state: .lost, free: 0, delay: 0, instant: clock.now) }
        var delay = Double(queuedFrames) + latency.inSeconds * Double(format.sampleRate)
        if state == .running {
            // Between frames the true delay is fractional; a card reports whole frames.
            let elapsed = Double(clock.now.nanoseconds - startedAt.nanoseconds) / nanosecondsPerFrame
            delay -= elapsed - Double(silentFrames + playedFrames)
            delay += (next() * 2 - 1) * delayJitter.inSeconds * Double(format.sampleRate)
            if clock.now - startedAt < delayErrorAtStart.lasting {
                delay += delayErrorAtStart.error.inSeconds * Double(format.sampleRate)
            }
        }
        let free = capacity - queuedFrames
        if let preemption { clock.advance(by: preemption()) }
        return PlayoutDeviceReading(state: state, free: free, delay: Int(delay.rounded()), instant: clock.now)
    }

    package func write(_ samples: UnsafePointer<Float>, frames: Int) -> PlayoutDeviceResult {
        clock.advance(by: renderTime * frames)
        advance()
        if isGone { return .lost }
        if state == .underrun { return .underrun }
        let count = min(frames, capacity - queuedFrames)
        queue.append(contentsOf: UnsafeBufferPointer(start: samples, count: count * format.channels))
        writtenFrames += count
        return .wrote(count)
    }

    package func start() {
        guard state == .prepared else { return }
        state = .running
        startedAt = clock.now
        starts += 1
    }

    package func rewind(_ frames: Int) -> Int {
        advance()
        guard canRewind, state == .running else { return 0 }
        let count = min(frames, queuedFrames)
        queue.removeLast(count * format.channels)
        writtenFrames -= count
        return count
    }

    package func discard() -> Bool {
        advance()
        return prepare()
    }

    package func recover() -> Bool { prepare() }

    private func prepare() -> Bool {
        guard !isGone else { return false }
        queue.removeAll(keepingCapacity: true)
        queueHead = 0
        (writtenFrames, playedFrames, silentFrames, state) = (0, 0, 0, .prepared)
        return true
    }
}
