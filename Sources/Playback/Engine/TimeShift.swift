internal import MediaCore

/// Adds an offset to times: exactly if 64 over 32 bits suffice, otherwise to the nearest nanosecond of the exact sum,
/// so that errors do not accumulate. Equal timescales stay equal, as decoders require.
struct TimeShift {
    let offset: MediaTime

    init(_ offset: MediaTime) { self.offset = offset.reduced }

    func moved(_ time: MediaTime) -> MediaTime {
        if offset.value == 0 { return time }
        let (one, other) = (Int64(time.timescale), Int64(offset.timescale))
        var (a, b) = (one, other)
        while b != 0 { (a, b) = (b, a % b) }
        let scale = one / a * other
        guard scale <= Int64(Int32.max) else { return MediaTime(nanoseconds: (time + offset).nanoseconds) }
        let (first, overflow) = time.value.multipliedReportingOverflow(by: scale / one)
        let (second, overflows) = offset.value.multipliedReportingOverflow(by: scale / other)
        let (sum, carry) = first.addingReportingOverflow(second)
        if overflow || overflows || carry { return time + offset }
        return MediaTime(value: sum, timescale: Int32(scale))
    }
}

/// Copies audio buffers to another position on the timeline. Confined to one thread; allocates nothing in the steady
/// state.
struct TimestampShifter {
    private var pool = RecyclingPool<PacketBatch> { PacketBatch() }

    /// Returns a copy of a buffer, shifted.
    ///
    /// - Parameter start: The media time before which audio is trimmed; nil: no trimming.
    mutating func moved(_ buffer: SampleBuffer, by shift: TimeShift, from start: MediaTime?) -> SampleBuffer {
        var moved = buffer
        switch buffer.payload {
        case .encodedAudio(let format, let batch):
            let copy = pool.acquire()
            copy.removeAll()
            for packet in batch.packets {
                var entry = packet
                if let start, let time = packet.presentationTime, time < start, time + packet.duration > start {
                    entry.trimStart = max(
                        entry.trimStart, Int(clamping: (start - time).rescaled(to: Int32(clamping: format.sampleRate))))
                }
                entry.presentationTime = packet.presentationTime.map(shift.moved)
                entry.decodeTime = packet.decodeTime.map(shift.moved)
                batch.withBytes(of: packet) { copy.append($0, as: entry) }
            }
            moved.payload = .encodedAudio(format, copy)
        case .pcm(let block):
            let copy = PCMBlock(format: block.format, capacity: block.frames)
            copy.samples.update(from: block.samples, count: block.frames * block.format.channels)
            (copy.frames, copy.speed, copy.start) = (block.frames, block.speed, shift.moved(block.start))
            if let start, block.start < start { copy.dropFirst(block.frames(before: start)) }
            moved.payload = .pcm(copy)
        case .encodedVideo, .videoFrame, .encodedSubtitle, .subtitle: break
        }
        if let start, let time = buffer.presentationTime, time < start, !buffer.flags.contains(.decodeOnly) {
            moved.presentationTime = start
            moved.duration = max(.zero, buffer.duration - (start - time))
        }
        moved.presentationTime = moved.presentationTime.map(shift.moved)
        return moved
    }
}
