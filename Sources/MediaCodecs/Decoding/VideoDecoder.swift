internal import CFFmpeg
public import MediaCore
public import SyncRendering

/// Decodes pictures with libavcodec. Owned and called by one thread; libavcodec adds threads of its own.
///
/// Send one buffer, then receive until nil. Pictures come out in order of showing, each with its time and length.
public final class VideoDecoder: PictureDecoder {
    /// Packets that could not be decoded, so far; their pictures are missing or repaired by the decoder.
    public private(set) var damagedPackets = 0
    /// A device has failed, and no decoder could be opened in its place.
    private var brokenBy: MediaError?
    /// Pictures whose time stamps were missing or wrong and were put right, so far.
    public var repairedTimes: Int { times?.repairs ?? 0 }
    /// May be changed between any two calls.
    public var effort = DecodingEffort.full

    private(set) var format: VideoFormat
    private let threads: Int?
    private var context: UnsafeMutablePointer<AVCodecContext>
    /// Nil where this processor decodes.
    private(set) var hardware: (any HardwareAcceleration)?
    /// The codec and who decoded the latest picture: `h264 (software)`, `h264 (vaapi)`. A device that was given to the decoder may have
    /// been refused by it. Nil before the first.
    private(set) var atWork: String?
    private var isDeviceAtWork: Bool?
    private var replay = HardwareReplay()
    /// The device fails: this processor takes over before anything else is done.
    private var hasHardwareFailed = false
    /// Pictures up to here were handed out before it took over.
    private var replayedUntil: MediaTime?
    /// Too little was kept for that: nothing before the next sync picture can be decoded.
    private var awaitsSync = false
    private var isFinishing = false
    private let packet: UnsafeMutablePointer<AVPacket>
    private var pool = RecyclingPool<DecodedPicture> { DecodedPicture() }
    private var times: PictureTimes?
    /// Pictures that had to come out before more could go in.
    private var ready: [SampleBuffer] = []
    private var isDiscontinuous = false
    private var showFrom: MediaTime?
    /// The latest place at or before `showFrom` for which a picture was sent since that is asked for.
    private var latestSent: MediaTime?
    /// The last picture that `discardPictures(before:)` held back, in case no later one comes.
    private var held: SampleBuffer?

    /// - Parameters:
    ///   - threads: how many threads to decode with; nil chooses by picture size and machine.
    ///   - hardware: whether a graphics processor decodes; what it cannot, this processor does.
    /// - Throws: `unsupported` when no decoder fits or the track's description is damaged, or `limitExceeded`.
    public convenience init(
        format: VideoFormat, threads: Int? = nil, hardware: HardwareDecoding = .no
    ) throws(MediaError) {
        try self.init(format: format, threads: threads, acceleration: VideoAcceleration.chosen(by: hardware))
    }

    init(format: VideoFormat, threads: Int?, acceleration: (any HardwareAcceleration)?) throws(MediaError) {
        self.format = format
        self.threads = threads
        (context, hardware) = try Self.open(format, threads: threads, acceleration)
        guard let packet = av_packet_alloc() else { throw CodecContext.noMemory }
        self.packet = packet
        ready.reserveCapacity(8)
    }

    deinit {
        var last: UnsafeMutablePointer<AVCodecContext>? = context
        avcodec_free_context(&last)
        var lastPacket: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&lastPacket)
    }

    // MARK: In

    /// Hands in the next packet. A damaged one is counted and skipped.
    ///
    /// - Throws: `unsupported` when the format changed to one that cannot be decoded, and the reason where a device has failed and this
    ///   processor cannot take its place: nothing is decoded any more then.
    public func send(_ buffer: SampleBuffer) throws(MediaError) {
        if let brokenBy { throw brokenBy }
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
        if hardware != nil { replay.note(buffer) }
        decode(buffer, batch)
        if hasHardwareFailed { takeOver() }
        if let brokenBy { throw brokenBy }
    }

    private func decode(_ buffer: SampleBuffer, _ batch: PacketBatch) {
        context.pointee.skip_frame = skipping(for: buffer)
        context.pointee.skip_loop_filter = effort <= .plain && showFrom == nil ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
        // Indices, because iterating would retain the array for each packet.
        for index in batch.packets.indices {
            feed(batch.packets[index], of: batch, isSync: buffer.flags.contains(.sync))
        }
    }

    private func skipping(for buffer: SampleBuffer) -> AVDiscard {
        if let showFrom { return skipping(for: buffer, before: showFrom) }
        if effort == .syncOnly { return AVDISCARD_NONKEY }
        if effort == .referencesOnly || buffer.flags.contains(.decodeOnly) { return AVDISCARD_NONREF }
        return AVDISCARD_DEFAULT
    }

    /// On the way to a place that was asked for exactly, at whatever effort: what no other picture needs is left out where a later
    /// one is seen at that place. Lengths are not asked, because a picture stays for longer where nothing is coded.
    private func skipping(for buffer: SampleBuffer, before place: MediaTime) -> AVDiscard {
        guard let time = buffer.presentationTime, time <= place else { return AVDISCARD_DEFAULT }
        if let latestSent, time < latestSent, latestSent <= place { return AVDISCARD_NONREF }
        latestSent = time
        return AVDISCARD_DEFAULT
    }

    private func feed(_ entry: PacketBatch.Packet, of batch: PacketBatch, isSync: Bool) {
        let times = self.times ?? PictureTimes(timescale: timescale(of: entry), frameRate: format.frameRate)
        self.times = times
        packet.pointee.pts = entry.presentationTime?.rescaled(to: times.timescale) ?? cff_nopts_value
        packet.pointee.dts = entry.decodeTime?.rescaled(to: times.timescale) ?? cff_nopts_value
        packet.pointee.duration = entry.duration.rescaled(to: times.timescale)
        packet.pointee.flags = isSync ? AV_PKT_FLAG_KEY : 0
        batch.withBytes(of: entry) { bytes in
            // libavcodec copies what is not reference-counted, with the padding that its readers need.
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
                    damagedPackets += 1
                    noteHardwareFailure()
                }
                return
            }
            // It wants to be relieved of pictures first, also of such that are not handed out.
            if let picture = nextPicture() { ready.append(picture) }
            if hasHardwareFailed { return }
        }
    }

    private func timescale(of entry: PacketBatch.Packet) -> Int32 {
        (entry.presentationTime ?? entry.decodeTime ?? entry.duration).timescale
    }

    /// No more packets follow: what is inside comes out.
    public func finish() {
        isFinishing = true
        sendPacket(nil)
    }

    /// Forgets everything inside, for a jump.
    public func flush() {
        ready.removeAll(keepingCapacity: true)
        reset()
        showFrom = nil
        isDiscontinuous = true
    }

    /// After an exact seek: pictures that end at or before `time` are decoded and not handed out. When the film ends
    /// before that time, its last picture is handed out instead of none. Ends by itself with the first picture shown
    /// and with `flush`.
    public func discardPictures(before time: MediaTime) { showFrom = time }

    public func goOn(to time: MediaTime) -> Bool {
        discardPictures(before: time)
        return true
    }

    private func reset() {
        avcodec_flush_buffers(context)
        times?.reset()
        latestSent = nil
        (held, replayedUntil, awaitsSync, isFinishing, hasHardwareFailed) = (nil, nil, false, false, false)
        replay.forget()
        replay.shownUntil = nil
    }

    private func adopt(_ fresh: VideoFormat) throws(MediaError) {
        if fresh != format {
            drain()
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

    // MARK: The device fails

    /// libavcodec's frame threads hold 64 packets at most.
    private static let maxErrors = 64
    /// One packet in a row may be the film's fault.
    private static let mostFailures = 3

    private func noteHardwareFailure(isCertain: Bool = false) {
        guard hardware != nil else { return }
        replay.failures += 1
        if isCertain || replay.failures >= Self.mostFailures || replay.shownUntil == nil { hasHardwareFailed = true }
    }

    /// This processor decodes from now on, and anew what the device has not handed out.
    private func takeOver() {
        hasHardwareFailed = false
        hardware = nil
        do throws(MediaError) { replaceContext(try Self.open(format, threads: threads)) } catch {
            // The device's context must not be used any more: it may give errors without end.
            brokenBy = error
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

    /// Brings a picture out of the device's memory; nil when that fails. Others are handed on as they are.
    private func inOrdinaryMemory(_ picture: DecodedPicture) -> DecodedPicture? {
        guard let hardware, picture.libavFormat == hardware.pixelFormat else { return picture }
        let target = pool.acquire()
        av_frame_unref(target.frame)
        let code = hardware.download(picture.frame, to: target.frame)
        av_frame_unref(picture.frame)
        return code < 0 ? nil : target
    }

    private func noteWhoDecoded(_ picture: DecodedPicture) {
        let isDevice = hardware?.pixelFormat == picture.libavFormat
        guard isDevice != isDeviceAtWork else { return }
        isDeviceAtWork = isDevice
        let codec = avcodec_get_name(context.pointee.codec_id).map { String(cString: $0) } ?? "unknown"
        atWork = "\(codec) (\(isDevice ? hardware?.name ?? "" : "software"))"
    }

    private func drain() {
        sendPacket(nil)
        while let picture = nextPicture() { ready.append(picture) }
    }

    // MARK: Out

    /// The next picture, or nil when more packets are needed or everything is out.
    public func receive() -> SampleBuffer? {
        if !ready.isEmpty { return ready.removeFirst() }
        if let picture = nextPicture() { return picture }
        guard hasHardwareFailed else { return nil }
        takeOver()
        return ready.isEmpty ? nextPicture() : ready.removeFirst()
    }

    private func nextPicture() -> SampleBuffer? {
        var errors = 0
        while !hasHardwareFailed, brokenBy == nil {
            let received = pool.acquire()
            av_frame_unref(received.frame)
            let code = avcodec_receive_frame(context, received.frame)
            if code == cff_error_again { return nil }
            if code == cff_error_eof {
                // The place asked for lies behind the last picture: that one is nearest.
                defer { held = nil }
                return held
            }
            if code < 0 {
                damagedPackets += 1
                noteHardwareFailure()
                errors += 1
                // A decoder reports each damaged packet once; one that reports more than it can hold needs another packet.
                guard errors < Self.maxErrors else { return nil }
                continue
            }
            noteWhoDecoded(received)
            guard let picture = inOrdinaryMemory(received) else {
                noteHardwareFailure(isCertain: true)
                continue
            }
            let buffer = describe(picture)
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
                // Nothing is coded for the place asked for, because nothing changed there: the picture before stays.
                before.duration = start - shown
                ready.append(buffer)
                return before
            }
            return buffer
        }
        return nil
    }

    private func describe(_ picture: DecodedPicture) -> SampleBuffer {
        picture.describe(format)
        let frame = picture.frame.pointee
        var times = self.times ?? PictureTimes(timescale: 90_000, frameRate: format.frameRate)
        let stamp = frame.best_effort_timestamp
        let place = times.place(
            stamp == cff_nopts_value ? nil : stamp, length: cff_frame_duration(picture.frame),
            extraFields: frame.repeat_pict)
        self.times = times
        var flags: SampleBuffer.Flags = cff_frame_is_key(picture.frame) != 0 ? .sync : []
        if isDiscontinuous { flags.insert(.discontinuity) }
        isDiscontinuous = false
        return SampleBuffer(
            payload: .picture(picture), presentationTime: MediaTime(value: place.start, timescale: times.timescale),
            duration: MediaTime(value: place.length, timescale: times.timescale), flags: flags)
    }
}
