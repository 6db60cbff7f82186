internal import CFFmpeg
internal import MediaCore
internal import SyncRendering

/// Decodes packets of sound and cuts off what encoders added at the ends. Owned and called by one thread.
final class AudioDecoder {
    /// What one call of `next` produced: frames `skip ..< skip + count` of `frame` are to be heard.
    struct Output {
        var skip: Int
        var count: Int
        /// Film time of the first frame to be heard, by its packet's stamp; nil when it follows on.
        var time: MediaTime?
        /// Does not follow on from what was before.
        var isDiscontinuous: Bool
        /// The first of a piece with a format of its own, which is to follow on from the piece before.
        var beginsPiece: Bool
    }

    /// The frame that the last `Output` speaks of; valid until the next call.
    let frame: UnsafeMutablePointer<AVFrame>
    private(set) var damagedPackets = 0
    /// The sound of such packets, until it is taken.
    var undecodable: UndecodableSound?
    /// The place of the packet being decoded, as far as it is to be heard.
    private var sending: UndecodableSound?

    private var context: UnsafeMutablePointer<AVCodecContext>
    /// Opened ahead of the buffers that need it.
    private var ahead: (format: AudioFormat, context: UnsafeMutablePointer<AVCodecContext>)?
    private let packet: UnsafeMutablePointer<AVPacket>
    private var format: AudioFormat

    /// Buffers not yet decoded, oldest first, and the packet of the first that comes next.
    private var queue: [SampleBuffer] = []
    private var index = 0
    private var timescale: Int32
    /// Frames still to be cut from the start, in frames of the decoded sound.
    private var toSkip = 0
    /// Frames to be cut from the end of the packet being decoded.
    private var trimEnd = 0
    /// How long the packet being decoded says it is, in frames of the container's rate; nil when it says so roughly.
    private var statedFrames: Int?
    /// Whether the packet before was as long as it said, and how long it was.
    private var lengthsAgree = false
    private var lastTotal = 0
    private var isDecodeOnly = false
    private var isDiscontinuous = false
    private var beginsPiece = false
    private var isFinished = false
    private var isDrained = false
    /// The decoder is giving out the last of one piece before the next one begins.
    private var isChanging = false
    /// Decoded sound that came as it is: it takes its turn among the packets, and needs no decoder.
    private var plain = PlainSound()
    /// `frame` holds such sound, which has not been given out.
    private var isLent = false
    private var interleaver: PlaneInterleaver?

    init(_ format: AudioFormat) throws(MediaError) {
        self.format = format
        timescale = Int32(clamping: format.sampleRate)
        context = try Self.open(format)
        interleaver = PlaneInterleaver(format)
        guard let packet = av_packet_alloc(), let frame = av_frame_alloc() else { throw CodecContext.noMemory }
        (self.packet, self.frame) = (packet, frame)
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
        // What is to be cut off is stated with each packet; a decoder that cut by itself would cut twice.
        context.pointee.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL
        context.pointee.pkt_timebase = AVRational(num: 1, den: Int32(clamping: format.sampleRate))
        try CodecContext.open(context, named: format.parameters.codec)
        return context
    }

    /// True while a buffer handed in has packets left.
    var hasInput: Bool { !queue.isEmpty }

    func send(_ buffer: SampleBuffer) {
        isFinished = false
        switch buffer.payload {
        case .encodedAudio, .pcm: queue.append(buffer)
        case .encodedVideo, .picture, .encodedSubtitle, .subtitle: break
        }
    }

    /// Opens a decoder for a format that is about to come; it takes over when everything before is out.
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

    /// Decodes until there is something to hear; nil when more packets are needed.
    func next() throws(MediaError) -> Output? {
        while true {
            if isLent {
                isLent = false
                if let output = trimmed() { return output }
            }
            let code = avcodec_receive_frame(context, frame)
            if code >= 0 {
                if let output = trimmed() { return output }
                continue
            }
            if code != cff_error_again, code != cff_error_eof { noteDamage() }
            if code == cff_error_eof {
                // Ready for what may come after an end, for instance when a playlist goes on.
                avcodec_flush_buffers(context)
                isDrained = true
            }
            if try !feedNextPacket() { return nil }
        }
    }

    /// How far the stamp of the frame just decoded is off by its container's rounding, judged by the packets after it
    /// in the same buffer; nil when nothing can be said.
    ///
    /// Each stamp is right within half a tick of the container's clock. Where all packets are as long as this one,
    /// all of them together leave only a small range for the first.
    func roundingError(frames: Int, rate: Int32) -> MediaTime? {
        guard let buffer = queue.first, case .encodedAudio(_, let batch) = buffer.payload, index > 0,
            index <= batch.packets.count, let first = batch.packets[index - 1].presentationTime,
            first.timescale <= 2000, first.timescale > 0
        else { return nil }
        let tick = 1 / Double(first.timescale)
        var (least, most) = (-tick / 2, tick / 2)
        for later in index..<batch.packets.count {
            // Times of several scales are an application's own, and not rounded.
            guard let time = batch.packets[later].presentationTime, time.timescale == first.timescale else {
                return nil
            }
            let counted = Double(later - index + 1) * Double(frames) / Double(rate)
            let error = (time - first).seconds - counted
            // The first frame's true time lies at `first + x`; this stamp says that x is within half a tick of `error`.
            least = max(least, error - tick / 2)
            most = min(most, error + tick / 2)
        }
        // A contradiction: the packets are not of one length, or the stamps are not rounded but wrong.
        guard least <= most + 1e-6, batch.packets.count > index else { return nil }
        return MediaTime(boundedSeconds: (least + most) / 2)
    }

    private func feedNextPacket() throws(MediaError) -> Bool {
        while let buffer = queue.first {
            if case .pcm(let block) = buffer.payload, index == 0 {
                if try begin(buffer, plain.format(of: block)) { return true }
                // It stays in the queue, and with it its memory, until the next is wanted.
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

    /// Gets ready for a buffer; true when the decoder must first give out what is left of the piece before.
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

    /// Whether a buffer begins a piece of its own: another format, or the delay of another encoder's run.
    private func isSeam(_ buffer: SampleBuffer, _ fresh: AudioFormat) -> Bool {
        if buffer.flags.contains(.joint) { return true }
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
            isDecodeOnly ? nil : entry.presentationTime.map { UndecodableSound(start: $0, duration: entry.duration) }
        toSkip += min(entry.trimStart, 1 << 24)
        trimEnd = entry.trimEnd
        let isExact = Int(entry.duration.timescale) == format.sampleRate && entry.duration.value > 0
        statedFrames = isExact ? Int(clamping: entry.duration.value) : nil
        batch.withBytes(of: entry) { bytes in
            let bytes = interleaver?.interleaved(bytes) ?? bytes
            packet.pointee.data = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
            packet.pointee.size = Int32(clamping: bytes.count)
            if avcodec_send_packet(context, packet) < 0 { noteDamage() }
        }
        packet.pointee.data = nil
        packet.pointee.size = 0
    }

    private func noteDamage() {
        damagedPackets += 1
        guard let lost = sending.take() else { return }
        undecodable = undecodable?.adding(lost) ?? lost
    }

    private func lend(_ block: PCMBlock, at start: MediaTime) {
        plain.lend(block, at: start, to: frame)
        (timescale, toSkip, trimEnd, statedFrames) = (start.timescale, 0, 0, nil)
        isLent = true
    }

    /// Frames at the end that a packet decodes to beyond the length it states: the padding of an MP4's last one. Only
    /// where packets are all of one length and said so truly until now; Vorbis gives a packet's sound one packet late.
    private func padding(_ total: Int, _ scaled: (Int) -> Int) -> Int {
        guard let stated = statedFrames.map(scaled), format.parameters.codec != "vorbis" else { return 0 }
        let isTrusted = lengthsAgree && total == lastTotal
        lengthsAgree = stated == total || (isTrusted && stated < total)
        lastTotal = total
        return isTrusted && stated < total ? total - stated : 0
    }

    /// Cuts the decoded frame; nil when nothing of it is to be heard.
    private func trimmed() -> Output? {
        let total = Int(frame.pointee.nb_samples)
        let rate = frame.pointee.sample_rate
        guard total > 0, InputLimit.sampleRates.contains(rate), AudioLayouts.isSensible(frame.pointee.ch_layout) else {
            return nil
        }
        // Trims are stated at the container's rate, which HE-AAC's decoded rate may be twice of.
        func scaled(_ frames: Int) -> Int {
            Int(rate) == format.sampleRate ? frames : frames * Int(rate) / format.sampleRate
        }
        var start: MediaTime?
        // A decoder may count on from a stamp near the limit.
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
