package import MediaCore
package import SyncRendering

/// Lossless codecs: packets contain the floats (`pcm_f32le`), so that output and input can be compared per sample.
///
/// The encoder produces packets of 352 frames, like AirPlay's lossless streams.
package struct FloatCodecs: AudioCodecs {
    /// Frames per packet of the encoder.
    package static let framesPerPacket = 352

    package init() {}

    package func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
        -> any PCMConverter
    { FloatConverter(format: output) }

    package func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
        FloatEncoder(format: input)
    }

    /// Returns the format of such packets.
    package static func format(sampleRate: Int, name: String = "pcm_f32le") -> AudioFormat {
        AudioFormat(parameters: CodecParameters(codec: name), sampleRate: sampleRate, layout: .stereo)
    }

    /// Returns a sample value that identifies sound and frame; exact in a float's 24 bits
    /// for 8 sounds of a million frames.
    package static func value(_ sound: Int, _ frame: Int64) -> Float { Float(Int64(sound) << 20 | frame) / 8_388_608 }

    /// Returns the sound and frame of a sample value; nil for silence.
    package static func meaning(of value: Float) -> (sound: Int, frame: Int64)? {
        let number = Int64((value * 8_388_608).rounded())
        return number == 0 ? nil : (Int(number >> 20), number & 0xF_FFFF)
    }

    /// Returns a range of frames of a sound in packets of `packet` frames.
    package static func buffer(
        _ sound: Int, frames range: Range<Int64>, format: AudioFormat, packet: Int64 = 1000
    ) -> SampleBuffer {
        let rate = Int32(format.sampleRate)
        let batch = PacketBatch(reservingBytes: range.count * 8, packets: 64)
        var samples: [Float] = []
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(packet)) {
            let end = min(start + packet, range.upperBound)
            // Loops without iterators and closures, here and below: they run per frame, and debug builds do not inline
            // them.
            samples.removeAll(keepingCapacity: true)
            var frame = start
            while frame < end {
                let value = value(sound, frame)
                samples.append(value)
                samples.append(value)
                frame += 1
            }
            samples.withUnsafeBytes {
                batch.append(
                    $0,
                    as: PacketBatch.Packet(
                        presentationTime: MediaTime(value: start, timescale: rate),
                        duration: MediaTime(value: end - start, timescale: rate)))
            }
        }
        return SampleBuffer(
            payload: .encodedAudio(format, batch),
            presentationTime: MediaTime(value: range.lowerBound, timescale: rate),
            duration: MediaTime(value: Int64(range.count), timescale: rate), flags: .sync)
    }

    /// Returns the left channel of a packet.
    package static func samples(of packet: PacketBatch.Packet, in batch: PacketBatch) -> [Float] {
        batch.withBytes(of: packet) { bytes in
            [Float](unsafeUninitializedCapacity: bytes.count / 8) { samples, count in
                count = bytes.count / 8
                var index = 0
                while index < count {
                    samples[index] = bytes.loadUnaligned(fromByteOffset: index * 8, as: Float.self)
                    index += 1
                }
            }
        }
    }
}

private final class FloatConverter: PCMConverter {
    private let format: PCMFormat
    private var waiting: [(start: MediaTime, samples: [Float])] = []
    let decodeErrorCount = 0

    init(format: PCMFormat) { self.format = format }

    func send(_ buffer: SampleBuffer) {
        guard case .encodedAudio(_, let batch) = buffer.payload else { return }
        for packet in batch.packets {
            waiting.append((packet.presentationTime ?? .zero, FloatCodecs.samples(of: packet, in: batch)))
        }
    }
    func finish() {}
    func reset() { waiting.removeAll() }

    func receive(into block: PCMBlock) -> Bool {
        guard let (start, samples) = waiting.first else { return false }
        waiting.removeFirst()
        block.frames = min(block.capacity, samples.count)
        block.start = start
        let (frames, channels, output) = (block.frames, format.channels, block.samples)
        var index = 0
        while index < frames * channels {
            output[index] = samples[index / channels]
            index += 1
        }
        if samples.count > block.frames {
            let rest = start + MediaTime(value: Int64(block.frames), timescale: Int32(format.sampleRate))
            waiting.insert((rest, Array(samples[block.frames...])), at: 0)
        }
        return true
    }
}

private final class FloatEncoder: PCMEncoder {
    let framesPerPacket = FloatCodecs.framesPerPacket
    private let format: PCMFormat
    private var start: MediaTime?
    private var speed: Double = 1
    private var given: Int64 = 0
    /// The left channel, each sample twice.
    private var samples: [Float] = []
    private var isFinished = false

    init(format: PCMFormat) { self.format = format }

    func send(_ block: PCMBlock) {
        if start == nil { (start, speed) = (block.start, block.speed) }
        isFinished = false
        var frame = 0
        while frame < block.frames {
            let value = block.samples[frame * format.channels]
            samples.append(value)
            samples.append(value)
            frame += 1
        }
    }
    func finish() { isFinished = true }
    func reset() {
        (start, given, samples, isFinished) = (nil, 0, [], false)
    }

    func receive(into batch: PacketBatch) -> Bool {
        var gave = false
        while samples.count >= 2 * framesPerPacket || (isFinished && !samples.isEmpty) {
            let frames = min(framesPerPacket, samples.count / 2)
            let time = (start ?? .zero) + media(of: given)
            samples[..<(2 * frames)].withUnsafeBytes {
                batch.append(
                    $0,
                    as: PacketBatch.Packet(presentationTime: time, duration: media(of: Int64(frames))))
            }
            samples.removeFirst(2 * frames)
            given += Int64(frames)
            gave = true
        }
        return gave
    }

    private func media(of frames: Int64) -> MediaTime {
        let time = MediaTime(value: frames, timescale: Int32(format.sampleRate))
        return speed == 1 ? time : MediaTime(boundedSeconds: time.seconds * speed) ?? time
    }
}
