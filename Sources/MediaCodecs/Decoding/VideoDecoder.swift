internal import CFFmpeg
package import MediaCore
package import SyncRendering

/// Decodes video with libavcodec. Owned and called by one thread; libavcodec adds its own threads.
///
/// Send one buffer, then receive until nil. Frames are returned in display order with start and duration.
package final class VideoDecoder: VideoFrameDecoder {
    /// The number of packets that could not be decoded; their frames are missing or concealed by the decoder.
    package private(set) var decodeErrorCount = 0
    /// The error after a hardware failure if no software decoder could be opened; all further calls throw it.
    package private(set) var failure: MediaError?
    /// The skip policy. May be changed between any two calls.
    package var skipPolicy = SkipPolicy.full

    private(set) var format: VideoFormat
    private let threads: Int?
    private var context: UnsafeMutablePointer<AVCodecContext>
    /// Nil for software decoding.
    private(set) var hardware: (any HardwareAcceleration)?
    /// The codec and the decoder of the latest frame: `h264 (software)`, `h264 (vaapi)`; nil before the first frame.
    ///
    /// libavcodec can refuse a device that was attached.
    private(set) var atWork: String?
    private var isDeviceAtWork: Bool?
    private var replay = HardwareReplay()
    /// Whether the hardware failed: `switchToSoftware` must run before further decoding.
    private var hasHardwareFailed = false
    /// End of the last frame returned before the hardware failed; earlier frames are not returned again.
    private var replayedUntil: MediaTime?
    /// Whether too little was kept for a replay: packets before the next sync frame are dropped.
    private var awaitsSync = false
    private var isFinishing = false
    private let packet: UnsafeMutablePointer<AVPacket>
    private var pool = RecyclingPool<DecodedFrame> { DecodedFrame() }
    private var times: FrameTimes?
    /// Frames that had to be received before another packet was accepted.
    private var ready: [SampleBuffer] = []
    private var isDiscontinuous = false
    private var showFrom: MediaTime?
    /// Latest time at or before `showFrom` of a packet sent since the seek.
    private var latestSent: MediaTime?
    /// The last frame dropped by `dropFrames(before:)`; returned if no later one follows.
    private var held: SampleBuffer?

    /// Opens a decoder.
    ///
    /// - Parameters:
    ///   - threads: The number of decoding threads; nil: depends on the frame size and the machine.
    ///   - hardware: Whether to decode in hardware; software decodes what the hardware does not support.
    /// - Throws: `unsupported` if there is no decoder or the track's parameters are invalid, or `exhausted`.
    package convenience init(
        format: VideoFormat, threads: Int? = nil, hardware: HardwareDecoding = .no
    ) throws(MediaError) {
        try self.init(format: format, threads: threads, acceleration: VideoAcceleration.chosen(by: hardware))
    }

    init(format: VideoFormat, threads: Int?, acceleration: (any HardwareAcceleration)?) throws(MediaError) {
        self.format = format
        self.threads = threads
        (context, hardware) = try Self.open(format, threads: threads, acceleration)
        packet = try CodecContext.packet(for: context)
        ready.reserveCapacity(8)
    }

    deinit {
        var last: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&last)
        var lastPacket: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&lastPacket)
    }

    // MARK: Input

    /// Sends the next buffer. A damaged packet is counted and skipped.
    ///
    /// - Throws: `unsupported` if the new format cannot be decoded. After a hardware failure without a software
    ///   replacement, every call throws that error.
    package func send(_ buffer: SampleBuffer) throws(MediaError) {
        if let failure { throw failure }
        guard case .encodedVideo(let format, let batch) = buffer.payload else { return }
        if buffer.flags.contains(.discontinuity) {
            drain()
            reset()
            isDiscontinuous = true
        }
        if format !== self.format { try adopt(format) }
        isFinishing = false
        if awaitsSync, !buffer.flags.contains(.sync) { return }
        awaitsSync = false
        if hardware != nil { replay.append(buffer) }
        decode(buffer, batch)
        if hasHardwareFailed { switchToSoftware() }
        if let failure { throw failure }
    }

    private func decode(_ buffer: SampleBuffer, _ batch: PacketBatch) {
        context.pointee.skip_frame = skipping(for: buffer)
        context.pointee.skip_loop_filter =
            skipPolicy <= .plain && showFrom == nil ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
        // Indices: iterating would retain the array for each packet.
        for index in batch.packets.indices {
            feed(batch.packets[index], of: batch, isSync: buffer.flags.contains(.sync))
        }
    }

    private func skipping(for buffer: SampleBuffer) -> AVDiscard {
        if let showFrom { return skipping(for: buffer, before: showFrom) }
        if skipPolicy == .syncOnly { return AVDISCARD_NONKEY }
        if skipPolicy == .referencesOnly || buffer.flags.contains(.decodeOnly) { return AVDISCARD_NONREF }
        return AVDISCARD_DEFAULT
    }

    /// Skips non-reference frames before the target of an exact seek, with any skip policy, if
    /// a later frame is visible there.
    ///
    /// Durations are not used: a frame stays visible while no other is coded.
    private func skipping(for buffer: SampleBuffer, before timing: MediaTime) -> AVDiscard {
        guard let time = buffer.presentationTime, time <= timing else { return AVDISCARD_DEFAULT }
        if let latestSent, time < latestSent, latestSent <= timing { return AVDISCARD_NONREF }
        latestSent = time
        return AVDISCARD_DEFAULT
    }

    private func feed(_ entry: PacketBatch.Packet, of batch: PacketBatch, isSync: Bool) {
        let times = self.times ?? FrameTimes(timescale: timescale(of: entry), frameRate: format.frameRate)
        self.times = times
        packet.pointee.pts = entry.presentationTime?.rescaled(to: times.timescale) ?? cff_nopts_value
        packet.pointee.dts = entry.decodeTime?.rescaled(to: times.timescale) ?? cff_nopts_value
        packet.pointee.duration = entry.duration.rescaled(to: times.timescale)
        packet.pointee.flags = (isSync ? AV_PKT_FLAG_KEY : 0) | (entry.isDiscarded ? AV_PKT_FLAG_DISCARD : 0)
        batch.withBytes(of: entry) { bytes in
            // libavcodec copies packets without a reference count and adds the required padding.
            packet.pointee.data = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
            packet.pointee.size = Int32(clamping: bytes.count)
            sendPacket(packet)
        }
        packet.pointee.data = nil
        packet.pointee.size = 0
    }

    private func sendPacket(_ packet: UnsafeMutablePointer<AVPacket>?) {
        for _ in 0..<64 {
            let code = avcodec_send_packet(context, packet)
            if code != cff_error_again {
                if code < 0, code != cff_error_eof {
                    decodeErrorCount += 1
                    recordHardwareFailure()
                }
                return
            }
            // EAGAIN: frames must be received before another packet is accepted, also those that are dropped.
            if let decoded = receiveFrame() { ready.append(decoded) }
            if hasHardwareFailed { return }
        }
    }

    private func timescale(of entry: PacketBatch.Packet) -> Int32 {
        (entry.presentationTime ?? entry.decodeTime ?? entry.duration).timescale
    }

    /// Ends the input; `receive` returns the remaining frames.
    package func finish() {
        isFinishing = true
        sendPacket(nil)
    }

    /// Discards all frames inside, for a seek.
    package func flush() {
        ready.removeAll(keepingCapacity: true)
        reset()
        showFrom = nil
        isDiscontinuous = true
    }

    /// Drops frames that end at or before `time`, for an exact seek.
    ///
    /// If the film ends before `time`, its last frame is returned. Reset by the first returned frame and by `flush`.
    package func dropFrames(before time: MediaTime) { showFrom = time }

    /// Skips forward to `time` without a flush. Always succeeds.
    package func skipForward(to time: MediaTime) -> Bool {
        dropFrames(before: time)
        return true
    }

    private func reset() {
        avcodec_flush_buffers(context)
        // What follows may be another film, with another timescale.
        times = nil
        latestSent = nil
        (held, replayedUntil, awaitsSync, isFinishing, hasHardwareFailed) = (nil, nil, false, false, false)
        replay.forget()
        replay.shownUntil = nil
    }

    private func adopt(_ fresh: VideoFormat) throws(MediaError) {
        if fresh != format {
            drain()
            times = nil
            let opened = try Self.open(fresh, threads: threads, hardware)
            replaceContext(opened.0)
            hardware = opened.1
            isDeviceAtWork = nil
            replay.forget()
        }
        format = fresh
    }

    private func replaceContext(_ fresh: UnsafeMutablePointer<AVCodecContext>) {
        var old: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&old)
        context = fresh
    }

    // MARK: Hardware failure

    /// libavcodec's frame threads hold at most 64 packets.
    private static let maxErrors = 64
    /// Consecutive failures after which hardware decoding is disabled; a single one can be a damaged packet.
    private static let maxFailures = 3

    private func recordHardwareFailure(isCertain: Bool = false) {
        guard hardware != nil else { return }
        replay.failures += 1
        if isCertain || replay.failures >= Self.maxFailures || replay.shownUntil == nil { hasHardwareFailed = true }
    }

    /// Switches to software and decodes again what the hardware has not returned.
    private func switchToSoftware() {
        hasHardwareFailed = false
        hardware = nil
        do throws(MediaError) { replaceContext(try Self.open(format, threads: threads)) } catch {
            // The context of the failed device can return errors without end, so it is not used again.
            failure = error
            return
        }
        times?.reset()
        latestSent = nil
        (replayedUntil, awaitsSync) = (replay.shownUntil, replay.isBroken)
        let (again, wasFinishing) = (replay.buffers, isFinishing)
        replay.forget()
        for buffer in again {
            if case .encodedVideo(_, let batch) = buffer.payload { decode(buffer, batch) }
        }
        if wasFinishing { sendPacket(nil) }
    }

    /// Copies a frame out of the device's memory; returns nil on failure. Other frames are returned unchanged.
    private func inOrdinaryMemory(_ decoded: DecodedFrame) -> DecodedFrame? {
        guard let hardware, decoded.libavFormat == hardware.pixelFormat else { return decoded }
        let target = pool.acquire()
        av_frame_unref(target.frame)
        let code = hardware.download(decoded.frame, to: target.frame)
        av_frame_unref(decoded.frame)
        return code < 0 ? nil : target
    }

    private func recordDecoder(_ decoded: DecodedFrame) {
        let isDevice = hardware?.pixelFormat == decoded.libavFormat
        guard isDevice != isDeviceAtWork else { return }
        isDeviceAtWork = isDevice
        let codec = avcodec_get_name(context.pointee.codec_id).map { String(cString: $0) } ?? "unknown"
        atWork = "\(codec) (\(isDevice ? hardware?.name ?? "" : "software"))"
    }

    private func drain() {
        sendPacket(nil)
        while let decoded = receiveFrame() { ready.append(decoded) }
    }

    // MARK: Output

    /// Returns the next frame, or nil if more packets are needed or all frames were returned.
    package func receive() -> SampleBuffer? {
        if !ready.isEmpty { return ready.removeFirst() }
        if let decoded = receiveFrame() { return decoded }
        guard hasHardwareFailed else { return nil }
        switchToSoftware()
        return ready.isEmpty ? receiveFrame() : ready.removeFirst()
    }

    private func receiveFrame() -> SampleBuffer? {
        var errors = 0
        while !hasHardwareFailed, failure == nil {
            let received = pool.acquire()
            av_frame_unref(received.frame)
            let code = avcodec_receive_frame(context, received.frame)
            if code == cff_error_again { return nil }
            if code == cff_error_eof {
                // The seek target is after the last frame: that one is the nearest.
                return held.take()
            }
            if code < 0 {
                decodeErrorCount += 1
                recordHardwareFailure()
                errors += 1
                // A damaged packet is reported once; after more errors than frames inside,
                // the decoder needs another packet.
                guard errors < Self.maxErrors else { return nil }
                continue
            }
            recordDecoder(received)
            guard let decoded = inOrdinaryMemory(received) else {
                recordHardwareFailure(isCertain: true)
                continue
            }
            let buffer = describe(decoded)
            if let replayedUntil, let end = buffer.end, end <= replayedUntil { continue }
            replayedUntil = nil
            if hardware != nil { (replay.shownUntil, replay.failures) = (buffer.end, 0) }
            if let showFrom, let end = buffer.end, end <= showFrom {
                held = buffer
                continue
            }
            defer {
                showFrom = nil
                held = nil
            }
            if let showFrom, var before = held, let start = buffer.presentationTime, start > showFrom,
                let shown = before.presentationTime
            {
                // No frame is coded at the target because nothing changed: extend the previous one.
                before.duration = start - shown
                ready.append(buffer)
                return before
            }
            return buffer
        }
        return nil
    }

    private func describe(_ decoded: DecodedFrame) -> SampleBuffer {
        decoded.describe(format)
        let frame = decoded.frame.pointee
        var times = self.times ?? FrameTimes(timescale: 90_000, frameRate: format.frameRate)
        let stamp = frame.best_effort_timestamp
        let timing = times.assign(
            stamp == cff_nopts_value ? nil : stamp, length: cff_frame_duration(decoded.frame),
            extraFields: frame.repeat_pict)
        self.times = times
        var flags: SampleBuffer.Flags = cff_frame_is_key(decoded.frame) != 0 ? .sync : []
        if isDiscontinuous { flags.insert(.discontinuity) }
        isDiscontinuous = false
        return SampleBuffer(
            payload: .videoFrame(decoded), presentationTime: MediaTime(value: timing.start, timescale: times.timescale),
            duration: MediaTime(value: timing.length, timescale: times.timescale), flags: flags)
    }
}
