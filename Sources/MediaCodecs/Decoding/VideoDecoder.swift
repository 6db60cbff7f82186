internal import CFFmpeg
internal import Glibc
public import MediaCore
public import SyncRendering

/// Decodes pictures with libavcodec. Owned and called by one thread; libavcodec adds threads of its own.
///
/// Send one buffer, then receive until nil. Pictures come out in order of showing, each with its time and length.
public final class VideoDecoder: PictureDecoder {
    /// Packets that could not be decoded, so far; their pictures are missing or repaired by the decoder.
    public private(set) var damagedPackets = 0
    /// Pictures whose time stamps were missing or wrong and were put right, so far.
    public var repairedTimes: Int { times?.repairs ?? 0 }
    /// May be changed between any two calls.
    public var effort = DecodingEffort.full

    private(set) var format: VideoFormat
    private let threads: Int?
    private var context: UnsafeMutablePointer<AVCodecContext>
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

    /// - Parameter threads: how many threads to decode with; nil chooses by picture size and machine.
    /// - Throws: `unsupported` when no decoder fits or the track's description is damaged, or `limitExceeded`.
    public init(format: VideoFormat, threads: Int? = nil) throws(MediaError) {
        self.format = format
        self.threads = threads
        context = try Self.open(format, threads: threads)
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

    private static func open(_ format: VideoFormat, threads: Int?) throws(MediaError)
        -> UnsafeMutablePointer<AVCodecContext>
    {
        let count = threads ?? defaultThreads(format.size)
        do throws(MediaError) {
            return try openOnce(format, threads: count)
        } catch {
            guard error.code == .exhausted, count > 1 else { throw error }
            // Without threads of its own it decodes on ours.
            return try openOnce(format, threads: 1)
        }
    }

    private static func openOnce(_ format: VideoFormat, threads: Int) throws(MediaError)
        -> UnsafeMutablePointer<AVCodecContext>
    {
        let context = try CodecContext.decoder(for: format.parameters, type: AVMEDIA_TYPE_VIDEO) { filled in
            filled.pointee.width = Int32(clamping: format.size.width)
            filled.pointee.height = Int32(clamping: format.size.height)
            filled.pointee.color_primaries = AVColorPrimaries(UInt32(format.color.primaries))
            filled.pointee.color_trc = AVColorTransferCharacteristic(UInt32(format.color.transfer))
            filled.pointee.color_space = AVColorSpace(UInt32(format.color.matrix))
            filled.pointee.color_range = format.color.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_UNSPECIFIED
        }
        context.pointee.thread_count = Int32(clamping: threads)
        context.pointee.thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE
        try CodecContext.open(context, named: format.parameters.codec)
        return context
    }

    /// Each thread beyond the first delays the first picture by one; small pictures need none.
    private static func defaultThreads(_ size: PixelSize) -> Int {
        let cores = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let area = size.width.multipliedReportingOverflow(by: size.height).partialValue
        if area <= 640 * 480 { return 1 }
        return min(cores, area > 2_100_000 ? 8 : 4)
    }

    // MARK: In

    /// Hands in the next packet. A damaged one is counted and skipped.
    ///
    /// - Throws: `unsupported` when the format changed to one that cannot be decoded.
    public func send(_ buffer: SampleBuffer) throws(MediaError) {
        guard case .encodedVideo(let format, let batch) = buffer.payload else { return }
        if buffer.flags.contains(.discontinuity) {
            drain()
            reset()
            isDiscontinuous = true
        }
        if format !== self.format { try adopt(format) }
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
                if code < 0, code != cff_error_eof { damagedPackets += 1 }
                return
            }
            // It wants to be relieved of a picture first.
            guard let picture = nextPicture() else { return }
            ready.append(picture)
        }
    }

    private func timescale(of entry: PacketBatch.Packet) -> Int32 {
        (entry.presentationTime ?? entry.decodeTime ?? entry.duration).timescale
    }

    /// No more packets follow: what is inside comes out.
    public func finish() { sendPacket(nil) }

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
        (held, latestSent) = (nil, nil)
    }

    private func adopt(_ fresh: VideoFormat) throws(MediaError) {
        if fresh != format {
            drain()
            let opened = try Self.open(fresh, threads: threads)
            var old: UnsafeMutablePointer<AVCodecContext>? = context
            avcodec_free_context(&old)
            context = opened
        }
        format = fresh
    }

    private func drain() {
        sendPacket(nil)
        while let picture = nextPicture() { ready.append(picture) }
    }

    // MARK: Out

    /// The next picture, or nil when more packets are needed or everything is out.
    public func receive() -> SampleBuffer? {
        if !ready.isEmpty { return ready.removeFirst() }
        return nextPicture()
    }

    private func nextPicture() -> SampleBuffer? {
        while true {
            let picture = pool.acquire()
            av_frame_unref(picture.frame)
            let code = avcodec_receive_frame(context, picture.frame)
            if code == cff_error_again { return nil }
            if code == cff_error_eof {
                // The place asked for lies behind the last picture: that one is nearest.
                defer { held = nil }
                return held
            }
            if code < 0 {
                damagedPackets += 1
                continue
            }
            let buffer = describe(picture)
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
    }

    private func describe(_ picture: DecodedPicture) -> SampleBuffer {
        picture.describe(format)
        let frame = picture.frame.pointee
        var times = self.times ?? PictureTimes(timescale: 90_000, frameRate: format.frameRate)
        let stamp = frame.best_effort_timestamp
        let place = times.place(
            stamp == cff_nopts_value ? nil : stamp, length: frame.pkt_duration, extraFields: frame.repeat_pict)
        self.times = times
        var flags: SampleBuffer.Flags = frame.key_frame != 0 ? .sync : []
        if isDiscontinuous { flags.insert(.discontinuity) }
        isDiscontinuous = false
        return SampleBuffer(
            payload: .picture(picture), presentationTime: MediaTime(value: place.start, timescale: times.timescale),
            duration: MediaTime(value: place.length, timescale: times.timescale), flags: flags)
    }
}
