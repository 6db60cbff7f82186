internal import MediaCore

/// Packs decoded sound that an application enqueues into packets of raw floats, so that it goes the way of all sound.
struct PlainSound {
    private var pool = RecyclingPool<PacketBatch> { PacketBatch() }
    private var format: AudioFormat?

    /// The same sound with the same times as a buffer of `pcm_f32le`.
    mutating func packed(_ block: PCMBlock, of buffer: SampleBuffer) -> SampleBuffer {
        let layout = block.format.layout
        if format?.sampleRate != block.format.sampleRate || format?.layout != layout {
            format = AudioFormat(LinearPCM(.float32), sampleRate: block.format.sampleRate, layout: layout)
        }
        let batch = pool.acquire()
        batch.removeAll()
        let bytes = UnsafeRawBufferPointer(
            start: block.samples, count: block.frames * block.format.channels * MemoryLayout<Float>.stride)
        let start = buffer.presentationTime ?? block.start
        batch.append(
            bytes,
            as: PacketBatch.Packet(
                presentationTime: start,
                duration: MediaTime(value: Int64(block.frames), timescale: Int32(clamping: block.format.sampleRate))))
        return SampleBuffer(
            payload: .encodedAudio(format!, batch), presentationTime: start, duration: buffer.duration,
            flags: buffer.flags)
    }
}
