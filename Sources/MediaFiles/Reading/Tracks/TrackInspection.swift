internal import CFFmpeg
internal import MediaCore

/// Finds the playable streams of an opened input and their start times.
struct TrackInspection {
    /// The playable streams in the container's order.
    private(set) var playable: [UnsafeMutablePointer<AVStream>] = []
    /// One sentence for each audio or video stream that is not playable.
    private(set) var problems: [String] = []
    /// The problems that concern covers.
    private(set) var coverProblems: [String] = []
    /// The code of the first problem.
    private(set) var firstCode: MediaError.Code?
    let subtitles: SubtitleInspection

    init(_ context: DemuxContext) {
        subtitles = SubtitleInspection(context)
        if context.hasSelfDescribingAudio { Self.assumeAudio(in: context) }
        // Without another track there is nothing that it supplements, whatever the stream states.
        let audio = context.streams.filter { $0.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_AUDIO }
        let supplements = context.formatName == "mpegts" ? audio.filter(Self.isDependent) : []
        func isSupplement(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
            supplements.count < audio.count && supplements.contains(stream)
        }
        for stream in context.streams {
            guard let parameters = stream.pointee.codecpar else { continue }
            let type = parameters.pointee.codec_type
            guard type == AVMEDIA_TYPE_AUDIO || type == AVMEDIA_TYPE_VIDEO else { continue }
            if let problem = context.rejected.problem(of: stream.pointee.index)
                ?? FormatReading.problem(with: parameters)
                ?? FormatReading.problem(
                    withTimeBase: stream.pointee.time_base)
                ?? (context.formatName == "caf" ? FormatReading.problem(withPacketsOf: parameters) : nil)
                ?? (isSupplement(stream) ? Self.supplement : nil)
            {
                problems.append("track \(stream.pointee.index + 1) \(problem.text)")
                if isStill(stream) {
                    coverProblems.append("the cover (\(problems[problems.count - 1])) is not shown; the sound plays")
                }
                firstCode = firstCode ?? problem.code
            } else {
                playable.append(stream)
            }
        }
    }

    /// Whether audio is only a supplement, to be mixed with another track by the receiver, such as an audio description
    /// without the film's sound (ETSI EN 300 468, 6.4.11: mix_type 0).
    private static func isDependent(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        stream.pointee.disposition & AV_DISPOSITION_DEPENDENT != 0
    }

    private static let supplement = FormatReading.Problem(
        code: .unsupported, text: "has to be mixed with another sound track, which is not supported")

    /// Assumes a format for audio that has not begun while it was probed, if there is no other: the packets state it.
    private static func assumeAudio(in context: DemuxContext) {
        let audio = context.streams.filter { $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO }
        guard audio.allSatisfy({ $0.pointee.codecpar.pointee.sample_rate <= 0 }) else { return }
        for stream in audio where stream.pointee.codecpar.pointee.codec_id != AV_CODEC_ID_NONE {
            stream.pointee.codecpar.pointee.sample_rate = 48_000
            av_channel_layout_default(&stream.pointee.codecpar.pointee.ch_layout, 2)
        }
    }

    /// The start of each stream in its own timestamps, and the earliest of them.
    struct Starts {
        var byStream: [Int32: MediaTime] = [:]
        var origin = FilmOrigin(common: .zero)

        /// Returns the start of a stream relative to the film's; nil if unknown.
        func start(of stream: Int32) -> MediaTime? { byStream[stream].flatMap { ($0 - origin[stream]).bounded } }
    }

    /// Assigns a separate origin to each stream that starts too long after the others: the first packets of a film
    /// belong to the same time.
    func separateOrigins(in starts: inout Starts) {
        for stream in playable {
            guard let start = starts.byStream[stream.pointee.index] else { continue }
            // With wrapping timestamps, the later one may be the smaller.
            let clock = TrackClock(stream: stream, origin: starts.origin.common)
            let delay = clock.unwrapped(clock.raw(start - starts.origin.common)).flatMap { clock.filmTime($0) }
            if let delay, delay > PauseLimit.longestSilentStill { starts.origin.own[stream.pointee.index] = start }
        }
    }

    /// Reads the first packet of every playable stream. Blocks.
    func findStarts(in context: DemuxContext) throws(MediaError) -> Starts {
        var starts = Starts()
        var missing = Set(playable.filter { !isStill($0) }.map { $0.pointee.index })
        // Subtitle packets read here are returned later. Playlist inputs would fetch every language.
        let kept = playable + (context.managesOwnInputs ? [] : subtitles.streams)
        context.discardExcept { number in kept.contains { $0.pointee.index == number } }
        if missing.isEmpty { return starts }
        try context.prime { packet in
            let index = packet.pointee.stream_index
            guard missing.contains(index), packet.pointee.flags & AV_PKT_FLAG_DISCARD == 0,
                let stream = playable.first(where: { $0.pointee.index == index }),
                let start = Self.start(of: packet, in: stream)
            else { return missing.isEmpty }
            starts.byStream[index] = start
            missing.remove(index)
            return missing.isEmpty
        }
        if let earliest = starts.byStream.values.min() {
            // Containers with millisecond timestamps place a trimmed start slightly before zero.
            let nearZero =
                earliest < MediaTime(value: 2, timescale: 1000) && earliest > MediaTime(value: -2, timescale: 1000)
            starts.origin.common = nearZero ? .zero : earliest
        }
        return starts
    }

    private static func start(
        of packet: UnsafeMutablePointer<AVPacket>, in stream: UnsafeMutablePointer<AVStream>
    ) -> MediaTime? {
        let raw = packet.pointee.pts != cff_nopts_value ? packet.pointee.pts : packet.pointee.dts
        let clock = TrackClock(stream: stream, origin: .zero)
        guard let own = clock.ownTime(raw) else { return nil }
        let rate = stream.pointee.codecpar.pointee.sample_rate
        let skipped = PacketBatcher.trims(of: packet).start
        let heard = own + MediaTime(value: Int64(rate > 0 ? skipped : 0), timescale: max(1, rate))
        // Some codecs need a packet before the first output (Vorbis I, 4.3.8); the container's start accounts for it.
        let stated = stream.pointee.start_time
        if rate > 0, let stated = clock.ownTime(stated) { return max(heard, stated) }
        return heard
    }

    private func isStill(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        stream.pointee.disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS) != 0
    }

    /// Whether a stream is a still picture that accompanies audio.
    private func isCoverArt(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        if isStill(stream) { return true }
        let hasAudio = playable.contains { $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO }
        let imageCodecs = [AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG, AV_CODEC_ID_BMP, AV_CODEC_ID_GIF, AV_CODEC_ID_WEBP]
        return hasAudio && stream.pointee.nb_frames == 1
            && imageCodecs.contains(stream.pointee.codecpar.pointee.codec_id)
    }

    /// Returns the image header of an attached picture.
    private static func cover(of stream: UnsafeMutablePointer<AVStream>) -> ImageHeader? {
        let attachment = stream.pointee.attached_pic
        guard stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0, attachment.size > 0,
            let data = attachment.data
        else { return nil }
        return ImageHeader(UnsafeRawBufferPointer(start: data, count: Int(attachment.size)))
    }

    /// Returns the duration of a stream in ticks. FFmpeg 5.1 states the end of the last fragment of an MP4 without
    /// samples in its index, also if a recording of a live stream begins hours later than zero.
    private func fragmentsDuration(
        of stream: UnsafeMutablePointer<AVStream>, in context: DemuxContext, _ starts: Starts
    ) -> Int64 {
        let stated = stream.pointee.duration
        guard context.formatName.hasPrefix("mov,"), stream.pointee.nb_frames == 0, stated > 0,
            let start = starts.byStream[stream.pointee.index]
        else { return stated }
        let ticks = TrackClock(stream: stream, origin: .zero).raw(start)
        return ticks > 0 && ticks < stated ? stated - ticks : stated
    }

    private static func length(_ ticks: Int64, _ clock: TrackClock) -> MediaTime? {
        let length = clock.length(ticks)
        return length > .zero ? length : nil
    }

    /// Returns audio and video tracks in the container's order, then subtitles.
    func tracks(starts: Starts, of context: DemuxContext, _ wanted: ReadOptions.HLSBitrate) -> [Track] {
        var numbers = [Track.Kind.audio: 0, .video: 0]
        var films = playable.map { stream in
            let parameters = UnsafePointer<AVCodecParameters>(stream.pointee.codecpar!)
            let isAudio = parameters.pointee.codec_type == AVMEDIA_TYPE_AUDIO
            let cover = isAudio ? nil : Self.cover(of: stream)
            let format: Track.Format =
                isAudio
                ? .audio(FormatReading.audio(parameters))
                : .video(cover.map(FormatReading.video) ?? FormatReading.video(parameters, stream: stream))
            let kind: Track.Kind = isAudio ? .audio : .video
            numbers[kind]! += 1
            let clock = TrackClock(stream: stream, origin: starts.origin.common)
            let duration =
                OggPages.opusDuration(of: stream, in: context) ?? fragmentsDuration(of: stream, in: context, starts)
            let language = DemuxContext.value(of: "language", in: stream.pointee.metadata)
            var track = Track(
                id: Int(stream.pointee.index), number: numbers[kind]!, format: format,
                language: language == "und" ? nil : language,
                title: DemuxContext.value(of: "title", in: stream.pointee.metadata),
                isDefault: stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0,
                purpose: Self.purpose(of: stream, in: context),
                isCoverArt: !isAudio && isCoverArt(stream),
                start: starts.start(of: stream.pointee.index),
                duration: Self.length(duration, clock).flatMap { context.isWraparound($0) ? nil : $0 })
            if isAudio {
                track.replayGain = ReplayGainReading.read { key in
                    DemuxContext.value(of: key, in: stream.pointee.metadata) ?? context.metadata(key)
                }
            }
            return track
        }
        Self.choose(among: &films, context.variants, wanted)
        let attachment = films.first { $0.kind == .video && !$0.isCoverArt }?.videoFormat?.size
        return films + subtitles.tracks(picture: attachment)
    }

    /// Returns the purpose of a stream by its dispositions, or as stated by the DASH manifest. Commentary counts first:
    /// it does not replace the film's sound.
    private static func purpose(of stream: UnsafeMutablePointer<AVStream>, in context: DemuxContext) -> Track.Purpose {
        if context.isDASH, let name = DemuxContext.value(of: "comment", in: stream.pointee.metadata) {
            return DASHPlaylists.purpose(ofRendition: name)
        }
        let purposes: [(disposition: Int32, purpose: Track.Purpose)] = [
            (AV_DISPOSITION_COMMENT, .commentary), (AV_DISPOSITION_VISUAL_IMPAIRED, .description),
            (AV_DISPOSITION_DESCRIPTIONS, .description), (AV_DISPOSITION_HEARING_IMPAIRED, .hearingImpaired),
            (AV_DISPOSITION_KARAOKE, .karaoke), (AV_DISPOSITION_CLEAN_EFFECTS, .effects),
        ]
        return purposes.first { stream.pointee.disposition & $0.disposition != 0 }?.purpose ?? .main
    }

    /// Marks the tracks of one variant as default.
    private static func choose(
        among films: inout [Track], _ variants: [(bitrate: Int64, streams: Set<Int32>)],
        _ wanted: ReadOptions.HLSBitrate
    ) {
        // Variants without a playable video track are ignored if the film has video.
        let hasVideo = films.contains { $0.kind == .video }
        let fit = variants.filter { variant in
            films.contains { variant.streams.contains(Int32(clamping: $0.id)) && (!hasVideo || $0.kind == .video) }
        }
        guard fit.count > 1 else { return }
        let chosen =
            switch wanted {
            case .first: fit.first
            case .lowest: fit.min { $0.bitrate < $1.bitrate }
            case .highest: fit.max { $0.bitrate < $1.bitrate }
            case .max(let limit):
                fit.filter { $0.bitrate <= limit }.max { $0.bitrate < $1.bitrate }
                    ?? fit.min { $0.bitrate < $1.bitrate }
            }
        guard let streams = chosen?.streams else { return }
        for kind in [Track.Kind.video, .audio] {
            let own = films.indices.filter { films[$0].kind == kind && streams.contains(Int32(clamping: films[$0].id)) }
            guard !own.isEmpty else { continue }
            let marked = own.filter { films[$0].isDefault }
            for index in films.indices where films[index].kind == kind { films[index].isDefault = false }
            for index in marked.isEmpty ? [own[0]] : marked { films[index].isDefault = true }
        }
    }

    /// Returns the end of the last track if all tracks state their duration; otherwise the container's duration.
    func duration(of context: DemuxContext, tracks: [Track]) -> MediaTime? {
        let moving = tracks.filter { !$0.isCoverArt && $0.kind != .subtitle }
        let ends = moving.compactMap { track in track.duration.map { (track.start ?? .zero) + $0 } }
        if let last = ends.max(), ends.count == moving.count { return last }
        return context.duration
    }
}
