internal import MediaCore

extension SampleBuffer {
    /// Packets of plain samples: what the renderer's converters read like any other sound.
    init(plain block: PCMBlock, at frame: Int64) {
        let rate = Int32(clamping: block.format.sampleRate)
        let packetFrames = 4800
        let stride = block.format.channels * MemoryLayout<Float>.size
        let batch = PacketBatch(
            reservingBytes: block.frames * stride, packets: block.frames / packetFrames + 1)
        let bytes = UnsafeRawBufferPointer(start: block.samples, count: block.frames * stride)
        var first = 0
        while first < block.frames {
            let count = min(packetFrames, block.frames - first)
            batch.append(
                UnsafeRawBufferPointer(rebasing: bytes[(first * stride)..<((first + count) * stride)]),
                as: PacketBatch.Packet(
                    presentationTime: MediaTime(value: frame + Int64(first), timescale: rate),
                    duration: MediaTime(value: Int64(count), timescale: rate)))
            first += count
        }
        let format = AudioFormat(
            parameters: CodecParameters(codec: "pcm_f32le"), sampleRate: block.format.sampleRate,
            layout: block.format.layout)
        self.init(
            payload: .encodedAudio(format, batch), presentationTime: MediaTime(value: frame, timescale: rate),
            duration: MediaTime(value: Int64(block.frames), timescale: rate), flags: .sync)
    }
}
