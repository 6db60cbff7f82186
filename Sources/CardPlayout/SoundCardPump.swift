internal import MediaCore
package import SyncRendering
internal import Synchronization

/// Keeps a sound card's queue filled to the required depth, and estimates the card's clock.
///
/// While silent, the queue holds a few tens of milliseconds of silence, so that a start is quick and the card's clock
/// is already known. While playing it is filled further. After a change of the timeline, obsolete frames are rewound,
/// or discarded if the device cannot rewind.
///
/// `step` is confined to the pump's thread and neither allocates nor locks; the other members state their thread.
package final class SoundCardPump {
    /// The fill levels and intervals.
    package struct Depths: Sendable {
        /// The depth while silent.
        package var idle: Duration = .milliseconds(30)
        /// The depth while silent within `startFor` after the stream opened, because the first audio is awaited.
        var start: Duration = .milliseconds(20)
        /// How long after the opening the stream counts as starting.
        var startFor: Duration = .seconds(1)
        /// The depth while playing.
        var playing: Duration = .milliseconds(100)
        /// Below this depth missing audio is replaced by silence.
        var minimum: Duration = .milliseconds(30)
        /// The interval between steps in the steady state while playing.
        var interval: Duration = .milliseconds(20)
        /// The interval while silent, when the queue is shorter.
        var idleInterval: Duration = .milliseconds(10)
        /// The maximum time from a change of the timeline until the woken pump applies it.
        package var wakeUp: Duration = .milliseconds(5)
        /// Creates the default values.
        package init() {}
    }

    /// The result of a step.
    enum Outcome: Sendable, Equatable {
        /// The instant of the next step; earlier if the timeline changes.
        case again(at: HostInstant)
        /// The device is lost.
        case lost
    }

    /// The pump's thread; nil while there is no device.
    private var device: (any PlayoutDevice)?
    /// Constant.
    private let format: PCMFormat
    /// Frames in the device's queue. The pump's thread.
    private var capacity: Int
    /// Whether the device can rewind. The pump's thread.
    private var canRewind: Bool
    /// Constant. Shared with the feeder; wait-free on both sides.
    private let buffer: PlayoutBuffer
    /// Constant; its state is confined to the pump's thread.
    private let playout: SoundCardPlayout
    /// Constant; its timebase, signal and event log are thread-safe.
    private let context: AudioOutputContext
    /// Constant.
    private let clock: any HostClock
    /// Grown after underruns. The pump's thread.
    private var depths: Depths
    /// Frames per second. Constant.
    private let rate: Double
    /// Rendered frames before they are written. The pump's thread.
    private let scratch: UnsafeMutablePointer<Float>
    /// The pump's thread.
    private var deviceClock: StreamClock
    /// Frames written since the last start of the device. The pump's thread.
    private var written: Int64 = 0
    /// The end of the last frames that may be audible, counted like `written`. The pump's thread.
    private var audibleUntil: Int64 = 0
    /// The frames that the device has fetched since its last start, and the instant of the last fetch; nil: not
    /// running. The pump's thread.
    private var fetched: (frames: Int64, at: HostInstant)?
    /// The timeline for which the queue was rendered. The pump's thread.
    private var rendered: TimebaseSnapshot
    /// The buffer's `liveFrom` for which the queue was rendered. The pump's thread.
    private var renderedLiveFrom: Int64 = 0
    /// When the queue becomes obsolete; nil: never. The pump's thread.
    private var cutAt: HostInstant?
    /// Consecutive faults of the device. The pump's thread.
    private var faults = 0
    /// The device's time of the last logged latency. The pump's thread.
    private var lastLatencyNote = HostInstant(nanoseconds: 0)
    /// When the last fault occurred. The pump's thread.
    private var lastFault = HostInstant(nanoseconds: 0)
    /// The target gain's bit pattern. Stored by any thread, loaded by the pump's.
    private let gainBits: Atomic<UInt32>
    /// Whether the feeder waits for space. Set with release by any thread, cleared by the pump's.
    private let wantsRoom = Atomic<Bool>(false)
    /// The last reported delay in nanoseconds. Stored by the pump's thread, loaded by any.
    private let delayCell = Atomic<Int64>(0)
    /// The part of it that is behind the device's queue. Stored by the pump's thread, loaded by any.
    private let behindQueueCell = Atomic<Int64>(0)
    /// Its uncertainty in nanoseconds. Stored by the pump's thread, loaded by any.
    private let uncertaintyCell = Atomic<Int64>(0)
    /// The lead of a start in nanoseconds. Stored by the pump's thread, loaded by any.
    private let leadCell: Atomic<Int64>
    /// A copy of `canRewind`. Stored by the pump's thread, loaded by any.
    private let rewinds: Atomic<Bool>
    /// Whether the card's clock is steady. Stored with release by the pump's thread, loaded with acquire by any.
    private let steady = Atomic<Bool>(false)

    /// The number of underruns of the device. The pump's thread.
    private(set) var deviceUnderruns = 0

    /// Creates a pump for an open device, in whose format `buffer` and `playout` must be.
    package init(
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
        deviceClock = StreamClock(sampleRate: format.sampleRate, at: clock.now)
        scratch = .allocate(capacity: SoundCardPlayout.maximumFrames * format.channels)
        scratch.initialize(repeating: 0, count: SoundCardPlayout.maximumFrames * format.channels)
        rendered = context.timebase.snapshot
        gainBits = Atomic(initialGain.bitPattern)
        rewinds = Atomic(device.canRewind)
        leadCell = Atomic((depths.start + depths.wakeUp).wholeNanoseconds)
    }

    deinit { scratch.deallocate() }

    // MARK: Any thread

    /// Sets the target gain as a linear factor; 1 is unchanged, a non-finite value mutes. Wait-free.
    package func setGain(_ gain: Float) {
        gainBits.store((gain.isFinite ? max(0, gain) : 0).bitPattern, ordering: .relaxed)
    }

    /// Requests `room` to be raised once space is available, after the feeder found the buffer full. Wait-free.
    package func askForRoom() { wantsRoom.store(true, ordering: .releasing) }

    /// The delay from writing a frame to the listener at the last reading. Wait-free.
    package var delay: Duration { .nanoseconds(delayCell.load(ordering: .relaxed)) }
    /// The part of `delay` that is behind the device's queue: the sound server's and its device's own. Wait-free.
    package var delayBehindQueue: Duration { .nanoseconds(behindQueueCell.load(ordering: .relaxed)) }
    /// The standard uncertainty of the card's clock at the last reading. Wait-free.
    package var uncertainty: Duration { .nanoseconds(uncertaintyCell.load(ordering: .relaxed)) }

    /// Whether the card's clock is accurate enough to schedule the first audio; `room` is raised when this becomes
    /// true. Wait-free.
    package var isSettled: Bool { steady.load(ordering: .acquiring) }

    /// The minimum lead of a start. Wait-free.
    package var startLead: Duration { .nanoseconds(leadCell.load(ordering: .relaxed)) }

    /// The lead that a partial flush requires beyond the card's queue: one interval of the pump, the frames it writes
    /// then, and the scheduling delay of a busy machine.
    package static let partialFlushMargin: Duration = .milliseconds(70)
    /// A sound server answers within some tens of milliseconds. One that was restarted is connected to later.
    private static let maxAnswerTime: Duration = .milliseconds(300)

    /// The preferred lead of a stop: with a device that can rewind, the audio then fades out. Wait-free.
    package var stopLead: Duration { rewinds.load(ordering: .relaxed) ? .milliseconds(10) : .zero }

    // MARK: The pump's thread

    /// Performs due work; returns when to call again, or that the device is lost.
    func step() -> Outcome {
        guard let device else { return .lost }
        if playout.decideCut() { context.writable.raise() }
        var reading = read(device)
        switch reading.state {
        case .lost: return .lost
        case .underrun, .suspended:
            if reading.state == .underrun { recordDeviceUnderrun(at: reading.instant) }
            // A resuming machine needs time; a device that underruns and cannot be recovered is lost.
            let maxAttempts = reading.state == .suspended ? Self.maxFaults : Self.maxFailedRecoveries
            guard restart(device.recover()) else { return retry(.milliseconds(50), atMost: maxAttempts) }
            reading = read(device)
        case .running:
            deepenIfStalled(reading)
            record(reading)
            if reading.instant - lastFault > .seconds(1) { faults = 0 }
        case .prepared: break
        }
        if applyTimelineChange(reading, device) { reading = read(device) }
        if let outcome = fill(reading, device) { return outcome }
        signalWritable()
        let now = clock.now
        var next = now.advanced(by: playout.isPlaying ? depths.interval : depths.idleInterval)
        // A starting stream is polled at short intervals.
        if reading.state != .running || !deviceClock.isSettled || (!playout.isPlaying && isStarting) {
            next = now.advanced(by: .milliseconds(5))
        }
        // Audio is late: poll again before the queue runs dry.
        if playout.isPlaying, playout.readyFrames < frames(depths.interval) {
            next = now.advanced(by: .milliseconds(5))
        }
        if let cutAt, cutAt < next { next = max(cutAt, now) }
        return .again(at: next)
    }

    /// The time within which a reading is accepted, and the number of attempts. PulseAudio's plugin takes 3 to 70 µs.
    private static let maxReadingTime = Duration.milliseconds(1)
    private static let maxReadings = 3

    /// Returns the first reading that was prompt, otherwise the fastest one. In a slower one the thread was preempted:
    /// its position may belong to another instant than the stated one.
    private func read(_ device: any PlayoutDevice) -> PlayoutDeviceReading {
        var before = clock.now
        var fastest = device.readState()
        var shortest = clock.now - before
        var count = 1
        while shortest > Self.maxReadingTime, count < Self.maxReadings {
            before = clock.now
            let reading = device.readState()
            let duration = clock.now - before
            if duration < shortest { (fastest, shortest) = (reading, duration) }
            count += 1
        }
        return fastest
    }

    private static let maxFaults = 100
    private static let maxFailedRecoveries = 5

    /// Schedules a retry. After too many consecutive faults the device counts as lost, because a real-time thread must
    /// not spin.
    private func retry(_ wait: Duration, atMost limit: Int = SoundCardPump.maxFaults) -> Outcome {
        faults += 1
        lastFault = clock.now
        return faults > limit ? .lost : .again(at: lastFault.advanced(by: wait))
    }

    /// Removes the lost device; the caller uses `stepWithoutDevice` until `attach`.
    func detach() {
        device = nil
        faults = 0
        _ = restart(true)
        // Without a device there is no clock to wait for.
        steady.store(true, ordering: .releasing)
    }

    /// Continues with another device, which must have the format of the first.
    func attach(_ device: any PlayoutDevice) {
        precondition(device.format == format, "a pump's format is constant")
        self.device = device
        capacity = device.capacity
        canRewind = device.canRewind
        rewinds.store(canRewind, ordering: .relaxed)
        _ = restart(true)
    }

    /// Drops audio in real time, so that the feeder continues; returns when to call again.
    func stepWithoutDevice() -> HostInstant {
        if playout.decideCut() { context.writable.raise() }
        let now = clock.now
        var left = frames(depths.interval)
        var audibleAt = now.advanced(by: depths.idle)
        while left > 0 {
            let count = min(left, SoundCardPlayout.maximumFrames)
            playout.render(
                into: scratch, frames: count, firstAudibleAt: audibleAt, nanosecondsPerFrame: 1e9 / rate, gain: 0)
            audibleAt = audibleAt.advanced(by: .nanoseconds(Int64(Double(count) * 1e9 / rate)))
            left -= count
        }
        signalWritable()
        return now.advanced(by: depths.interval)
    }

    /// Raises `room` if the feeder waits and an eighth of the buffer is free.
    private func signalWritable() {
        guard wantsRoom.load(ordering: .acquiring), buffer.free >= buffer.ring.capacity / 8 else { return }
        wantsRoom.store(false, ordering: .relaxed)
        context.writable.raise()
    }

    private func frames(_ duration: Duration) -> Int { Int(duration.inSeconds * rate) }

    /// Whether the device was opened less than `startFor` ago.
    private var isStarting: Bool { written < frames(depths.startFor) }
    private var idleDepth: Duration { isStarting ? min(depths.start, depths.idle) : depths.idle }

    /// False while a sound server may still report the sink: its calibration would move audio that has begun.
    private var hasServerAnswered: Bool {
        guard let server = device?.serverLatency, !server.hasAnswer else { return true }
        guard written >= frames(Self.maxAnswerTime) else { return false }
        // Once for each device: after a seek `written` begins at 0.
        server.recordAnswer()
        return true
    }

    /// Adds a reading to the clock and publishes delay, uncertainty and start lead.
    private func record(_ reading: PlayoutDeviceReading) {
        if device?.serverLatency?.consumeMove() == true {
            deviceClock.moved()
            playout.moved()
        }
        deviceClock.record(
            reading, written: written, queued: capacity - reading.free, server: device?.serverLatency)
        if deviceClock.isSteady, !steady.load(ordering: .relaxed), hasServerAnswered {
            steady.store(true, ordering: .releasing)
            context.writable.raise()
        }
        let delay = Int64(Double(reading.delay) / rate * 1e9)
        delayCell.store(delay, ordering: .relaxed)
        if let estimate = deviceClock.estimate {
            uncertaintyCell.store(estimate.uncertainty.wholeNanoseconds, ordering: .relaxed)
        }
        if reading.instant - lastLatencyNote >= .seconds(10) {
            lastLatencyNote = reading.instant
            context.events.append(.latency(delay: .nanoseconds(delay), output: context.id))
        }
        // The delay beyond the queue cannot be changed, so a start must have at least that lead.
        let behind = max(0, Int64(Double(reading.delay - (capacity - reading.free)) / rate * 1e9))
        behindQueueCell.store(behind, ordering: .relaxed)
        leadCell.store((idleDepth + depths.wakeUp).wholeNanoseconds + behind, ordering: .relaxed)
    }

    /// Resets counters and positions; the card's measured rate is retained. Returns `ready`.
    private func restart(_ ready: Bool) -> Bool {
        playout.interrupted()
        deviceClock.reset(at: clock.now)
        steady.store(false, ordering: .releasing)
        written = 0
        audibleUntil = 0
        fetched = nil
        cutAt = nil
        return ready
    }

    /// Counts and logs an underrun of the device, and increases the depth.
    private func recordDeviceUnderrun(at instant: HostInstant) {
        // An underrun during silence is inaudible and is not reported.
        deviceUnderruns += 1
        let wasAudible = audibleUntil > 0 && audibleUntil > written - Int64(frames(depths.playing))
        if wasAudible {
            let end = deviceClock.estimate?.instant(of: DeviceFrame(written)) ?? instant
            context.events.append(.underrun(missing: max(.zero, instant - end), output: context.id))
        }
        deepen(isAudible: wasAudible)
    }

    /// Increases the depth after an underrun or a stall: the queue was too short for this machine or this server.
    private func deepen(isAudible: Bool) {
        let longest = Double(capacity) / rate
        depths.playing = min(depths.playing + .milliseconds(40), .nanoseconds(Int64(longest * 0.9e9)))
        if isAudible { return }
        if deviceClock.isSteady {
            depths.idle = min(depths.idle + .milliseconds(10), depths.playing)
        } else {
            // A stream that cannot start: the server's quantum is longer, perhaps several times.
            depths.idle = min(max(depths.idle + .milliseconds(10), depths.idle * 1.5), depths.playing)
            depths.start = depths.idle
        }
    }

    /// Increases the depth if the device has fetched nothing for more than twice the queue's length.
    ///
    /// A sound server fetches a quantum at once. pipewire-pulse fetches nothing from a shorter queue, and reports no
    /// underrun: with a quantum of 1024 frames a stream with 20 ms never became steady.
    private func deepenIfStalled(_ reading: PlayoutDeviceReading) {
        let queued = capacity - reading.free
        let frames = written - Int64(queued)
        guard let last = fetched, frames <= last.frames else { return fetched = (frames, reading.instant) }
        let length = Duration.nanoseconds(Int64(Double(queued) / rate * 1e9))
        guard reading.instant - last.at > length * 2 + .milliseconds(10) else { return }
        fetched = (last.frames, reading.instant)
        deepen(isAudible: playout.isPlaying)
    }

    /// Returns when the next written frame will be audible.
    private func audibleInstant(_ reading: PlayoutDeviceReading) -> HostInstant {
        if let estimate = deviceClock.estimate { return estimate.instant(of: DeviceFrame(written)) }
        let queued = Double(max(reading.delay, capacity - reading.free)) / rate
        return reading.instant.advanced(by: .nanoseconds(Int64(queued * 1e9)))
    }

    // MARK: Changes of the timeline

    /// Rewinds or discards obsolete frames after a change of the timeline; returns true if the queue changed.
    private func applyTimelineChange(_ reading: PlayoutDeviceReading, _ device: any PlayoutDevice) -> Bool {
        let snapshot = context.timebase.snapshot
        let liveFrom = buffer.liveFrom
        let now = clock.now
        let end = audibleInstant(reading)
        if snapshot != rendered || liveFrom != renderedLiveFrom {
            cutAt = nil
            let queued = capacity - reading.free
            let holdsAudio = audibleUntil > written - Int64(queued)
            if liveFrom != renderedLiveFrom {
                if holdsAudio { cutAt = now }
            } else if let wrong = firstDifference(from: now, to: end, snapshot) {
                // Silence in place of audio can be replaced only if the device can rewind.
                if holdsAudio || canRewind { cutAt = wrong }
            }
            rendered = snapshot
            renderedLiveFrom = liveFrom
        }
        guard let cut = cutAt, cut <= now.advanced(by: .milliseconds(1)) || canRewind else { return false }
        cutAt = nil
        // A few more milliseconds of obsolete audio are better than a gap.
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

    /// Returns the first instant in a range at which the rendered and the new timeline differ; nil if they agree.
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

    /// The audio that is rendered at once where the queue is short.
    private static let shortestChunk = Duration.milliseconds(5)

    /// Renders and writes frames up to the current depth; returns an outcome on failure, otherwise nil.
    private func fill(_ reading: PlayoutDeviceReading, _ device: any PlayoutDevice) -> Outcome? {
        var queued = capacity - reading.free
        var free = reading.free
        let gain = Float(bitPattern: gainBits.load(ordering: .relaxed))
        let perFrame = deviceClock.estimate?.nanosecondsPerFrame ?? 1e9 / rate
        var audibleAt = audibleInstant(reading)
        while true {
            let depth = frames(playout.isPlaying ? depths.playing : idleDepth)
            // A start triples the depth. Rendering all of it before the first write would take a slow processor longer
            // than the queue lasts: a sound server fills the gap with silence and does not report it.
            let chunk = max(queued / 2, frames(Self.shortestChunk))
            var count = min(depth - queued, free, chunk, SoundCardPlayout.maximumFrames)
            if queued >= frames(depths.minimum) { count = min(count, playout.readyFrames) }
            guard count > 0 else { break }
            let audible = playout.render(
                into: scratch, frames: count, firstAudibleAt: audibleAt, nanosecondsPerFrame: perFrame, gain: gain)
            let began = clock.now
            switch device.write(scratch, frames: count) {
            case .wrote(let taken):
                if taken < count { playout.rewound(frames: count - taken) }
                written += Int64(taken)
                deviceClock.record(written: written, from: began, until: clock.now)
                if audible { audibleUntil = written }
                queued += taken
                free -= taken
                audibleAt = audibleAt.advanced(by: .nanoseconds(Int64((Double(taken) * perFrame).rounded())))
                if taken < count { return nil }
            case .underrun, .suspended:
                // Detected and recovered by the next step.
                return retry(.milliseconds(1))
            case .lost: return .lost
            }
        }
        if reading.state == .prepared, queued > 0 { device.start() }
        return nil
    }
}
