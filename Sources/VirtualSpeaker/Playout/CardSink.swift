internal import CardOutput
internal import MediaCore
internal import SyncRendering

/// Plays a speaker's audio on a sound card, each frame at the instant assigned by the virtual device.
///
/// The device's frames are the media time of a timebase with rate 1 from the origin. The card follows this
/// timebase, including drift correction.
///
/// `@unchecked Sendable`: `block` is used by the playout thread only; all other fields are immutable and Sendable.
final class CardSink: PlayoutSink, @unchecked Sendable {
    private static let layout = ChannelLayout.stereo

    private let card: SoundCard
    private let synchronizer = RenderSynchronizer()
    private let sampleRate: Int
    private let block: PCMBlock

    /// Opens the card, which can take some tens of milliseconds.
    ///
    /// - Throws: `noOutput`.
    init(device: String, sampleRate: Int, origin: HostInstant) throws(SpeakerError) {
        self.sampleRate = sampleRate
        let format = PCMFormat(sampleRate: sampleRate, layout: Self.layout)
        block = PCMBlock(format: format, capacity: 8192)
        card = try Self.open(device, format, synchronizer.timebase)
        synchronizer.setRate(1, time: .zero, atHostTime: origin)
        card.timebaseDidChange(synchronizer.timebase.snapshot)
    }

    deinit { card.close() }

    /// Throws if a device cannot be used. Opens and closes it.
    static func check(device: String) throws(SpeakerError) {
        let format = PCMFormat(sampleRate: 44100, layout: layout)
        try open(device, format, RenderSynchronizer().timebase).close()
    }

    private static func open(
        _ device: String, _ format: PCMFormat, _ timebase: Timebase
    ) throws(SpeakerError) -> SoundCard {
        let card = SoundCard(device: device)
        do {
            // The events have no consumer: the log keeps the first ones and drops the rest.
            let events = EventLog(clock: MonotonicClock())
            try card.prepare(
                .pcm(format),
                context: AudioOutputContext(timebase: timebase, writable: Signal(), events: events, id: OutputID(0)))
            return card
        } catch {
            throw SpeakerError(.noOutput, error.message)
        }
    }

    func write(_ samples: ArraySlice<Float>, at frame: DeviceFrame) {
        var rest = samples
        var start = frame
        while !rest.isEmpty {
            let count = min(rest.count, block.capacity * 2)
            rest.prefix(count).withUnsafeBufferPointer { block.samples.update(from: $0.baseAddress!, count: count) }
            block.frames = count / 2
            block.start = MediaTime(value: start.index, timescale: Int32(sampleRate))
            // The card's buffer is longer than `scheduleAhead`; the remainder of a larger burst is dropped.
            _ = card.accept(block, from: 0)
            rest = rest.dropFirst(count)
            start = start.advanced(byFrames: Int64(count / 2))
        }
    }

    func silence(from first: DeviceFrame, until end: DeviceFrame) { card.flush() }

    func finish(frames: DeviceFrame, origin: HostInstant) { card.finish() }
}
