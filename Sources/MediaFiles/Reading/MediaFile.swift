internal import CFFmpeg
public import MediaCore

/// An opened film in a file or on the network.
///
/// Opening fixes the origin of the timeline: film time 0 is the earliest first sample of any track. All readers use
/// this origin, so separate readers for audio and video agree. Methods may be called from any thread.
public final class MediaFile: MediaSource {
    /// The protocols of network addresses that are opened.
    package static var networkSchemes: Set<String> { InputAddress.networkSchemes }

    /// The tracks, duration, tags and properties of the film.
    public let summary: MediaSummary
    /// One sentence for each track that cannot be played.
    public let warnings: [String]
    /// The warnings about covers.
    let coverWarnings: [String]

    private let address: InputAddress
    private let options: ReadOptions
    private let requestBuilder: HTTPRequestBuilder
    /// The start of film time in the input's own timestamps.
    package var origin: MediaTime { origins.common }
    private let origins: FilmOrigin
    /// The container's names in libavformat, so that further readers skip probing.
    private let formatName: String
    private let streamIDs: [Int: Int32]
    private let jumps = TimestampDiscontinuities()
    /// Whether audio and video are separate playlists, each readable like a file.
    private let hasSeparatePlaylists: Bool
    /// The streams of playlists that are reopened for a seek.
    private let playlistStreams: FilmStreams?
    private let cancellation: Cancellation
    /// The probed input, until a reader takes it over.
    private let probed: Lock<DemuxContext?>
    /// Attached pictures by stream, read with the header.
    private let covers: [Int: PacketBatch]
    /// The single input of all tracks, if no second one can be opened.
    private let shared: Lock<SharedDemuxer?>

    /// Opens a film. Blocks until its tracks and their start times are known.
    ///
    /// - Parameters:
    ///   - url: A path, `-` for standard input, a `file:` URL, or an address with one of the network schemes. A cue
    ///     sheet opens its single file, with the sheet's tracks as chapters.
    ///   - cancellation: Cancels opening, and later every reader of this film.
    /// - Throws: `cannotOpen`, `notPermitted`, `notMedia`, `unsupported`, `limitExceeded`, `timedOut`, `cancelled`,
    ///   `untrusted`, `readFailed` or `exhausted`. Nothing stays open after a failure.
    public static func open(
        _ url: String, options: ReadOptions = ReadOptions(), cancellation: Cancellation = Cancellation()
    ) throws(MediaError) -> MediaFile {
        LibrarySettings.once
        var options = options
        var address = try InputAddress(url)
        var sheet: CueSheet?
        if address.kind == .file, CueSheet.isNamed(address.path) {
            let read = try CueSheet(reading: address.path)
            guard read.files.count == 1 else {
                throw MediaError(
                    .unsupported,
                    "the cue sheet \"\(address.text)\" refers to \(read.files.count) files; open them as a playlist")
            }
            address = try InputAddress(CueSheet.locate(read.files[0], beside: address.path))
            sheet = read
            options.opensRegularFilesOnly = true
        }
        // libavformat verifies no certificate of RTSP servers (`tls_verify` does not reach them as of FFmpeg 5.1).
        if options.trust.verifies, address.url.lowercased().hasPrefix("rtsps:") {
            throw MediaError(
                .untrusted,
                "the server of \"\(address.text)\" cannot be authenticated; use an https address")
        }
        let requestBuilder = HTTPRequestBuilder(address.url, options)
        let context = try DemuxContext(
            address, options: options, requestBuilder: requestBuilder, cancellations: [cancellation])
        requestBuilder.playlists.close()
        return try MediaFile(
            context, address: address, sheet: sheet, options: options, requestBuilder: requestBuilder,
            cancellation: cancellation)
    }

    private init(
        _ context: DemuxContext, address: InputAddress, sheet: CueSheet?, options: ReadOptions,
        requestBuilder: HTTPRequestBuilder,
        cancellation: Cancellation
    ) throws(MediaError) {
        self.address = address
        self.requestBuilder = requestBuilder
        self.options = options
        self.cancellation = cancellation
        formatName = context.formatName

        let inspection = TrackInspection(context)
        guard !inspection.playable.isEmpty else { throw Self.nothingToPlay(address, inspection) }
        warnings = inspection.problems + inspection.subtitles.problems
        coverWarnings = inspection.coverProblems
        covers = Dictionary(
            inspection.playable.compactMap { stream in
                let attachment = stream.pointee.attached_pic
                guard stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0, attachment.size > 0,
                    let data = attachment.data
                else { return nil }
                let bytes = UnsafeRawBufferPointer(start: data, count: Int(attachment.size))
                return (Int(stream.pointee.index), ImageReader.batch(bytes, for: .zero))
            }, uniquingKeysWith: { first, _ in first })
        var starts = try inspection.findStarts(in: context)
        // Inputs further apart do not share a time origin.
        if let given = options.origin, abs((given - starts.origin.common).seconds) < 10 {
            starts.origin.common = given
        }
        // Edit lists of MP4 state the start of a track (ISO 14496-12, 8.6.6).
        if !formatName.hasPrefix("mov,") { inspection.separateOrigins(in: &starts) }
        origins = starts.origin
        streamIDs = Dictionary(
            uniqueKeysWithValues: (inspection.playable + inspection.subtitles.streams).map {
                (Int($0.pointee.index), $0.pointee.id)
            })

        let tracks = inspection.tracks(starts: starts, of: context, options.hlsBitrate)
        let duration = context.statedDuration ?? inspection.duration(of: context, tracks: tracks)
        hasSeparatePlaylists = duration != nil && Self.hasSeparatePlaylists(context, tracks)
        if context.isOfMP4Pieces { context.film.store(context.streams) }
        playlistStreams = hasSeparatePlaylists && context.isOfMP4Pieces ? context.film : nil
        let sharesReader =
            address.kind == .pipe || (!hasSeparatePlaylists && (context.managesOwnInputs || !context.hasRandomAccess))
        // A server without range requests that states the length sends the film again.
        let canReopen =
            sharesReader && address.kind == .network && !context.managesOwnInputs && context.byteCount != nil
        let tags = TagReading(context)
        var summary = MediaSummary(
            container: context.isDASH ? "dash" : Self.shortName(of: formatName), tracks: tracks, duration: duration,
            title: tags.title,
            isSeekable: context.canSeek || canReopen,
            sharesReader: sharesReader, isLive: address.kind != .file && duration == nil,
            chapters: ChapterReading.chapters(of: context, origin: starts.origin.common))
        summary.isDurationStated = duration != nil && context.statesDuration
        (summary.artist, summary.album) = (tags.artist, tags.album)
        (summary.genre, summary.trackNumber) = (tags.genre, tags.trackNumber)
        summary.hasUnreadSubtitles = context.hasUnreadSubtitles
        if let sheet {
            summary.chapters = sheet.files[0].tracks.sorted { $0.start < $1.start }
            summary.title = sheet.title ?? summary.title
            (summary.artist, summary.album) = (sheet.performer ?? summary.artist, sheet.title ?? summary.album)
        }
        summary.interstitials = context.interstitials(
            of: tracks.first { $0.kind == .video && $0.isDefault } ?? tracks.first)
        self.summary = summary
        if !context.managesOwnInputs {
            requestBuilder.readAhead.setRate(byteCount: context.byteCount, duration: duration)
        }
        if sharesReader {
            let demuxer = SharedDemuxer(
                context, tracks: tracks, origin: origins, jumps: jumps, options: options,
                reopening: canReopen
                    ? Self.reopening(
                        address, options: options, requestBuilder: requestBuilder, cancellation: cancellation,
                        tracks: tracks, streamIDs: streamIDs, formatName: formatName, origin: origins, jumps: jumps,
                        duration: duration)
                    : nil)
            (probed, shared) = (Lock(nil), Lock(demuxer))
        } else {
            (probed, shared) = (Lock(context), Lock(nil))
        }
        configure(context)
    }

    /// Same as `reader(for:)`.
    public func source(for track: Track) throws(MediaError) -> any SampleSource { try reader(for: track) }

    /// Starts reading a track from the start of the film. The first reader takes over the probed input. Each further
    /// reader opens the film again, which may block.
    ///
    /// - Throws: `unsupported` for a track of another film, `readFailed` if the track no longer exists, and the errors
    ///   of `open`.
    public func reader(for track: Track) throws(MediaError) -> any SampleSource {
        guard summary.tracks.contains(where: { ($0.id, $0.kind) == (track.id, track.kind) }) else {
            throw MediaError(.unsupported, "the track is of another film; choose one of this film's tracks")
        }
        jumps.select(Int32(clamping: track.id))
        defer { if track.kind == .audio || track.kind == .video { requestBuilder.startReadingAhead() } }
        if track.isCoverArt, let cover = covers[track.id] { return ImageReader(track: track, cover) }
        if let demuxer = shared.withLock({ $0 }) { return try demuxer.source(for: track) }
        if track.kind == .subtitle { return try subtitleReader(for: track) }
        let own = Cancellation()
        if let context = probed.withLock({ $0.take() }), let stream = stream(for: track, in: context) {
            context.waiting.add(own)
            if hasSeparatePlaylists { configure(context, only: track) }
            if playlistStreams != nil { context.film.choose(Int32(clamping: track.id)) }
            return TrackReader(
                track: track, context: context, stream: stream, origin: origins[Int32(clamping: track.id)],
                jumps: jumps,
                cancellation: own, options: options)
        }
        let (context, stream) = try openAgain(for: track, own)
        let reader = TrackReader(
            track: track, context: context, stream: stream, origin: origins[Int32(clamping: track.id)], jumps: jumps,
            cancellation: own, options: options)
        try reader.settleEpoch()
        return reader
    }

    private func openAgain(
        for track: Track, _ own: Cancellation
    ) throws(MediaError) -> (DemuxContext, UnsafeMutablePointer<AVStream>) {
        let context = try DemuxContext(
            address, options: options, requestBuilder: requestBuilder, cancellations: [cancellation, own],
            format: formatName.split(separator: ",").first.map(String.init),
            film: playlistStreams?.choosing(Int32(clamping: track.id)))
        guard let stream = stream(for: track, in: context) else {
            throw MediaError(
                .readFailed, "\"\(address.text)\" no longer has track \(track.id); it changed while it was being read")
        }
        configure(context, only: hasSeparatePlaylists ? track : nil)
        return (context, stream)
    }

    private func subtitleReader(for track: Track) throws(MediaError) -> SubtitleReader {
        let own = Cancellation()
        let (context, stream) = try openAgain(for: track, own)
        let companions = summary.tracks.filter { $0.kind != .subtitle }.compactMap { track in
            self.stream(for: track, in: context).map { SubtitleReader.Companion(track: track, stream: $0) }
        }
        let reader = SubtitleReader(
            track: track, context: context, stream: stream, companions: companions, origin: origins, jumps: jumps,
            cancellation: own, options: options)
        try reader.settleEpoch()
        return reader
    }

    /// The server that has stopped responding, if any. Any thread.
    public var lostServer: String? { requestBuilder.lostServer }

    /// How much of the film was read ahead of its readers; nil unless a server sends it. Any thread.
    public var readAhead: ReadAheadProgress? { requestBuilder.progress }

    /// The largest sum of gaps that a reader has closed in one track. Any thread.
    public var closedGaps: MediaTime { jumps.closed }

    /// Cancels opening and all readers of this film. Any thread; returns at once.
    public func cancel() { cancellation.cancel() }

    /// Returns a closure that reopens the film for its shared reader.
    private static func reopening(
        _ address: InputAddress, options: ReadOptions, requestBuilder: HTTPRequestBuilder,
        cancellation: Cancellation, tracks: [Track], streamIDs ids: [Int: Int32], formatName: String,
        origin: FilmOrigin, jumps: TimestampDiscontinuities, duration: MediaTime?
    ) -> SharedDemuxer.Reopening {
        let format = formatName.split(separator: ",").first.map(String.init)
        return { () throws(MediaError) in
            let context = try DemuxContext(
                address, options: options, requestBuilder: requestBuilder, cancellations: [cancellation], format: format
            )
            var streams: [UnsafeMutablePointer<AVStream>] = []
            for track in tracks {
                guard let stream = stream(for: track, in: context, ids) else {
                    throw MediaError(
                        .readFailed,
                        "\"\(address.text)\" no longer has track \(track.id); it changed while it was being read")
                }
                streams.append(stream)
            }
            context.setDiscontinuities(of: streams, jumps, origin: origin, duration: duration)
            return (context, streams)
        }
    }

    /// Makes a context follow timestamp discontinuities or gaps.
    ///
    /// - Parameter track: The track that is read, if the packets of others would be fetched for this purpose alone.
    private func configure(_ context: DemuxContext, only track: Track? = nil) {
        let tracks = track.map { [$0] } ?? summary.tracks.filter { !$0.isCoverArt }
        let streams = tracks.compactMap { stream(for: $0, in: context) }
        context.setDiscontinuities(of: streams, jumps, origin: origins, duration: summary.duration)
        guard context.needsOtherStreams, !summary.sharesReader else { return }
        let numbers = Set(streams.map { context.film.number(of: $0.pointee.index) })
        context.discardExcept { numbers.contains($0) }
    }

    /// Whether audio and video are in separate playlists: libavformat's HLS sets `AVStream.id` to the playlist's
    /// number.
    private static func hasSeparatePlaylists(_ context: DemuxContext, _ tracks: [Track]) -> Bool {
        guard context.formatName.hasPrefix("hls") else { return false }
        func lists(_ kind: Track.Kind) -> Set<Int32> {
            Set(tracks.filter { $0.kind == kind }.map { context.streams[$0.id].pointee.id })
        }
        let (sound, pictures) = (lists(.audio), lists(.video))
        return !sound.isEmpty && !pictures.isEmpty && sound.isDisjoint(with: pictures)
    }

    private func stream(for track: Track, in context: DemuxContext) -> UnsafeMutablePointer<AVStream>? {
        Self.stream(for: track, in: context, streamIDs)
    }

    private static func stream(
        for track: Track, in context: DemuxContext, _ streamIDs: [Int: Int32]
    ) -> UnsafeMutablePointer<AVStream>? {
        let wanted: AVMediaType =
            switch track.kind {
            case .audio: AVMEDIA_TYPE_AUDIO
            case .video: AVMEDIA_TYPE_VIDEO
            case .subtitle: AVMEDIA_TYPE_SUBTITLE
            }
        let streams = context.streams
        if context.film.isReopened {
            return streams.first { context.film.number(of: $0.pointee.index) == Int32(clamping: track.id) }
        }
        if track.id >= 0, track.id < streams.count, streams[track.id].pointee.codecpar.pointee.codec_type == wanted,
            streams[track.id].pointee.id == streamIDs[track.id]
        {
            return streams[track.id]
        }
        // Transport streams number their streams in order of appearance; the identifier stays the same.
        return streams.first {
            $0.pointee.id == streamIDs[track.id] && $0.pointee.codecpar.pointee.codec_type == wanted
        }
    }

    private static func shortName(of names: String) -> String {
        let first = names.split(separator: ",").first.map(String.init) ?? ""
        return first == "mov" ? "mp4" : first
    }

    private static func nothingToPlay(_ address: InputAddress, _ inspection: TrackInspection) -> MediaError {
        let name = "\"\(address.text)\""
        guard let problem = inspection.problems.first, let code = inspection.firstCode else {
            return MediaError(.notMedia, "\(name) contains neither audio nor video; try another file")
        }
        return MediaError(code, "cannot play \(name): \(problem); try another file")
    }
}

/// Process-wide settings of the FFmpeg libraries.
enum LibrarySettings {
    /// The maximum size of one allocation in bytes. A frame of 8192 × 8192 in 4:2:0 at 10 bits has 192 MiB, the index
    /// of a ten-hour film far less. A damaged file of 6 kB requested three allocations of 1 GB each.
    private static let largestAllocation = 256 << 20

    static let once: Void = {
        // Replaces the log output on standard error; the reason of a refused certificate is only logged.
        TLSFailureRecorder.install()
        av_max_alloc(largestAllocation)
    }()
}
