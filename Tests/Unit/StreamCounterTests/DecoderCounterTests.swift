import MediaCore
import SyncRendering
import Testing

@testable import AirPlayWire
@testable import VirtualSpeaker

/// A codec that returns one frame per packet, with the packet's time.
private final class TimeKeeper: AudioCodecs, PCMConverter {
    private let waiting = Lock<[MediaTime]>([])
    private let newest = Lock<MediaTime?>(nil)
    /// The time of the last packet.
    var last: MediaTime? { newest.withLock { $0 } }
    let decodeErrorCount = 0

    func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    { self }

    func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        throw MediaError(.unsupported, "This only decodes.")
    }

    func send(_ buffer: SampleBuffer) {
        newest.withLock { $0 = buffer.presentationTime }
        waiting.withLock { $0.append(buffer.presentationTime ?? .zero) }
    }

    func receive(into block: PCMBlock) -> Bool {
        guard let time = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        block.start = time
        block.frames = 1
        return true
    }

    func finish() {}
    func reset() {}
}

@Suite struct DecoderCounterTests {
    /// A decoder would treat a time that goes back as a seek.
    @Test func aDecodersTimeContinuesAcrossATimestampWraparound() throws {
        let keeper = TimeKeeper()
        let decoder = StreamAudioDecoder(codecs: keeper)
        let long = StreamFormat(
            bit: 23, coding: .aacLC, sampleRate: 48000, channels: 2, bitsPerSample: 0, framesPerPacket: 1 << 24,
            synchronizationSource: 1)
        let first = RTPTimestamp(rawValue: 0xFFFF_0000)
        var elapsed: Int64 = 0
        for sequence in 0..<UInt32(600) {
            let packet = StoredPacket(
                sequence: sequence, timestamp: first.advanced(byFrames: elapsed), source: 1, audio: [1])
            let sounds = try decoder.decode(packet, format: .wire(long))
            #expect(sounds.map(\.position) == [packet.timestamp])
            #expect(keeper.last == MediaTime(value: elapsed, timescale: 48000))
            elapsed += 1 << 24
        }
    }
}
