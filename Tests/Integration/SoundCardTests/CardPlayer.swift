import CardOutput
import Glibc
import MediaCore
import SyncRendering

@testable import RouteTestSupport

/// Plays pulses (`PulsedTone`) through a sound card, from a thread that works like the renderer's feeder.
final class CardPlayer: @unchecked Sendable {
    // `@unchecked Sendable`: everything that both threads use is atomic, locked, or constant after `start`.

    let synchronizer: RenderSynchronizer
    let events = EventLog(clock: MonotonicClock(), minimumCapacity: 1 << 14)
    let card: SoundCard
    let format: PCMFormat
    private let room = Signal()
    private let control = Lock(Control())
    private var thread: WorkerThread?
    private struct Control {
        var stopping = false
        var seek: Int64?
        var starved = false
        var speed = 1.0
    }

    init(
        device: String, sampleRate: Int = 48000,
        substitutes: @escaping @Sendable () -> [String] = { [] }
    ) throws {
        synchronizer = RenderSynchronizer(events: events)
        card = SoundCard(device: device, substitutes: substitutes)
        let film = AudioFormat(
            parameters: CodecParameters(codec: "pcm_f32le"), sampleRate: sampleRate, layout: .stereo)
        let delivery = card.delivery(for: film, mustDecode: false)
        guard case .pcm(let format) = delivery else { preconditionFailure("a sound card accepts decoded audio") }
        self.format = format
        try card.prepare(
            delivery,
            context: AudioOutputContext(
                timebase: synchronizer.timebase, writable: room, events: events, id: OutputID(0)))
    }

    func start() {
        thread = try! WorkerThread.start(name: "feeder", priority: .elevated) { self.feed() }
    }

    /// Waits until the card has measured its position; returns false after 0.5 s.
    func waitUntilSettled() -> Bool {
        let limit = HostInstant.now.advanced(by: .milliseconds(500))
        while !card.isReadyToStart {
            guard HostInstant.now < limit else { return false }
            HostInstant.now.advanced(by: .milliseconds(1)).sleep()
        }
        return true
    }

    func stop() {
        control.withLock { $0.stopping = true }
        room.raise()
        thread?.join()
        card.close()
    }

    func setRate(_ rate: Double, time: MediaTime? = nil, at instant: HostInstant? = nil) {
        let snapshot = synchronizer.setRate(Float(rate), time: time, atHostTime: instant)
        card.timebaseDidChange(snapshot)
    }

    /// Discards queued audio and continues at a film frame.
    func seek(to frame: Int64) {
        control.withLock { $0.seek = frame }
        room.raise()
    }

    var isStarved: Bool {
        get { control.withLock { $0.starved } }
        set {
            control.withLock { $0.starved = newValue }
            room.raise()
        }
    }

    private func feed() {
        let block = PCMBlock(format: format, capacity: 1024)
        var (next, offset): (Int64, Int) = (0, 0)
        fill(block, at: next)
        while true {
            let (stopping, seek, starved) = control.withLock { state in
                defer { state.seek = nil }
                return (state.stopping, state.seek, state.starved)
            }
            if stopping { return }
            if let seek {
                card.flush()
                (next, offset) = (seek, 0)
                fill(block, at: next)
            }
            if !starved {
                offset += card.accept(block, from: offset)
                if offset == block.frames {
                    next += Int64(block.frames)
                    offset = 0
                    fill(block, at: next)
                    continue
                }
            }
            room.wait(until: .now.advanced(by: .milliseconds(100)))
        }
    }

    private func fill(_ block: PCMBlock, at frame: Int64) {
        let rate = Double(format.sampleRate)
        for index in 0..<block.capacity {
            let value = PulsedTone.value(at: Double(frame + Int64(index)) / rate)
            for channel in 0..<format.channels { block.samples[index * format.channels + channel] = value }
        }
        block.frames = block.capacity
        block.start = MediaTime(value: frame, timescale: Int32(format.sampleRate))
    }

    func taken() -> [RenderEvent] {
        var all: [RenderEvent] = []
        while let entry = events.removeFirst() { all.append(entry.event) }
        return all
    }
}
