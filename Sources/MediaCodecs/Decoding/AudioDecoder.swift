internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Decodes audio packets and removes encoder delay and padding. Owned and called by one thread.
final class AudioDecoder {
    /// The result of one call of `next`: frames `skip ..< skip + count` of `frame` are audible.
    struct Output {
        var skip: Int
        var count: Int
        /// Media time of the first audible frame, from its packet's timestamp; nil if it continues the previous output.
        var time: MediaTime?
        /// Whether it follows a discontinuity.
        var isDiscontinuous: Bool
        /// Whether it is the first output after a gapless boundary.
        var beginsPiece: Bool
    }

    /// The frame that the last `Output` refers to; valid until the next call.
    let frame: UnsafeMutablePointer<AVFrame>
    private(set) var decodeErrorCount = 0
    /// The audio of packets that could not be decoded, until the owner takes it.
    var undecodable: UndecodableAudio?
    /// The time range of the packet being decoded; nil for a decode-only packet.
    private var sending: UndecodableAudio?

    private var context: UnsafeMutablePointer<AVCodecContext>
    /// A decoder that `prepare` opened in advance.
    private var ahead: (format: AudioFormat, context: UnsafeMutablePointer<AVCodecContext>)?
    private let packet: UnsafeMutablePointer<AVPacket>
    private var format: AudioFormat

    /// Buffers not yet decoded, oldest first. `index` is the next packet of the first one.
    private var queue: [SampleBuffer] = []
    private var index = 0
    private var timescale: Int32
    /// Frames still to be removed from the start, at the container's rate.
    private var toSkip = 0
    /// Frames to be removed from the end of the packet being decoded, at the container's rate.
    private var trimEnd = 0
    /// The stated duration of the packet being decoded, in frames at the container's rate; nil if it is not exact.
    private var statedFrames: Int?
    /// Whether the previous packets had exactly their stated duration, and the length of the last one.
    private var lengthsAgree = false
    private var lastTotal = 0
    private var isDecodeOnly = false
    private var isDiscontinuous = false
    private var beginsPiece = false
    private var isFinished = false
    private var isDrained = false
    /// Whether the decoder is being drained at a gapless boundary.
    private var isChanging = false
    /// Wraps decoded audio from the application; it is queued between packets and bypasses the decoder.
    private var plain = WrappedPCM()
    /// Whether `frame` holds such audio, not yet returned.
    private var isLent = false
    private var interleaver: PlaneInterleaver?

    init(_ format: AudioFormat) throws(MediaError) {
        self.format = format
        timescale = Int32(clamping: format.sampleRate)
        guard let frame = av_frame_alloc() else { throw CodecContext.noMemory }
        self.frame = frame
        do throws(MediaError) {
            context = try Self.open(format)
            packet = try CodecContext.packet(for: context)
        } catch {
            // A class whose initializer throws before its fields are set is not deinitialized.
            var unused = Optional(frame)
            av_frame_free(&unused)
            throw error
        }
        interleaver = PlaneInterleaver(format)
        queue.reserveCapacity(8)
    }

    deinit {
        var (lastContext, lastPacket, lastFrame) = (Optional(context), Optional(packet), Optional(frame))
        avcodec_free_context(&lastContext)
        var lastAhead = ahead?.context
        avcodec_free_context(&lastAhead)
        av_packet_free(&lastPacket)
        av_frame_free(&lastFrame)
    }

    private static func open(_ format: AudioFormat) throws(MediaError) -> UnsafeMutablePointer<AVCodecContext> {
        let context = try CodecContext.decoder(
            for: PlaneInterleaver.decoded(format.parameters), type: AVMEDIA_TYPE_AUDIO
        ) { filled in
            filled.pointee.sample_rate = Int32(clamping: format.sampleRate)
            AudioLayouts.set(&filled.pointee.ch_layout, format.layout)
        }
        context.pointee.thread_count = 1
        // Each packet states its trims; a decoder that also applied them would cut twice.
        context.pointee.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL
        context.pointee.pkt_timebase = AVRational(num: 1, den: Int32(clamping: format.sampleRate))
        try CodecContext.open(context, named: format.parameters.codec)
        return context
    }

    func send(_ buffer: SampleBuffer) {
        isFinished = false
        switch buffer.payload {
        case .encodedAudio, .pcm: queue.append(buffer)
        case .encodedVideo, .videoFrame, .encodedSubtitle, .subtitle: break
        }
    }

    /// Opens a decoder for a future format in advance; it takes over once all previous audio has been returned.
    ///
    /// - Throws: `MediaError` if the format cannot be decoded; the current decoder remains in use.
    func prepare(for fresh: AudioFormat) throws(MediaError) {
        if ahead?.format == fresh { return }
        let opened = try Self.open(fresh)
        var old = ahead?.context
        avcodec_free_context(&old)
        ahead = (fresh, opened)
    }

    func finish() { isFinished = true }

    func reset() {
        avcodec_flush_buffers(context)
        queue.removeAll(keepingCapacity: true)
        (index, toSkip, trimEnd) = (0, 0, 0)
        (isDecodeOnly, isFinished, isDrained) = (false, false, false)
        (isChanging, beginsPiece, isLent) = (false, false, false)
        (undecodable, sending) = (nil, nil)
        isDiscontinuous = true
    }

    /// Decodes until audio is available. Returns nil when more packets are needed.
    func next() throws(MediaError) -> Output? {
        while true {
            if isLent {
                isLent = false
                if let output = trimmed() { return output }
            }
            let code = avcodec_receive_frame(context, frame)
            if code >= 0 {
                skipVorbisPreroll()
                if let output = trimmed() { return output }
                continue
            }
            if code != cff_error_again, code != cff_error_eof { recordDamage() }
            if code == cff_error_eof {
                // The decoder must accept packets after the end of an item, as in a playlist.
                avcodec_flush_buffers(context)
                isDrained = true
            }
            if try !feedNextPacket() { return nil }
        }
    }

    /// Returns the rounding error of the current frame's timestamp, or nil if it cannot be determined.
    ///
    /// Each timestamp is exact within half a tick of the container's clock. If all packets of the buffer have equal
    /// length, together they limit the error of the first one to a small range.
    func roundingError(frames: Int, rate: Int32) -> MediaTime? {
        guard let buffer = queue.first, case .encodedAudio(_, let batch) = buffer.payload, index > 0,
            index <= batch.packets.count, let first = batch.packets[index - 1].presentationTime,
            first.timescale <= 2000, first.timescale > 0
        else { return nil }
        let tick = 1 / Double(first.timescale)
        var (lowest, highest) = (-tick / 2, tick / 2)
        for later in index..<batch.packets.count {
            // Timestamps with several timescales come from an application and are not rounded.
            guard let time = batch.packets[later].presentationTime, time.timescale == first.timescale else {
                return nil
            }
            let counted = Double(later - index + 1) * Double(frames) / Double(rate)
            let error = (time - first).seconds - counted
            // The first frame's true time is `first + x`; this timestamp limits x to half a tick around `error`.
            lowest = max(lowest, error - tick / 2)
            highest = min(highest, error + tick / 2)
        }
        // Contradiction: packets of different lengths, or timestamps that are wrong rather than rounded.
        guard lowest <= highest + 1e-6, batch.packets.count > index else { return nil }
        return MediaTime(boundedSeconds: (lowest + highest) / 2)
    }

    private func feedNextPacket() throws(MediaError) -> Bool {
        while let buffer = queue.first {
            if case .pcm(let block) = buffer.payload, index == 0 {
                if try begin(buffer, plain.format(of: block)) { return true }
                // The buffer stays queued to keep its memory valid until the next one is needed.
                index = 1
                lend(block, at: buffer.presentationTime ?? block.start)
                return true
            }
            guard case .encodedAudio(let format, let batch) = buffer.payload, index < batch.packets.count else {
                queue.removeFirst()
                index = 0
                continue
            }
            if index == 0, try begin(buffer, format) { return true }
            let entry = batch.packets[index]
            index += 1
            send(entry, of: batch)
            return true
        }
        guard isFinished, !isDrained else { return false }
        return avcodec_send_packet(context, nil) >= 0
    }

    /// Prepares for a buffer. Returns true if the decoder must be drained first.
    private func begin(_ buffer: SampleBuffer, _ fresh: AudioFormat) throws(MediaError) -> Bool {
        if buffer.flags.contains(.discontinuity) {
            avcodec_flush_buffers(context)
            toSkip = 0
            (isDiscontinuous, beginsPiece, isChanging) = (true, false, false)
            try change(to: fresh)
        } else if isSeam(buffer, fresh) {
            if !isChanging, !isDrained {
                isChanging = true
                if avcodec_send_packet(context, nil) >= 0 { return true }
            }
            isChanging = false
            avcodec_flush_buffers(context)
            (toSkip, beginsPiece) = (0, true)
            try change(to: fresh)
        }
        format = fresh
        isDrained = false
        isDecodeOnly = buffer.flags.contains(.decodeOnly)
        return false
    }

    /// Whether a buffer begins after a gapless boundary: another format, or the delay of a new encoder run.
    private func isSeam(_ buffer: SampleBuffer, _ fresh: AudioFormat) -> Bool {
        if buffer.flags.contains(.gaplessBoundary) { return true }
        if fresh === format { return false }
        if fresh != format { return true }
        guard case .encodedAudio(_, let batch) = buffer.payload else { return false }
        return batch.packets.first.map { $0.trimStart > 0 } ?? false
    }

    private func change(to fresh: AudioFormat) throws(MediaError) {
        lengthsAgree = false
        if fresh != format {
            try prepare(for: fresh)
            guard let opened = ahead?.context else { return }
            ahead = nil
            var old: UnsafeMutablePointer<AVCodecContext>? = context
            avcodec_free_context(&old)
            context = opened
            interleaver = PlaneInterleaver(fresh)
            format = fresh
        }
    }

    private func send(_ entry: PacketBatch.Packet, of batch: PacketBatch) {
        if let time = entry.presentationTime { timescale = time.timescale }
        packet.pointee.pts = entry.presentationTime?.value ?? cff_nopts_value
        packet.pointee.dts = packet.pointee.pts
        packet.pointee.duration = 0
        sending =
            isDecodeOnly ? nil : entry.presentationTime.map { UndecodableAudio(start: $0, duration: entry.duration) }
        toSkip += min(entry.trimStart, 1 << 24)
        trimEnd = entry.trimEnd
        let isExact = Int(entry.duration.timescale) == format.sampleRate && entry.duration.value > 0
        statedFrames = isExact ? Int(clamping: entry.duration.value) : nil
        batch.withBytes(of: entry) { bytes in
            let bytes = interleaver?.interleaved(bytes) ?? bytes
            packet.pointee.data = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
            packet.pointee.size = Int32(clamping: bytes.count)
            if avcodec_send_packet(context, packet) < 0 { recordDamage() }
        }
        packet.pointee.data = nil
        packet.pointee.size = 0
    }

    private func recordDamage() {
        decodeErrorCount += 1
        guard let lost = sending.take() else { return }
        undecodable = undecodable?.adding(lost) ?? lost
    }

    private func lend(_ block: PCMBlock, at start: MediaTime) {
        plain.lend(block, at: start, to: frame)
        (timescale, toSkip, trimEnd, statedFrames) = (start.timescale, 0, 0, nil)
        isLent = true
    }

    /// Returns the padding of an MP4's last packet: the frames decoded beyond its stated duration.
    ///
    /// Only if all previous packets had their exact stated length. Vorbis is excluded: it returns a
    /// packet's audio one packet late.
    private func padding(_ total: Int, _ scaled: (Int) -> Int) -> Int {
        guard let stated = statedFrames.map(scaled), format.parameters.codec != "vorbis" else { return 0 }
        let isTrusted = lengthsAgree && total == lastTotal
        lengthsAgree = stated == total || (isTrusted && stated < total)
        lastTotal = total
        return isTrusted && stated < total ? total - stated : 0
    }

    /// Skips what Vorbis returns for a first packet, which only starts the overlap (Vorbis I, 4.3.8): FFmpeg 5.1
    /// returns no frame for it, 7.1 one with its length to skip.
    private func skipVorbisPreroll() {
        guard format.parameters.codec == "vorbis",
            let marked = av_frame_get_side_data(frame, AV_FRAME_DATA_SKIP_SAMPLES), marked.pointee.size >= 4
        else { return }
        toSkip += min(Int(UnsafeRawPointer(marked.pointee.data).loadUnaligned(as: UInt32.self).littleEndian), 1 << 24)
    }

    /// Trims the decoded frame. Returns nil if no frame of it is audible.
    private func trimmed() -> Output? {
        let total = Int(frame.pointee.nb_samples)
        let rate = frame.pointee.sample_rate
        guard total > 0, InputLimit.sampleRates.contains(rate), AudioLayouts.isSensible(frame.pointee.ch_layout) else {
            return nil
        }
        // Trims are at the container's rate; the decoded rate of HE-AAC can be twice that.
        func scaled(_ frames: Int) -> Int {
            Int(rate) == format.sampleRate ? frames : frames * Int(rate) / format.sampleRate
        }
        var start: MediaTime?
        // A decoder can extrapolate from a timestamp near the limit.
        if let pts = frame.pointee.pts.boundedTicks { start = MediaTime(value: pts, timescale: timescale) }
        let skipped = min(scaled(toSkip), total)
        if toSkip > 0 {
            toSkip = skipped < total ? 0 : max(0, toSkip - skipped * format.sampleRate / Int(rate))
            start = start.map { $0 + MediaTime(value: Int64(skipped), timescale: rate) }
        }
        let cut = min(max(scaled(trimEnd), padding(total, scaled)), total - skipped)
        trimEnd = 0
        statedFrames = nil
        let count = total - skipped - cut
        if isDecodeOnly || count <= 0 {
            return nil
        }
        defer { (isDiscontinuous, beginsPiece) = (false, false) }
        return Output(
            skip: skipped, count: count, time: start, isDiscontinuous: isDiscontinuous, beginsPiece: beginsPiece)
    }
}
