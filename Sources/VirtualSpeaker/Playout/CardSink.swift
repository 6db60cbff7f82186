internal import LocalOutput
internal import MediaCore
internal import SyncRendering

/// Plays what a speaker sounds on a sound card of this computer, each frame at the instant that the virtual device has
/// for it.
///
/// The device's frames are the film of a timebase that runs at rate 1 from the device's origin on; the card follows that
/// line as it follows any film, drift included.
///
/// `@unchecked Sendable`: the block is used by the playout thread alone; everything else is immutable and Sendable.
final class CardSink: PlayoutSink, @unchecked Sendable {
    private static let layout = ChannelLayout.stereo

    private let card: SoundCard
    private let synchronizer = RenderSynchronizer()
    private let sampleRate: Int
    private let block: PCMBlock

    /// Opens the card, which may take some tens of milliseconds.
    ///
    /// - Throws: `noOutput`, with a sentence that says what to do.
    init(device: String, sampleRate: Int, origin: HostInstant) throws(SpeakerError) {
        self.sampleRate = sampleRate
        let format = PCMFormat(sampleRate: sampleRate, layout: Self.layout)
        block = PCMBlock(format: format, capacity: 8192)
        card = try Self.open(device, format, synchronizer.timebase)
        synchronizer.setRate(1, time: .zero, atHostTime: origin)
        card.timebaseDidChange(synchronizer.timebase.snapshot)
    }

    deinit { card.close() }

    /// Says whether a device can be used, by opening it for a moment.
    static func check(device: String) throws(SpeakerError) {
        let format = PCMFormat(sampleRate: 44100, layout: layout)
        try open(device, format, RenderSynchronizer().timebase).close()
    }

    private static func open(
        _ device: String, _ format: PCMFormat, _ timebase: Timebase
    ) throws(SpeakerError) -> SoundCard {
        let card = SoundCard(device: device)
        do {
            // Nobody takes the events: the log keeps the first ones and drops the rest.
            let events = EventLog(clock: MonotonicClock())
            try card.prepare(
                .pcm(format),
                context: AudioOutputContext(timebase: timebase, room: Signal(), events: events, id: OutputID(0)))
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
            // The card holds more than sound is ever placed ahead; what does not fit came in a heap and is lost.
            _ = card.accept(block, from: 0)
            rest = rest.dropFirst(count)
            start = start.advanced(byFrames: Int64(count / 2))
        }
    }

    func silence(from first: DeviceFrame, until end: DeviceFrame) { card.flush() }

    func finish(frames: DeviceFrame, origin: HostInstant) { card.finish() }
}
