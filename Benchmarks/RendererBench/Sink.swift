import MediaCore
import SyncRendering

/// An output that accepts and discards everything at once, so that only the renderer's work is measured.
final class Sink: PacketOutput {
    let name = "sink"
    let kind = AudioRouteKind.virtual
    let latency = OutputLatency(startLead: .milliseconds(20))
    let desiredDepth: Duration
    private let passesThrough: Bool
    private let until = Lock<MediaTime?>(nil)
    private let format = PCMFormat(sampleRate: 48000, layout: .stereo)

    init(depth: Duration, passesThrough: Bool) {
        desiredDepth = depth
        self.passesThrough = passesThrough
    }

    func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        passesThrough && !mustDecode ? .passThrough(format) : .pcm(self.format)
    }
    func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) {}
    func accept(_ block: PCMBlock, from offset: Int) -> Int {
        until.withLock { $0 = block.end }
        return block.frames - offset
    }
    func accept(_ batch: PacketBatch, from offset: Int) -> Int {
        until.withLock { $0 = batch.packets.last.flatMap { last in last.presentationTime.map { $0 + last.duration } } }
        return batch.packets.count - offset
    }
    func finish() {}
    var acceptedUntil: MediaTime? { until.withLock { $0 } }
    func flush() { until.withLock { $0 = nil } }
    func timebaseDidChange(_ snapshot: TimebaseSnapshot) {}
    func setGain(_ gain: Float) {}
    func close() {}
}

/// A screen that shows nothing.
final class Blank: VideoOutput {
    let refresh = RefreshMode.unpaced
    let latency = OutputLatency(startLead: .zero)
    let presentCost = Duration.zero
    func prepare(_ picture: any VideoFrame, under overlay: Overlay?) {}
    func present() -> HostInstant { .now }
}
