import MediaCore
import TalkieTestKit

@testable import SyncRendering

/// A renderer with several outputs in virtual time, without threads. Each sample identifies its sound and its frame.
final class GroupRig {
    /// Frames per second. A frame number has 20 bits (`FloatCodecs`): more than two minutes.
    static let rate: Int32 = 8000
    /// The frames of a buffer, and of each of its packets.
    static let length: Int64 = 800
    static let packet: Int64 = 100

    let clock: ManualClock
    let synchronizer: RenderSynchronizer
    let renderer: AudioRenderer
    let group: OutputGroup
    let codecs = LoggedCodecs()
    let results = Lock<[PartialFlushResult]>([])
    let outcomes = Lock<[RouteChange]>([])
    private var feeder: AudioFeeder
    private let standing = Lock<[OutputFeed]>([])
    /// The work on outputs that the test holds back, by the name of its thread; other work is performed at once.
    private let held = Lock<[String: [@Sendable () -> Void]]>([:])
    /// Runs the group's work.
    let work: GroupWork
    /// The sound and the first frame of the next buffer.
    var sound = 1
    var next: Int64 = 0
    /// The batches of enqueued buffers with their ends.
    private(set) var batches: [(until: Int64, batch: WeakBatch)] = []
    /// Replaces the packets of buffers.
    var format = FloatCodecs.format(sampleRate: Int(GroupRig.rate))

    final class WeakBatch { weak var batch: PacketBatch? }

    /// - Parameter stage: A rig whose clock and synchronizer are used.
    init(_ members: any AudioOutput..., beside other: GroupRig? = nil) {
        clock = other?.clock ?? ManualClock()
        synchronizer = other?.synchronizer ?? RenderSynchronizer(clock: clock)
        renderer = AudioRenderer(codecs: codecs, events: EventLog(clock: clock))
        var work = GroupWork.byHand { [standing] feeder in standing.withLock { $0.append(feeder) } }
        let run = work.run
        work.run = { [held] (name, body) throws(ExhaustionError) in
            let isHeld = held.withLock { held in
                held[name]?.append(body)
                return held[name] != nil
            }
            return isHeld ? nil : try run(name, body)
        }
        // Attempts are repeated when the test releases them.
        work.pause = { _, _ in }
        self.work = work
        group = OutputGroup(members: members, codecs: codecs, work: work)
        renderer.setOutput(group)
        feeder = renderer.startWithoutThread { _ in }
        synchronizer.addRenderer(renderer)
    }

    // MARK: Audio

    func time(_ frame: Int64) -> MediaTime { MediaTime(value: frame, timescale: Self.rate) }

    /// The frame at the playhead.
    var playhead: Int64 { synchronizer.currentTime().rescaled(to: Self.rate) }

    func enqueue() {
        let end = next + Self.length
        let buffer = FloatCodecs.buffer(sound, frames: next..<end, format: format, packet: Self.packet)
        if case .encodedAudio(_, let batch) = buffer.payload {
            let weak = WeakBatch()
            weak.batch = batch
            batches.append((end, weak))
        }
        renderer.enqueue(buffer)
        next = end
    }

    /// Enqueues as much as the renderer requests.
    func fill() { while renderer.isReadyForMoreMediaData { enqueue() } }

    /// Flushes, and continues at a frame, at the same rate.
    func seek(to frame: Int64) {
        let rate = Float(synchronizer.timebase.snapshot.upcoming.rate)
        renderer.flush()
        next = frame
        synchronizer.setRate(rate, time: time(frame), atHostTime: clock.now)
    }

    /// Flushes from a frame on; `results` receives the result.
    func flush(from frame: Int64) {
        renderer.requestFlush(fromSourceTime: time(frame)) { [results] item in results.withLock { $0.append(item) } }
    }

    // MARK: Running

    /// Runs the renderer's feeder once.
    func runRenderer() { feeder.performDueWork() }

    /// Runs everything that can progress without time passing.
    func runUntilIdle() {
        for _ in 0..<6 {
            feeder.performDueWork()
            for feeder in standing.withLock({ $0 }) where !feeder.isShared { feeder.runIteration() }
            _ = group.advanceChange()
        }
    }

    /// Fills, and plays from a frame on.
    func play(from frame: Int64 = 0) {
        synchronizer.setRate(0, time: time(frame), atHostTime: clock.now)
        next = frame
        fill()
        runUntilIdle()
        synchronizer.setRate(1, time: time(frame), atHostTime: clock.now)
    }

    /// Advances virtual time and enqueues what is requested.
    func run(for duration: Duration, step: Duration = .milliseconds(20)) {
        let end = clock.now.advanced(by: duration)
        while clock.now < end {
            clock.advance(by: step)
            fill()
            runUntilIdle()
        }
    }

    // MARK: Members

    func change(to members: any AudioOutput...) {
        group.change(to: members) { [outcomes] outcome in outcomes.withLock { $0.append(outcome) } }
    }

    /// The first frame that the new members play; nil without a change, or where nothing played.
    var changedAt: Int64? {
        guard case .changed(let moment?, _)? = outcomes.withLock({ $0.last }) else { return nil }
        return moment.rescaled(to: Self.rate)
    }

    /// Holds back all further attempts to open members.
    func holdOpenings() { hold("group opening") }

    /// Holds back the closing of all members.
    func holdClosings() { hold("group closing") }

    private func hold(_ name: String) { held.withLock { $0[name] = [] } }

    /// Performs the attempts that were held back.
    func releaseOpenings() { release("group opening") }

    /// Closes the members whose closing was held back.
    func releaseClosings() { release("group closing") }

    private func release(_ name: String) {
        for body in held.withLock({ $0.removeValue(forKey: name) }) ?? [] { body() }
    }
}

extension TapeOutput {
    /// Returns a tape of the rig's format.
    static func rig(_ name: String = "tape", depth: Duration = .seconds(1)) -> TapeOutput {
        TapeOutput(name: name, sampleRate: Int(GroupRig.rate), desiredDepth: depth)
    }

    /// Returns how the audio since the last flush differs from these sounds in sequence, each frame once and at its
    /// place; nil: it does not.
    ///
    /// Earlier frames are ignored: an output drops what it receives too late, and what precedes its gate.
    ///
    /// - Parameter end: The audio reaches this frame.
    func deviation(from parts: (sound: Int, frames: Range<Int64>)..., until end: Int64) -> String? {
        guard let start = parts.first?.frames.lowerBound else { return nil }
        let part = tape.suffix(from: start)
        let mismatch = part.firstMismatch(with: parts)
        let isComplete = part.first == start && (part.last ?? 0) + 1 >= end
        guard !isComplete || blanks > 0 || doubled > 0 || maxError > 0 || mismatch != nil else { return nil }
        return "\(name): \(tape.first ?? -1)...\(tape.last ?? -1), \(blanks) blank, \(doubled) doubled, "
            + "\(maxError) displaced, first mismatch at \(mismatch ?? -1); due are \(parts) until \(end)"
    }
}

/// `FloatCodecs` that record what is sent to each decoder, and honour `decodeOnly`.
final class LoggedCodecs: AudioCodecs {
    /// A buffer that was sent to a decoder.
    struct Sent: Equatable {
        var start: MediaTime?
        var end: MediaTime?
        var flags: SampleBuffer.Flags
    }

    /// The buffers by decoder, in order of creation.
    let sent = Lock<[[Sent]]>([])

    func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    {
        let number = sent.withLock { sent in
            sent.append([])
            return sent.count - 1
        }
        return Converter(
            inner: try FloatCodecs().converter(from: format, to: output, speed: speed), number: number, sent: sent)
    }

    func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        try FloatCodecs().encoder(from: input, to: format)
    }

    private final class Converter: PCMConverter {
        let inner: any PCMConverter
        let number: Int
        let sent: Lock<[[Sent]]>

        init(inner: any PCMConverter, number: Int, sent: Lock<[[Sent]]>) {
            (self.inner, self.number, self.sent) = (inner, number, sent)
        }

        var decodeErrorCount: Int { 0 }
        func send(_ buffer: SampleBuffer) throws(MediaError) {
            sent.withLock {
                $0[number].append(Sent(start: buffer.presentationTime, end: buffer.end, flags: buffer.flags))
            }
            if !buffer.flags.contains(.decodeOnly) { try inner.send(buffer) }
        }
        func receive(into block: PCMBlock) throws(MediaError) -> Bool { try inner.receive(into: block) }
        func finish() { inner.finish() }
        func reset() { inner.reset() }
    }
}
