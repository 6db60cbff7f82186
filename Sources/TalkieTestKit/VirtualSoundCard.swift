package import CardPlayout
package import MediaCore
package import SyncRendering

/// A sound card in virtual time: the real playout code on a `VirtualPlayoutDevice`. Advanced by `run`.
package final class VirtualSoundCard: StartReportingOutput, RecoveringOutput, OwnerVolumeOutput, OwnClockOutput,
    NowPlayingOutput, MovableOutput, PartialFlushing, @unchecked Sendable
{
    // `@unchecked Sendable`: used by one thread of a test.

    package let name: String
    package var desiredDepth: Duration = .milliseconds(300)
    /// Until then it waits for a clock, like a network speaker.
    package var clockIsReady: HostInstant?
    /// Thrown by `prepare`.
    package var refusal: OutputError?
    /// Simulates the failure of the open output, such as another sender that takes a speaker over; `close` resets it.
    package var failure: OutputError?
    /// The kind of output, for a simulated speaker.
    package var kind = AudioRouteKind.virtual
    /// The reason why the gain is not in effect.
    package var gainFailure: OutputError?
    /// The number of calls of `close` while open.
    package private(set) var closings = 0
    /// The simulated device.
    package let device: VirtualPlayoutDevice
    /// The pump; nil while closed.
    package private(set) var pump: SoundCardPump?
    /// The playout; nil while closed.
    package private(set) var playout: SoundCardPlayout?
    /// Maximum delay of the pump's wake-ups.
    package var wakeJitter: Duration = .zero
    package var edges = SoundCardPlayout.Edges()
    package var depths = SoundCardPump.Depths()
    /// Called before each iteration so that a feeder can deliver.
    package var feeder: ((VirtualSoundCard) -> Void)?
    /// Substitute devices by name after a loss; the card's own device has the card's name.
    package var supply = DeviceFailover.Supply { _ in nil }
    /// The failover logic; nil while closed.
    package private(set) var failover: DeviceFailover?
    /// The fixed timeline of an output that cannot be moved, such as a speaker in the same group.
    package var held: (() -> TimebaseSegment?)?
    /// Adjusts the rate of `held`; nil: the clock cannot be adjusted.
    package var adjustHeld: ((Double) -> Bool)?
    /// Simulates an absent speaker.
    package var isAway = false
    /// Simulates a speaker that has to follow a clock first.
    package var earliestStart: HostInstant?
    /// Simulates a speaker that is silent until then after a reconnection.
    package var audibleFrom: HostInstant?
    /// Simulates a speaker that does not answer.
    package var isUnresponsive = false
    /// The items that were to be displayed.
    package private(set) var nowPlaying: [NowPlaying?] = []
    /// Additional start lead.
    package var extraLead: Duration = .zero

    private let clock: ManualClock
    private var buffer: PlayoutBuffer?
    /// The context of the last `prepare`; nil while closed.
    package private(set) var context: AudioOutputContext?
    private var wake: HostInstant
    private var random: UInt64 = 0x2545_F491_4F6C_DD1D
    private static let history = Duration.milliseconds(300)

    /// Creates a card on a device.
    package init(clock: ManualClock, device: VirtualPlayoutDevice, name: String = "virtual card") {
        self.clock = clock
        self.device = device
        self.name = name
        wake = clock.now
    }

    package func setNowPlaying(_ nowPlaying: NowPlaying?) { self.nowPlaying.append(nowPlaying) }

    /// Advances virtual time and runs the pump whenever it is due.
    package func run(until end: HostInstant) {
        while let failover, wake <= end {
            clock.advance(to: wake)
            feeder?(self)
            let at = failover.step()
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            let late = Double(random >> 11) / Double(1 << 53) * Double(wakeJitter.wholeNanoseconds)
            wake = max(at, clock.now.advanced(by: .microseconds(10))).advanced(by: .nanoseconds(Int64(late)))
        }
        clock.advance(to: end)
        device.advance()
    }

    /// Advances virtual time by a duration.
    package func run(for duration: Duration) { run(until: clock.now.advanced(by: duration)) }

    /// Simulates a stalled machine: the queue is not filled.
    package func stall(for duration: Duration) {
        clock.advance(by: duration)
        wake = clock.now
    }

    // MARK: AudioOutput

    package var latency: OutputLatency {
        guard let pump else { return OutputLatency(startLead: depths.idle + depths.wakeUp + extraLead) }
        return OutputLatency(
            startLead: pump.startLead + extraLead, stopLead: pump.stopLead,
            shares: [
                LatencyShare(
                    name: "virtual card", duration: pump.delay, uncertainty: pump.uncertainty, source: .reported)
            ])
    }

    package var remoteTimeline: TimebaseSegment? { held?() }
    package func adjustRemoteRate(by offset: Double) -> Bool { adjustHeld?(offset) ?? false }
    package var loss: OutputError? {
        guard let failover, failover.deviceName == nil else { return nil }
        return OutputError(.lost, "\(name) is gone; connect it again")
    }
    package var outputDevice: OutputDevice? {
        failover?.deviceName.map { OutputDevice(name: $0, isOwn: $0 == name, sink: nil) }
    }
    package var isAudible: Bool { audibleFrom.map { $0 <= clock.now } ?? true }
    package var isReadyToStart: Bool { !isAway && (pump?.isSettled ?? false) }

    package var wait: OutputWait? {
        if let ready = clockIsReady, ready > clock.now {
            return OutputWait(.clock, of: name, remaining: ready - clock.now)
        }
        return isReadyToStart ? nil : OutputWait(.ownDelay, of: name)
    }

    package func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .pcm(device.format) }

    package func prepare(_ delivery: AudioDelivery, context other: AudioOutputContext) throws(OutputError) {
        if let refusal { throw refusal }
        guard delivery == .pcm(device.format) else {
            throw OutputError(.unsupportedFormat, "this virtual card takes decoded sound of its own format only")
        }
        if let context = self.context, pump != nil, context.timebase === other.timebase,
            context.writable === other.writable
        {
            return
        }
        let buffer = PlayoutBuffer(format: device.format, depth: .milliseconds(400), history: Self.history)
        let playout = SoundCardPlayout(
            buffer: buffer, timebase: other.timebase, events: other.events, id: other.id,
            history: Self.history, edges: edges, resampler: DriftResampler(taps: 8))
        let pump = SoundCardPump(device: device, buffer: buffer, playout: playout, context: other, depths: depths)
        // Read lazily: a test can set it later.
        failover = DeviceFailover(
            pump: pump, device: device, name: name, context: other,
            supply: DeviceFailover.Supply { [unowned self] in
                supply.substitutes()
            } open: { [unowned self] name in
                supply.open(name)
            })
        self.pump = pump
        self.playout = playout
        self.buffer = buffer
        self.context = other
        wake = clock.now
    }

    package func accept(_ block: PCMBlock, from offset: Int) -> Int {
        guard let buffer else { return 0 }
        let taken = buffer.accept(block, from: offset)
        if taken < block.frames - offset { pump?.askForRoom() }
        return taken
    }

    package func finish() { buffer?.finish() }
    package var acceptedUntil: MediaTime? { buffer?.acceptedUntil }
    package func flush() {
        buffer?.flush()
        wake = min(wake, clock.now)
    }
    package var partialFlushLead: Duration { (pump?.delay ?? .zero) + SoundCardPump.partialFlushMargin }
    package func beginPartialFlush(from time: MediaTime) {
        buffer?.beginCut(at: time)
        wake = min(wake, clock.now)
    }
    package var partialFlushResult: PartialFlushResult? {
        guard let buffer else { return .flushed(from: .zero) }
        return buffer.cutResult(lead: partialFlushLead)
    }
    package func timebaseDidChange(_ snapshot: TimebaseSnapshot) { wake = min(wake, clock.now) }
    package func setGain(_ gain: Float) { pump?.setGain(gain) }
    package func restoreGain() { setGain(1) }
    package var ownVolume: Double? { nil }
    package var isOwnVolumeKnown: Bool { true }
    package func close() {
        if pump != nil { closings += 1 }
        failure = nil
        _ = device.discard()
        pump = nil
        failover = nil
        playout = nil
        buffer = nil
    }
}
