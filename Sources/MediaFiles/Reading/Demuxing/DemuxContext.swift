internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// An opened input of libavformat. Used by one thread at a time.
final class DemuxContext {
    let address: InputAddress
    let waiting: InterruptCallback
    let options: ReadOptions
    private(set) var context: UnsafeMutablePointer<AVFormatContext>?
    /// The pipe, retained as long as `context` reads from it.
    private var pipe: PipeInput?
    /// Packets read ahead to find start times; returned before any others.
    private let primed = PacketQueue()
    private var isPriming = false
    /// The first change of the stream that is not supported.
    private var change: MediaError?
    private var isChangeReported = false
    /// Whether no packet was returned since the input was opened.
    private var isFresh = true
    /// Whether reading begins with the first segment of the playlists.
    var isAtFirstPiece = false
    /// Follows timestamp discontinuities, in containers that may have them.
    var follower: JumpFollower?
    /// Detects timestamp gaps, in all other containers.
    private(set) var gaps: GapReader?
    /// The offset to add to the timestamps of the last returned packet.
    private(set) var shift = MediaTime.zero
    private let packet: UnsafeMutablePointer<AVPacket>
    /// The policy for opening inputs, at an address that libavformat keeps.
    let policy: UnsafeMutablePointer<cff_open_policy>
    private var tls = TLSFailureRecorder()
    /// Reads from HTTP servers; nil if the input needs none.
    private(set) var gate: AVIOBridge?
    /// The streams of the film; playlists that were reopened may number theirs differently.
    var film = FilmStreams()
    private var consecutiveFailures = 0
    private var length: ContainerLength?
    private(set) var rejected = RejectedStreams()
    /// Segments that were skipped, until `consumeLostSegment`.
    private var lostSegments: [AVIOBridge.LostSegment] = []
    /// The number of packets that libavformat rejected as invalid data.
    private(set) var decodeErrorCount = 0

    /// Opens the input and probes its streams. Blocks.
    ///
    /// - Parameters:
    ///   - requestBuilder: Builds the HTTP requests; nil opens nothing over HTTP.
    ///   - format: The name of the container if already known, which skips probing.
    ///   - film: The streams of an already opened HLS film, of which one playlist is opened.
    init(
        _ address: InputAddress, options: ReadOptions, requestBuilder: HTTPRequestBuilder? = nil,
        cancellations: [Cancellation],
        format: String? = nil, film: FilmStreams? = nil
    ) throws(MediaError) {
        guard let packet = av_packet_alloc() else { throw Self.exhausted(address) }
        self.packet = packet
        self.address = address
        self.options = options
        waiting = InterruptCallback(cancellations)
        policy = .allocate(capacity: 1)
        policy.initialize(to: cff_open_policy())
        policy.pointee.verifies = options.trust.verifies ? 1 : 0
        policy.pointee.authorities = options.trust.path
        policy.pointee.regular_only = options.opensRegularFilesOnly || options.purpose == .subtitles ? 1 : 0
        if let requestBuilder {
            let gate = AVIOBridge(requestBuilder, waiting: waiting)
            gate.install(in: policy)
            self.gate = gate
        }
        if let film {
            self.film = film
            try openPlaylists(from: nil, within: options.openTimeout)
            return
        }
        try begin(address.url, format, within: options.openTimeout)
        defer { finishOpening() }
        rejected.inspectCovers(of: streams)
        if !headerSaysEverything {
            try probe()
            if hasLateTracks {
                avformat_close_input(&context)
                try begin(address.url, format, within: options.openTimeout)
                context?.pointee.max_analyze_duration = Self.longestProbe
                context?.pointee.probesize = Self.largestProbe
                try probe()
            }
            // Otherwise missing parameters are detected per stream.
        }
    }

    private func probe() throws(MediaError) {
        rejected.inspectSizes(of: streams)
        let code = avformat_find_stream_info(context, nil)
        if let distrust { throw distrust }
        if code < 0, waiting.isCancelled || waiting.isPastDeadline {
            throw ReadingErrors.opening(cff_error_exit, address, waiting)
        }
    }

    /// Opens an address and reads its header. `finishOpening` removes the limits set here.
    func begin(_ url: String, _ format: String?, within timeout: Duration) throws(MediaError) {
        guard let fresh = avformat_alloc_context() else { throw Self.exhausted(address) }
        fresh.pointee.interrupt_callback = waiting.callback
        fresh.pointee.max_streams = 256
        (policy.pointee.left, policy.pointee.playlist_bytes) = (Self.maxOpens, 0)
        cff_guard_opens(fresh, policy)
        context = fresh
        var settings = Self.settings(for: address, options)
        defer { av_dict_free(&settings) }
        // The demuxer of VobSub opens its second file past `io_open`, whatever the name of the first is.
        let bitmaps =
            options.purpose == .subtitles ? FileBytes.openRegular(VobSubPair.bitmapPath(ofIndex: address.path)) : -1
        defer { if bitmaps >= 0 { Glibc.close(bitmaps) } }
        av_dict_set(&settings, "sub_name", bitmaps >= 0 ? "/proc/self/fd/\(bitmaps)" : "", 0)
        waiting.allow(address.kind == .network ? timeout : nil)
        var code: Int32 = 0
        do throws(MediaError) {
            if address.kind == .pipe {
                guard policy.pointee.regular_only == 0 else { throw ReadingErrors.irregular(address) }
                pipe = try PipeInput(address, waiting: waiting)
                fresh.pointee.pb = pipe?.context
                fresh.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
            }
            _ = TLSFailureRecorder.consumeUnresolvedHost()
            // On failure libavformat frees the context and sets the pointer to nil.
            code = avformat_open_input(&context, url.systemPath, format.flatMap { av_find_input_format($0) }, &settings)
            if code < 0 {
                throw distrust
                    ?? ReadingErrors.opening(
                        code, address, waiting, isPlaylist: gate?.playlists.isEmpty == false)
            }
            length = ContainerLength(
                address, format: formatName, openedBytes: address.kind == .file ? byteCount : nil,
                headerEnd: hasRandomAccess || managesOwnInputs ? nil : bytePosition)
        } catch {
            finishOpening()
            throw error
        }
    }

    func finishOpening() {
        policy.pointee.left = -1
        waiting.allow(nil)
        // Probing that the deadline ended has found enough.
        forgetInterruption()
    }

    /// libavformat treats the error of an interrupted call as the end of the input.
    private func forgetInterruption() {
        guard let input = context?.pointee.pb, input.pointee.error == cff_error_exit else { return }
        (input.pointee.eof_reached, input.pointee.error) = (0, 0)
    }

    /// Closes the input and frees the packets read ahead.
    func close() {
        forgetPrimed()
        avformat_close_input(&context)
        gate?.closeAll()
    }

    static func exhausted(_ address: InputAddress) -> MediaError {
        MediaError(.exhausted, "cannot open \"\(address.text)\": \(SystemCause.text(ENOMEM))")
    }

    deinit {
        close()
        var last = Optional(packet)
        av_packet_free(&last)
        policy.deallocate()
    }

    /// Returns the reason why a server or redirect is not trusted, and clears it; nil if there is none.
    private var distrust: MediaError? {
        if let objection = gate?.objection { return objection }
        if gate?.isDowngraded == true { policy.pointee.refusal = cff_refused_downgrade }
        let (refusal, certificate) = (policy.pointee.refusal, tls.refusal())
        // Called per packet: no message is built while there is no refusal.
        guard refusal != cff_refused_nothing || certificate != nil else { return nil }
        policy.pointee.refusal = cff_refused_nothing
        return ReadingErrors.untrusted(address, refusal: refusal, tls: certificate, trust: options.trust)
    }

    /// The maximum number of playlists and segments opened while probing.
    private static let maxOpens: Int32 = 500

    private static func settings(for address: InputAddress, _ options: ReadOptions) -> OpaquePointer? {
        var settings: OpaquePointer?
        // A playlist from the network must not reach local files.
        // `HTTPStream` sends HTTP requests, not libavformat.
        let remote = "httpproxy,tcp,tls,udp,rtp,rtsp,rtmp,rtmps,srt,ftp,crypto,data"
        let local = "file,pipe,crypto,data,httpproxy,tcp,tls"
        let forSubtitles = options.purpose == .subtitles
        let allowed = forSubtitles ? "file" : address.kind == .network ? remote : local
        av_dict_set(&settings, "protocol_whitelist", allowed, 0)
        av_dict_set(&settings, "format_whitelist", forSubtitles ? Demuxers.forSubtitles : Demuxers.allowed, 0)
        // libavformat refuses segments by their file name extensions, which servers choose freely (`index.jpg`, no
        // extension). Protocols and addresses are checked by `cff_guard_opens` instead. An option that this
        // libavformat does not have stays unused.
        for option in ["allowed_extensions", "allowed_segment_extensions"] { av_dict_set(&settings, option, "ALL", 0) }
        av_dict_set(&settings, "extension_picky", "0", 0)
        // Each segment gets its own request: its URL may redirect elsewhere.
        av_dict_set(&settings, "http_persistent", "0", 0)
        return settings
    }

    /// Whether the header alone contains everything a decoder needs. Probing would decode video before the first frame
    /// is wanted, which costs 0.1 s or more.
    private var headerSaysEverything: Bool {
        guard ["mov,", "matroska"].contains(where: formatName.hasPrefix) else { return false }
        let playable = streams.filter { stream in
            let type = stream.pointee.codecpar.pointee.codec_type
            let isCover = stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
            return type == AVMEDIA_TYPE_AUDIO || (type == AVMEDIA_TYPE_VIDEO && !isCover)
        }
        return playable.allSatisfy { FormatReading.isComplete($0.pointee.codecpar.pointee) }
            && playable.contains { $0.pointee.codecpar.pointee.codec_id != AV_CODEC_ID_NONE }
    }

    /// Seven seconds, libavformat's default for MPEG systems, miss a track that begins later. Limited by the size of a
    /// few seconds of 4K.
    private static let longestProbe: Int64 = 30_000_000
    private static let largestProbe: Int64 = 32 << 20

    /// Whether a transport or program stream has a track without known parameters, or may have further ones: a program
    /// stream has no list of its tracks. Only a local file is probed further.
    private var hasLateTracks: Bool {
        guard address.kind == .file, ["mpegts", "mpeg"].contains(formatName) else { return false }
        var kinds: Set<UInt32> = []
        for stream in streams {
            let parameters = stream.pointee.codecpar.pointee
            kinds.insert(UInt32(bitPattern: parameters.codec_type.rawValue))
            guard parameters.codec_id != AV_CODEC_ID_NONE else { continue }
            if parameters.codec_type == AVMEDIA_TYPE_VIDEO, parameters.width <= 0 { return true }
            if parameters.codec_type == AVMEDIA_TYPE_AUDIO, parameters.sample_rate <= 0 { return true }
        }
        let wanted = [AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_VIDEO].map { UInt32(bitPattern: $0.rawValue) }
        return formatName == "mpeg" && !kinds.isSuperset(of: wanted)
    }

    /// Whether audio without known parameters may be played: its decoder finds them in each packet.
    var hasSelfDescribingAudio: Bool { ["mpegts", "mpeg", "hls"].contains { formatName.hasPrefix($0) } }

    // MARK: Streams and container

    var streams: UnsafeMutableBufferPointer<UnsafeMutablePointer<AVStream>> {
        guard let context, let all = context.pointee.streams else { return .init(start: nil, count: 0) }
        return all.withMemoryRebound(to: UnsafeMutablePointer<AVStream>.self, capacity: 1) {
            UnsafeMutableBufferPointer(start: $0, count: Int(context.pointee.nb_streams))
        }
    }

    /// The HLS variants: bit rate in bits per second, and the streams of each.
    var variants: [(bitrate: Int64, streams: Set<Int32>)] {
        guard let context, formatName.hasPrefix("hls"), let all = context.pointee.programs else { return [] }
        return (0..<Int(context.pointee.nb_programs)).compactMap { index in
            guard let program = all[index], let indices = program.pointee.stream_index,
                let bitrate = Self.value(of: "variant_bitrate", in: program.pointee.metadata).flatMap({ Int64($0) })
            else { return nil }
            let count = Int(program.pointee.nb_stream_indexes)
            return (bitrate, Set(UnsafeBufferPointer(start: indices, count: count).map { Int32(clamping: $0) }))
        }
    }

    /// The container's name in libavformat, with all aliases.
    var formatName: String {
        context?.pointee.iformat?.pointee.name.map { String(cString: $0) } ?? ""
    }

    /// Whether a playlist has subtitles in playlists of their own, which are not read.
    var hasUnreadSubtitles: Bool { policy.pointee.has_subtitles != 0 }

    /// Whether the playlists were generated from a DASH manifest.
    var isDASH: Bool { gate?.playlists.dash != nil }

    /// The duration stated in the DASH manifest, or by a playlist that is read in parts.
    var statedDuration: MediaTime? {
        (gate?.playlists.dash?.seconds ?? gate?.playlists.secondsWithInitSections).flatMap {
            MediaTime(boundedSeconds: $0)
        }
    }

    /// The duration stated by the container; nil if there is none or it exceeds ten years.
    var duration: MediaTime? {
        guard let value = context?.pointee.duration else { return nil }
        if value > 0 {
            return MediaTime(boundedTicks: value, timescale: 1_000_000).flatMap { isWraparound($0) ? nil : $0 }
        }
        // FFmpeg 7.1 reads only the durations of tracks from an MP4's header; that of the film needs probing.
        let longest = streams.map { TrackClock(stream: $0, origin: .zero).length($0.pointee.duration) }.max()
        return longest.flatMap { $0 > .zero ? $0 : nil }
    }

    /// Whether a duration is that of timestamps that step back, which look as if 33 bits at 90 kHz had wrapped: more
    /// than half of that in less than 1 kB/s.
    func isWraparound(_ length: MediaTime) -> Bool {
        let (half, seconds) = (Double(1 << 32) / 90_000, length.seconds)
        guard stampsMayJump, !managesOwnInputs, seconds > half, let size = byteCount else { return false }
        return Double(size) < seconds * 1000
    }

    /// The chapters in the order of the container.
    var chapters: UnsafeBufferPointer<UnsafeMutablePointer<AVChapter>> {
        guard let context, let first = context.pointee.chapters else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        return first.withMemoryRebound(
            to: UnsafeMutablePointer<AVChapter>.self, capacity: Int(context.pointee.nb_chapters)
        ) { UnsafeBufferPointer(start: $0, count: Int(context.pointee.nb_chapters)) }
    }

    func metadata(_ key: String) -> String? { context.flatMap { Self.value(of: key, in: $0.pointee.metadata) } }

    static func value(of key: String, in dictionary: OpaquePointer?) -> String? {
        guard let entry = av_dict_get(dictionary, key, nil, 0), let value = entry.pointee.value else { return nil }
        let text = String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// Whether any byte position can be read: a local file, or a server with range requests.
    var hasRandomAccess: Bool {
        guard let input = context?.pointee.pb else { return false }
        return input.pointee.seekable & AVIO_SEEKABLE_NORMAL != 0
    }

    /// Whether the demuxer opens further inputs (HLS, DASH); byte positions are then known only to the demuxer.
    var managesOwnInputs: Bool {
        guard let context else { return true }
        return context.pointee.pb == nil || formatName.hasPrefix("hls")
    }

    /// A playlist itself has random access, which is irrelevant for its segments.
    var canSeek: Bool { managesOwnInputs ? duration != nil || film.isReopened : hasRandomAccess }

    /// Whether the input is HLS with MP4 segments.
    ///
    /// Their streams have sample entries as names (ISO 14496-12, 8.5.2); those of transport streams have numbers of one
    /// byte. FFmpeg 5.1 loses its position when it seeks in such an input, even to the start: it reads to the end and
    /// returns no packet. The playlists are reopened instead (`openPlaylists`).
    var isOfMP4Pieces: Bool {
        formatName.hasPrefix("hls") && streams.contains { $0.pointee.codecpar.pointee.codec_tag > 0xFFFF }
    }

    // MARK: Reading

    /// Makes the demuxer discard all streams that are not wanted; streams are identified by their number in the film.
    func discardExcept(_ isWanted: (Int32) -> Bool) {
        for stream in streams {
            let isKept = isWanted(film.number(of: stream.pointee.index))
            stream.pointee.discard = isKept ? AVDISCARD_DEFAULT : AVDISCARD_ALL
        }
    }

    /// Returns the next packet of any stream that is not discarded; nil at the end. The context owns the packet, which
    /// is valid until the next call.
    func nextPacket() throws(MediaError) -> UnsafeMutablePointer<AVPacket>? {
        isFresh = false
        guard let known = primed.removeFirst(into: packet) else { return try readPacket() }
        shift = known
        return packet
    }

    /// Continues reading after an interruption by a cancellation, which another one replaces.
    func resume(observing fresh: Cancellation, insteadOf old: Cancellation) {
        waiting.replace(old, with: fresh)
        gaps?.resume()
        forgetInterruption()
    }

    /// Makes the packet last read the next one.
    func putBack(_ packet: UnsafeMutablePointer<AVPacket>) {
        primed.insert(packet, shift: shift, atStart: true)
    }

    private func readPacket() throws(MediaError) -> UnsafeMutablePointer<AVPacket>? {
        guard let gaps else {
            guard let packet = try readFromInput() else { return nil }
            shift = follower?.shift(of: packet) ?? .zero
            return packet
        }
        guard let known = try gaps.read(into: packet, from: readFromInput) else { return nil }
        shift = known
        return packet
    }

    private func readFromInput() throws(MediaError) -> UnsafeMutablePointer<AVPacket>? {
        guard let context else { throw ReadingErrors.reading(cff_error_invalid_data, address, waiting) }
        if address.kind == .network { waiting.allow(options.readTimeout) }
        while true {
            av_packet_unref(packet)
            let code = av_read_frame(context, packet)
            // libavformat's HLS demuxer skips segments that cannot be opened or that break off without an error.
            if let distrust { throw distrust }
            recordLostSegments()
            if code >= 0 {
                consecutiveFailures = 0
                gate?.isJumping = false
                let index = Int(packet.pointee.stream_index)
                if streams.indices.contains(index) { Self.bound(packet, of: streams[index]) }
                recordOtherRate(packet)
                film.number(packet)
                return packet
            }
            if waiting.isCancelled || waiting.isPastDeadline || code == cff_error_exit {
                throw ReadingErrors.reading(code, address, waiting)
            }
            if code == cff_error_eof {
                // End of the film or a broken connection: only the latter sets an error.
                if let input = context.pointee.pb, input.pointee.error < 0, input.pointee.error != cff_error_eof {
                    throw ReadingErrors.reading(input.pointee.error, address, waiting)
                }
                guard !isPriming, try openNextInitSection() else { return nil }
                return try readFromInput()
            }
            consecutiveFailures += 1
            if code == cff_error_invalid_data { decodeErrorCount += 1 }
            let isRecoverable = code == cff_error_invalid_data || code == cff_error_again
            guard isRecoverable, consecutiveFailures <= 64 else {
                throw length?.isIndexLast(streams) == true
                    ? ReadingErrors.indexIsLast(address) : ReadingErrors.reading(code, address, waiting)
            }
        }
    }

    /// Returns the last bytes of the input, whose position stays; empty if they cannot be read.
    func lastBytes(_ count: Int) -> [UInt8] { byteCount.map { bytes(count, before: $0) } ?? [] }

    /// Returns the bytes before a position, as far as there are any.
    private func bytes(_ count: Int, before end: Int64) -> [UInt8] {
        guard hasRandomAccess, end > 0, let input = context?.pointee.pb else { return [] }
        let (position, start) = (avio_seek(input, 0, SEEK_CUR), max(0, end - Int64(count)))
        guard position >= 0, avio_seek(input, start, SEEK_SET) >= 0 else { return [] }
        defer { avio_seek(input, position, SEEK_SET) }
        let wanted = Int32(clamping: end - start)
        return [UInt8](unsafeUninitializedCapacity: Int(wanted)) { buffer, read in
            read = max(0, Int(avio_read(input, buffer.baseAddress, wanted)))
        }
    }

    private func recordLostSegments() {
        guard let lost = gate?.consumeLostSegments(), !lost.isEmpty, managesOwnInputs else { return }
        for segment in lost {
            follower?.expectHole(of: segment.duration ?? .zero)
            lostSegments.append(segment)
        }
    }

    /// Notes a link of a chained Ogg file whose sample rate is not that of the first one, by which libavformat computes
    /// times (FFmpeg 5.1). It reports the comments of each link, but not its rate.
    private func recordOtherRate(_ packet: UnsafeMutablePointer<AVPacket>) {
        var size = 0
        guard packet.pointee.side_data_elems > 0, formatName == "ogg", change == nil,
            av_packet_get_side_data(packet, AV_PKT_DATA_METADATA_UPDATE, &size) != nil,
            let stream = streams.first(where: { $0.pointee.index == packet.pointee.stream_index }),
            let position = packet.pointee.pos.boundedTicks,
            let rate = OggPages.vorbisRate(in: bytes(OggPages.searched, before: position))
        else { return }
        let first = Int(stream.pointee.codecpar.pointee.sample_rate)
        guard rate != first else { return }
        change = MediaError(
            .unsupportedChange,
            "its sample rate becomes \(rate) Hz instead of \(first) Hz, which changes speed and pitch; split the file into "
                + "its songs")
    }

    /// Returns the error of segments of active streams skipped since the last call; nil if there are none.
    func consumeLostSegment() -> MediaError? {
        if let change, !isChangeReported {
            isChangeReported = true
            return change
        }
        guard !lostSegments.isEmpty else { return nil }
        defer { lostSegments.removeAll() }
        return lostSegments.first { isRead($0.playlist) }.map { ReadingErrors.segment($0.code, at: $0.address) }
    }

    /// Whether a stream of a playlist is read; true if the playlist is unknown.
    private func isRead(_ playlist: String?) -> Bool {
        guard let playlist, let gate, !film.isReopened else { return true }
        let own = streams.filter { gate.playlists.address(of: $0.pointee.id) == playlist }
        return own.isEmpty || own.contains { $0.pointee.discard != AVDISCARD_ALL }
    }

    /// Removes timestamps, durations and positions beyond `InputLimit` from a packet, so that later differences fit
    /// into 64 bits.
    ///
    /// A presentation time hours from the decode time (`ctts` of MP4) is also removed. Audio has no reordering.
    static func bound(_ packet: UnsafeMutablePointer<AVPacket>, of stream: UnsafeMutablePointer<AVStream>) {
        packet.pointee.pts = packet.pointee.pts.boundedTicks ?? cff_nopts_value
        packet.pointee.dts = packet.pointee.dts.boundedTicks ?? cff_nopts_value
        packet.pointee.duration = max(0, packet.pointee.duration.boundedTicks ?? 0)
        packet.pointee.pos = packet.pointee.pos.boundedBytes ?? -1
        let (pts, dts, base) = (packet.pointee.pts, packet.pointee.dts, stream.pointee.time_base)
        guard pts != cff_nopts_value, dts != cff_nopts_value else { return }
        let isAudio = stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO
        let distance = MediaTime(boundedTicks: pts - dts, numerator: base.num, timescale: base.den)
        if (distance?.seconds.magnitude ?? .infinity) > Double(isAudio ? 10 : InputLimit.maxTick) {
            packet.pointee.pts = isAudio ? dts : cff_nopts_value
        }
    }

    /// Reads ahead without consuming, until `body` returns true, 500 packets or 8 MiB were read, or the input ends. A
    /// stream without a packet by then hardly starts with the film.
    func prime(_ body: (UnsafeMutablePointer<AVPacket>) -> Bool) throws(MediaError) {
        // The streams that the caller inspects are freed where the next part of a playlist is opened.
        isPriming = true
        defer { isPriming = false }
        var bytes = 0
        while primed.count < 500, bytes < 8 << 20 {
            guard let read = try readPacket(), let kept = primed.insert(read, shift: shift) else { return }
            bytes += Int(kept.pointee.size)
            if body(kept) { return }
        }
    }

    /// Seeks to a raw timestamp of one stream, or before it if the container allows.
    ///
    /// - Parameters:
    ///   - time: The film time of the timestamp.
    ///   - start: The film time at which the stream begins.
    func seek(
        stream index: Int32, to raw: Int64, at time: MediaTime, streamStart start: MediaTime = .zero, flags: Int32
    ) throws(MediaError) {
        guard !film.isReopened, !isOfMP4Pieces else {
            // Every playback begins with a seek to its start.
            if isFresh, time <= start, !film.isReopened || isAtFirstPiece { return isAtFirstPiece = true }
            try openPlaylists(from: time, streamStart: start, within: options.readTimeout)
            return isFresh = true
        }
        if follower != nil, !managesOwnInputs, hasRandomAccess, time <= start {
            // Every playback begins with a seek to its start. A search for a timestamp needs monotonic ones.
            return isFresh ? () : try seek(toByte: 0, at: time)
        }
        try jump { context in
            if let (other, timestamp) = indexed(instead: index, raw),
                av_seek_frame(context, other, timestamp, flags) >= 0
            {
                return 0
            }
            return av_seek_frame(context, index, raw, flags)
        }
        follower?.jumped(near: bytePosition, expecting: time)
        gaps?.landed(expecting: time)
    }

    /// Returns the video stream of a Matroska file and a timestamp in its time base; nil for video and other
    /// containers.
    ///
    /// Cues usually index video only. For a track without cues, libavformat reads the file from its position to the
    /// target, which over a network takes as long as the film between them.
    private func indexed(
        instead index: Int32, _ raw: Int64
    ) -> (stream: Int32, timestamp: Int64)? {
        guard formatName.hasPrefix("matroska"), streams.indices.contains(Int(index)),
            streams[Int(index)].pointee.codecpar.pointee.codec_type != AVMEDIA_TYPE_VIDEO,
            let video = streams.firstIndex(where: {
                $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO
                    && $0.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
            })
        else { return nil }
        let (base, own) = (streams[video].pointee.time_base, streams[Int(index)].pointee.time_base)
        return (Int32(video), av_rescale_q(raw, own, base))
    }

    /// Follows timestamp discontinuities of these streams, after the packets read ahead to find the start times.
    /// Detects gaps instead where the container has no discontinuities, also in those packets.
    func setDiscontinuities(
        of streams: [UnsafeMutablePointer<AVStream>], _ jumps: TimestampDiscontinuities, origin: FilmOrigin,
        duration: MediaTime?
    ) {
        // For joined recordings libavformat states the length of one.
        let length = stampsMayJump && !managesOwnInputs ? nil : duration
        let pauses = PauseLimit(maxGap: options.maxGap, duration: length)
        if stampsMayJump {
            follower = JumpFollower(
                jumps, streams: streams, of: film, origin: origin, pauses: pauses, hasPositions: !managesOwnInputs)
            for packet in primed.packets { follower?.record(packet) }
        } else if let reach = reachAcrossGaps {
            gaps = GapReader(
                GapFollower(jumps, streams: streams, origin: origin, pauses: pauses, reach: reach), primed, of: address)
        }
    }

    /// Whether the input may have discontinuities by which no position was found yet.
    func mayJump(_ jumps: TimestampDiscontinuities) -> Bool {
        follower != nil && !managesOwnInputs && jumps.count <= 1 && byteCount != nil
    }

    /// The present parameters of a packet's stream, which may change in a transport stream or a playlist; nil for
    /// others.
    func parameters(of packet: UnsafeMutablePointer<AVPacket>) -> UnsafeMutablePointer<AVCodecParameters>? {
        guard follower != nil else { return nil }
        return streams.first { film.number(of: $0.pointee.index) == packet.pointee.stream_index }?.pointee.codecpar
    }

    /// Whether other streams than the one that is read are needed, to distinguish a discontinuity from a gap.
    var needsOtherStreams: Bool { follower != nil || gaps?.reach == .packets }

    /// Returns the timestamp offset at a film time.
    func shift(at time: MediaTime) -> MediaTime { gaps?.shift(at: time) ?? .zero }

    /// Seeks to a byte position; `time` is the film time expected there.
    func seek(toByte position: Int64, at time: MediaTime) throws(MediaError) {
        try jump { context in av_seek_frame(context, -1, position, AVSEEK_FLAG_BYTE) }
        follower?.jumped(near: position, expecting: time)
    }

    private func jump(_ body: (UnsafeMutablePointer<AVFormatContext>) -> Int32) throws(MediaError) {
        guard let context else { return }
        forgetPrimed()
        lostSegments.removeAll()
        consecutiveFailures = 0
        if address.kind == .network { waiting.allow(options.readTimeout) }
        gate?.isJumping = true
        let code = body(context)
        if code < 0 { throw distrust ?? ReadingErrors.reading(code, address, waiting) }
    }

    private func forgetPrimed() {
        primed.removeAll()
        gaps?.removeAll()
    }

    /// Returns an error if the end reached is not the end of the film: the header refers to bytes that are missing. Nil
    /// if nothing is known to be missing.
    func shortfall() -> MediaError? {
        guard let size = byteCount, !managesOwnInputs else { return nil }
        return length?.shortfall(streams, size: size)
    }

    /// The approximate byte position of reading.
    private var bytePosition: Int64 { context?.pointee.pb.map { avio_seek($0, 0, SEEK_CUR) } ?? 0 }

    /// The size of the input in bytes; nil if unknown.
    var byteCount: Int64? {
        guard let input = context?.pointee.pb else { return nil }
        let size = avio_size(input)
        return size > 0 ? size : nil
    }

    /// Whether the duration is from the header, not derived from timestamps or the bit rate.
    var statesDuration: Bool {
        guard let context, duration != nil || statedDuration != nil else { return false }
        if managesOwnInputs { return statedDuration != nil || gate?.playlists.stateDuration ?? false }
        if headerSaysEverything { return true }
        return context.pointee.duration_estimation_method == AVFMT_DURATION_FROM_STREAM
    }

    /// Whether the container allows timestamp discontinuities: joined or restarted transport streams.
    private var stampsMayJump: Bool {
        guard let format = context?.pointee.iformat else { return false }
        return format.pointee.flags & AVFMT_TS_DISCONT != 0
    }

    /// How other tracks are checked at a timestamp gap; nil if `JumpFollower` handles the input.
    private var reachAcrossGaps: GapFollower.Reach? {
        if stampsMayJump || managesOwnInputs { return nil }
        // These demuxers read all packets, regardless of discarded streams.
        let sequential = ["matroska", "flv", "asf", "ogg", "nut"]
        return sequential.contains { formatName.hasPrefix($0) } ? .packets : .index
    }
}
