public import MediaCore
internal import Synchronization

/// Keeps a sound card's queue filled, no further ahead than needed, and learns from it when its frames are heard.
///
/// While nothing plays the queue holds silence for a few tens of milliseconds, so that a start can be heard soon and
/// the card's clock is known when it comes. While sound plays it is filled further. When the timeline changes, what
/// is queued and no longer true is taken back, or thrown away where a device cannot take back.
///
/// `step` belongs to the pump's thread and neither allocates nor locks; the rest says its own thread.
public final class SoundCardPump {
    /// How far the queue is filled.
    public struct Depths: Sendable {
        /// While silent.
        public var idle: Duration = .milliseconds(30)
        /// While silent and just opened, when somebody waits for the first sound; for `startFor` after a start.
        public var start: Duration = .milliseconds(20)
        public var startFor: Duration = .seconds(1)
        /// While playing.
        public var playing: Duration = .milliseconds(100)
        /// Below this the film's own silence is written rather than waited for material.
        public var least: Duration = .milliseconds(30)
        /// How long the pump sleeps when all is well and sound plays.
        public var interval: Duration = .milliseconds(20)
        /// … and while it is silent, when less is queued.
        public var idleInterval: Duration = .milliseconds(10)
        /// From a change of the timeline until the pump has seen it: it is woken.
        public var wakeUp: Duration = .milliseconds(5)
        public init() {}
    }

    public enum Outcome: Sendable, Equatable {
        /// Step again at this moment, or earlier when the timeline changes.
        case again(at: HostInstant)
        /// The device is gone.
        case lost
    }

    private var device: (any PlayoutDevice)?
    private let format: PCMFormat
    private var capacity: Int
    private var canRewind: Bool
    private let buffer: PlayoutBuffer
    private let playout: SoundCardPlayout
    private let context: AudioOutputContext
    private let clock: any HostClock
    private var depths: Depths
    private let rate: Double
    private let scratch: UnsafeMutablePointer<Float>
    private var deviceClock: DeviceClock
    private var written: Int64 = 0
    private var audibleUntil: Int64 = 0
    private var rendered: TimebaseSnapshot
    private var renderedLiveFrom: Int64 = 0
    private var cutAt: HostInstant?
    private var faults = 0
    private var lastLatencyNote = HostInstant(nanoseconds: 0)
    private var lastFault = HostInstant(nanoseconds: 0)
    private let gainBits: Atomic<UInt32>
    private let wantsRoom = Atomic<Bool>(false)
    private let afterCard = Atomic<Int64>(0)
    private let delayCell = Atomic<Int64>(0)
    private let uncertaintyCell = Atomic<Int64>(0)
    private let leadCell: Atomic<Int64>
    private let rewinds: Atomic<Bool>
    private let steady = Atomic<Bool>(false)

    /// Times the device itself ran dry.
    public private(set) var deviceUnderruns = 0

    public init(
        device: any PlayoutDevice, buffer: PlayoutBuffer, playout: SoundCardPlayout, context: AudioOutputContext,
        depths: Depths = Depths(), initialGain: Float = 1
    ) {
        self.device = device
        format = device.format
        capacity = device.capacity
        canRewind = device.canRewind
        self.buffer = buffer
        self.playout = playout
        self.context = context
        self.depths = depths
        clock = context.timebase.clock
        rate = Double(device.format.sampleRate)
        deviceClock = DeviceClock(sampleRate: format.sampleRate)
        scratch = .allocate(capacity: SoundCardPlayout.maximumFrames * format.channels)
        scratch.initialize(repeating: 0, count: SoundCardPlayout.maximumFrames * format.channels)
        rendered = context.timebase.snapshot
        gainBits = Atomic(initialGain.bitPattern)
        rewinds = Atomic(device.canRewind)
        leadCell = Atomic((depths.start + depths.wakeUp).wholeNanoseconds)
    }

    deinit { scratch.deallocate() }

    // MARK: Any thread

    /// Loudness to be reached, 1 is unchanged. Wait-free.
    public func setGain(_ gain: Float) {
        gainBits.store((gain.isFinite ? max(0, gain) : 0).bitPattern, ordering: .relaxed)
    }

    /// Time from the card's output to the ear that the card does not know of, as a calibration found it. Wait-free.
    public func setDelayAfterCard(_ delay: Duration) { afterCard.store(delay.wholeNanoseconds, ordering: .relaxed) }

    /// The feeder was turned away and wants to hear of room. Wait-free.
    public func askForRoom() { wantsRoom.store(true, ordering: .releasing) }

    /// From writing a frame to the ear, as last seen, and how uncertain that is. Wait-free.
    public var delay: Duration { .nanoseconds(delayCell.load(ordering: .relaxed)) }
    public var uncertainty: Duration { .nanoseconds(uncertaintyCell.load(ordering: .relaxed)) }

    /// Whether the card's position is known well enough to place a first sound; `room` is raised when that comes
    /// true. Wait-free.
    public var isSettled: Bool { steady.load(ordering: .acquiring) }

    /// How far in the future a start must lie to be kept. Wait-free.
    public var startLead: Duration { .nanoseconds(leadCell.load(ordering: .relaxed)) }

    /// What a flush from a film time on needs beyond the card's queue: one sleep of the pump, what it fills at that, and
    /// what a busy machine adds.
    public static let partialFlushMargin: Duration = .milliseconds(70)

    /// How far in the future a stop should lie: where frames can be taken back, the sound then ends softly.
    public var stopLead: Duration { rewinds.load(ordering: .relaxed) ? .milliseconds(10) : .zero }

    // MARK: The pump's thread

    /// The newest estimate of the card's clock.
    public var estimate: DeviceClock.Estimate? { deviceClock.estimate }

    /// Does what is due now and says when to come back.
    public func step() -> Outcome {
        guard let device else { return .lost }
        if playout.decideCut() { context.room.raise() }
        var reading = device.look()
        switch reading.state {
        case .lost: return .lost
        case .underrun, .suspended:
            if reading.state == .underrun { noteDeviceUnderrun(at: reading.instant) }
            // A machine that wakes takes its time; a device that runs dry and cannot be filled anew is gone.
            let patience = reading.state == .suspended ? Self.mostFaults : Self.mostFailedRecoveries
            guard restart(device.recover()) else { return retry(.milliseconds(50), atMost: patience) }
            reading = device.look()
        case .running:
            learn(reading)
            if reading.instant - lastFault > .seconds(1) { faults = 0 }
        case .prepared: break
        }
        if followTimeline(reading, device) { reading = device.look() }
        if let outcome = fill(reading, device) { return outcome }
        giveRoom()
        let now = clock.now
        var next = now.advanced(by: playout.isPlaying ? depths.interval : depths.idleInterval)
        // A stream that starts is watched closely.
        if reading.state != .running || !deviceClock.isSettled || (!playout.isPlaying && isStarting) {
            next = now.advanced(by: .milliseconds(5))
        }
        // Material is late: look again soon, before the queue is down.
        if playout.isPlaying, playout.readyFrames < frames(depths.interval) {
            next = now.advanced(by: .milliseconds(5))
        }
        if let cutAt, cutAt < next { next = max(cutAt, now) }
        return .again(at: next)
    }

    private static let mostFaults = 100
    private static let mostFailedRecoveries = 5

    /// Faults in a row end in giving the device up: a real-time thread must never turn in circles.
    private func retry(_ wait: Duration, atMost limit: Int = SoundCardPump.mostFaults) -> Outcome {
        faults += 1
        lastFault = clock.now
        return faults > limit ? .lost : .again(at: lastFault.advanced(by: wait))
    }

    /// The device is gone; the pump is stepped without one until `attach`.
    public func detach() {
        device = nil
        faults = 0
        _ = restart(true)
        // Nothing is to be found out while there is none, and nobody shall wait for it.
        steady.store(true, ordering: .releasing)
    }

    /// A device came back, set to the format of the first.
    public func attach(_ device: any PlayoutDevice) {
        precondition(device.format == format, "a pump's format is constant")
        self.device = device
        capacity = device.capacity
        canRewind = device.canRewind
        rewinds.store(canRewind, ordering: .relaxed)
        _ = restart(true)
    }

    /// Lets the film's sound pass unheard, in time, so that the feeder goes on; says when to come back.
    public func stepWithoutDevice() -> HostInstant {
        if playout.decideCut() { context.room.raise() }
        let now = clock.now
        var left = frames(depths.interval)
        var heard = now.advanced(by: depths.idle)
        while left > 0 {
            let count = min(left, SoundCardPlayout.maximumFrames)
            playout.render(
                into: scratch, frames: count, firstHeardAt: heard, nanosecondsPerFrame: 1e9 / rate, gain: 0)
            heard = heard.advanced(by: .nanoseconds(Int64(Double(count) * 1e9 / rate)))
            left -= count
        }
        giveRoom()
        return now.advanced(by: depths.interval)
    }

    private func giveRoom() {
        guard wantsRoom.load(ordering: .acquiring), buffer.free >= buffer.ring.capacity / 8 else { return }
        wantsRoom.store(false, ordering: .relaxed)
        context.room.raise()
    }

    private func frames(_ duration: Duration) -> Int { Int(duration.inSeconds * rate) }

    /// Whether the device was opened a moment ago.
    private var isStarting: Bool { written < frames(depths.startFor) }
    private var idleDepth: Duration { isStarting ? min(depths.start, depths.idle) : depths.idle }

    private func learn(_ reading: PlayoutDeviceReading) {
        // Until it has taken anything, a sound server's figure only counts the time that passes.
        if written > Int64(capacity - reading.free) {
            deviceClock.add(position: DeviceFrame(written - Int64(reading.delay)), at: reading.instant)
        }
        if deviceClock.isSteady, !steady.load(ordering: .relaxed) {
            steady.store(true, ordering: .releasing)
            context.room.raise()
        }
        let after = afterCard.load(ordering: .relaxed)
        let delay = Int64(Double(reading.delay) / rate * 1e9)
        delayCell.store(delay + after, ordering: .relaxed)
        if let estimate = deviceClock.estimate {
            uncertaintyCell.store(estimate.uncertainty.wholeNanoseconds, ordering: .relaxed)
        }
        if reading.instant - lastLatencyNote >= .seconds(10) {
            lastLatencyNote = reading.instant
            context.events.note(.latency(delay: .nanoseconds(delay + after), output: context.id))
        }
        // What lies behind the queue cannot be changed any more: a start must lie beyond it.
        let behind = max(0, Int64(Double(reading.delay - (capacity - reading.free)) / rate * 1e9))
        leadCell.store((idleDepth + depths.wakeUp).wholeNanoseconds + behind + after, ordering: .relaxed)
    }

    /// Counters and places begin anew; what is known of the card's rate stays.
    private func restart(_ ready: Bool) -> Bool {
        playout.interrupted()
        deviceClock.reset()
        steady.store(false, ordering: .releasing)
        written = 0
        audibleUntil = 0
        cutAt = nil
        return ready
    }

    private func noteDeviceUnderrun(at instant: HostInstant) {
        // Silence that ran dry is nobody's loss; sound that did is heard.
        deviceUnderruns += 1
        let wasAudible = audibleUntil > 0 && audibleUntil > written - Int64(frames(depths.playing))
        if wasAudible {
            let end = deviceClock.estimate?.instant(of: DeviceFrame(written)) ?? instant
            context.events.note(.underrun(missing: max(.zero, instant - end), output: context.id))
        }
        // A queue that ran dry was too short for this machine.
        let most = Double(capacity) / rate
        depths.playing = min(depths.playing + .milliseconds(40), .nanoseconds(Int64(most * 0.9e9)))
        if !wasAudible { depths.idle = min(depths.idle + .milliseconds(10), depths.playing) }
    }

    /// When the next frame written will be heard.
    private func heardAt(_ reading: PlayoutDeviceReading) -> HostInstant {
        let after = Duration.nanoseconds(afterCard.load(ordering: .relaxed))
        if let estimate = deviceClock.estimate {
            return estimate.instant(of: DeviceFrame(written)).advanced(by: after)
        }
        let queued = Double(max(reading.delay, capacity - reading.free)) / rate
        return reading.instant.advanced(by: .nanoseconds(Int64(queued * 1e9)) + after)
    }

    // MARK: Changes of the timeline

    /// Takes back what is queued and no longer true; true when the queue changed.
    private func followTimeline(_ reading: PlayoutDeviceReading, _ device: any PlayoutDevice) -> Bool {
        let snapshot = context.timebase.snapshot
        let liveFrom = buffer.liveFrom
        let now = clock.now
        let end = heardAt(reading)
        if snapshot != rendered || liveFrom != renderedLiveFrom {
            cutAt = nil
            let queued = capacity - reading.free
            let holdsSound = audibleUntil > written - Int64(queued)
            if liveFrom != renderedLiveFrom {
                if holdsSound { cutAt = now }
            } else if let wrong = firstDifference(from: now, to: end, snapshot) {
                // Silence that should have been sound can only be helped where frames can be taken back.
                if holdsSound || canRewind { cutAt = wrong }
            }
            rendered = snapshot
            renderedLiveFrom = liveFrom
        }
        guard let cut = cutAt, cut <= now.advanced(by: .milliseconds(1)) || canRewind else { return false }
        cutAt = nil
        // A few more milliseconds of what was true are better than a gap in the sound after it.
        guard end - max(now, cut) > .milliseconds(15) else { return false }
        if canRewind {
            let keep = max(cut, now.advanced(by: .milliseconds(3)))
            let back = Int((end - keep).inSeconds * rate)
            guard back > 0 else { return false }
            let taken = device.rewind(min(back, capacity - reading.free))
            written -= Int64(taken)
            audibleUntil = min(audibleUntil, written)
            playout.rewound(frames: taken)
            return taken > 0
        }
        _ = restart(device.discard())
        return true
    }

    /// The first moment in a stretch at which two lines part, if they do.
    private func firstDifference(from: HostInstant, to end: HostInstant, _ snapshot: TimebaseSnapshot) -> HostInstant? {
        func differ(at instant: HostInstant) -> Bool {
            let (old, new) = (rendered.segment(at: instant), snapshot.segment(at: instant))
            let away = (new.mediaTime(at: instant) - old.mediaTime(at: instant)).nanoseconds
            return abs(old.rate - new.rate) > 1e-3 || (new.rate != 0 && abs(away) > 3_000_000)
        }
        if differ(at: from) { return from }
        if let change = snapshot.scheduled?.hostAnchor, change > from, change < end, differ(at: change) {
            return change
        }
        if let change = rendered.scheduled?.hostAnchor, change > from, change < end, differ(at: change) {
            return change
        }
        return nil
    }

    // MARK: Filling

    private func fill(_ reading: PlayoutDeviceReading, _ device: any PlayoutDevice) -> Outcome? {
        var queued = capacity - reading.free
        var free = reading.free
        let gain = Float(bitPattern: gainBits.load(ordering: .relaxed))
        let perFrame = deviceClock.estimate?.nanosecondsPerFrame ?? 1e9 / rate
        var heard = heardAt(reading)
        while true {
            let depth = frames(playout.isPlaying ? depths.playing : idleDepth)
            var count = min(depth - queued, free, SoundCardPlayout.maximumFrames)
            if queued >= frames(depths.least) { count = min(count, playout.readyFrames) }
            guard count > 0 else { break }
            let audible = playout.render(
                into: scratch, frames: count, firstHeardAt: heard, nanosecondsPerFrame: perFrame, gain: gain)
            switch device.write(scratch, frames: count) {
            case .wrote(let taken):
                if taken < count { playout.rewound(frames: count - taken) }
                written += Int64(taken)
                if audible { audibleUntil = written }
                queued += taken
                free -= taken
                heard = heard.advanced(by: .nanoseconds(Int64((Double(taken) * perFrame).rounded())))
                if taken < count { return nil }
            case .underrun, .suspended:
                // Seen again, and mended, at the next look.
                return retry(.milliseconds(1))
            case .lost: return .lost
            }
        }
        if reading.state == .prepared, queued > 0 { device.start() }
        return nil
    }
}
