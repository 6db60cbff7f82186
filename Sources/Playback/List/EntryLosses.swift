internal import MediaCore
internal import SyncRendering

/// Read and decode errors of one playback of an item, and the read positions of its tracks. Times are media times.
struct EntryLosses: Sendable {
    /// A failed track and its error.
    struct Failure: Sendable {
        var kind: Track.Kind
        var error: MediaError
        /// The position up to which the track was read.
        var position: MediaTime
    }

    private(set) var failures: [Failure] = []
    /// The first segment of a stream that could not be read, and how far its track had been read.
    private(set) var lostSegment: Failure?
    /// The read position of a track that was read to its end.
    var audioRead: MediaTime?
    var videoRead: MediaTime?
    /// Audio that could not be decoded.
    private(set) var undecodable: UndecodableAudio?
    /// The same since the last seek, in contiguous ranges.
    private(set) var silences: [UndecodableAudio] = []
    /// Gaps between the audio timestamps: a loss in a damaged file, otherwise part of the media.
    private(set) var holes: UndecodableAudio?
    /// Whether packets of audio or video were damaged.
    var isDamaged = false
    /// Whether a failure was reported; further losses of this playback are not.
    var isReported = false

    /// Shorter gaps are caused by rounded timestamps.
    static let shortestHole = MediaTime(value: 1, timescale: 4)
    /// A shorter loss is inaudible, as that of a packet where two files were joined.
    static let shortestLoss = MediaTime(value: 1, timescale: 20)
    private static let maxSilences = 64
    /// Losses are reported together until audio is intact for this long.
    static let stretch = MediaTime(value: 5, timescale: 1)
    /// The tolerance of a duration in a header; alternatively a twentieth of it.
    static let tolerance = MediaTime(value: 2, timescale: 1)

    /// Records a failure, one per kind of track.
    mutating func record(_ failure: Failure) {
        if !failures.contains(where: { $0.kind == failure.kind }) { failures.append(failure) }
    }

    mutating func record(lostSegment loss: Failure) {
        if lostSegment.map({ loss.position < $0.position }) ?? true { lostSegment = loss }
    }

    /// Adds undecodable audio. What precedes the end of audio that was added before is not added again: it was decoded
    /// by another output, or before a seek.
    mutating func record(undecodable audioEnd: UndecodableAudio) {
        addSilence(audioEnd)
        guard let before = undecodable, audioEnd.start < before.end else {
            return undecodable = undecodable?.adding(audioEnd) ?? audioEnd
        }
        guard audioEnd.end > before.end else { return }
        var rest = audioEnd
        rest.start = before.end
        let share = (rest.end - rest.start).seconds / (audioEnd.end - audioEnd.start).seconds
        rest.duration = MediaTime(seconds: audioEnd.duration.seconds * share)
        undecodable = before.adding(rest)
    }

    private mutating func addSilence(_ audioEnd: UndecodableAudio) {
        // Single packets far apart are reported as one range. An output that joins decodes the same audio again.
        guard audioEnd.duration.seconds > 0.5 * (audioEnd.end - audioEnd.start).seconds,
            !silences.contains(where: { $0.start <= audioEnd.start && audioEnd.end <= $0.end })
        else { return }
        if let last = silences.last, last.start <= audioEnd.start, audioEnd.start - last.end <= Self.shortestHole {
            silences[silences.count - 1] = last.adding(audioEnd)
        } else if silences.count < Self.maxSilences {
            silences.append(audioEnd)
        }
    }

    /// Adds a gap in the audio.
    mutating func record(hole start: MediaTime, until end: MediaTime) {
        let hole = UndecodableAudio(start: start, duration: end - start)
        holes = holes?.adding(hole) ?? hole
    }

    /// Whether the file became shorter while its video was read.
    var isVideoTruncated: Bool { failures.contains { $0.kind == .video && $0.error.code == .truncated } }

    /// Resets the failures and read positions, because the tracks are read again after a seek.
    mutating func restart() {
        (failures, lostSegment, audioRead, videoRead, silences) = ([], nil, nil, nil, [])
    }

    /// Returns the missing audio; nil if there is none.
    ///
    /// - Parameter countsHoles: Whether gaps between timestamps count as lost.
    func missingAudio(countsHoles: Bool) -> UndecodableAudio? {
        guard countsHoles, let holes else { return undecodable }
        return undecodable.map(holes.adding) ?? holes
    }
}

extension PlaybackList {
    /// Records audio that could not be decoded, in times of the timeline. An output with a deep buffer decodes several
    /// entries ahead of the playhead: the audio is divided among them.
    ///
    /// - Parameter isConcerned: Whether that of an entry is recorded.
    mutating func record(
        undecodable audioEnd: UndecodableAudio, where isConcerned: (ScheduledItem) -> Bool = { _ in true }
    ) {
        var rest = audioEnd
        for (index, entry) in entries.enumerated() {
            let next = index + 1 < entries.count ? entries[index + 1].begin : nil
            // The first packets of an entry are before its beginning: they prime the decoder.
            guard next.map({ rest.start + EntryLosses.shortestHole < $0 || rest.end <= $0 }) ?? true else { continue }
            var own = rest
            if let next, rest.end - next > EntryLosses.shortestLoss {
                // The sum of the durations is distributed by the lengths.
                let share = (next - rest.start).seconds / (rest.end - rest.start).seconds
                (own.end, own.duration) = (next, MediaTime(seconds: rest.duration.seconds * share))
                (rest.start, rest.duration) = (next, rest.duration - own.duration)
            } else {
                rest.start = rest.end
            }
            let offset = entry.offset ?? .zero
            (own.start, own.end) = (own.start - offset, own.end - offset)
            if isConcerned(entry) { change(entry.serial) { $0.losses.record(undecodable: own) } }
            if rest.start >= rest.end { return }
        }
    }
}

extension PlaybackList.ScheduledItem {
    /// Returns the failure to report now; nil if there is none.
    ///
    /// - Parameters:
    ///   - time: The current media time; nil if the playback has ended.
    func failure(at time: MediaTime?) -> MediaFailure? {
        // A truncated entry is reported once its end is settled.
        guard !losses.isReported, time == nil || brokenOff == nil else { return nil }
        return lossOfSegment(at: time) ?? lossOfTracks(at: time) ?? lossOfAudio(at: time)
            ?? endOfAudio(at: time) ?? lossOfAll(at: time)
    }

    /// Returns why an entry that has ended at its start has no media: it was passed without a frame and without audio.
    private func lossOfAll(at time: MediaTime?) -> MediaFailure? {
        guard time == nil, isEmpty, !isSection, listPosition.interstitialPart == nil else { return nil }
        return MediaFailure(error: reasonForNothing, position: start)
    }

    /// The reason why neither audio nor video of an entry was decoded.
    var reasonForNothing: TalkieError {
        let summary = film.summary
        if losses.failures.isEmpty, !summary.isDurationStated, let end = summary.duration, start > .zero,
            start >= end
        {
            return TalkieError(
                .cannotOpen,
                "“\(title)” ends before the requested start at \(start.clock); choose an earlier start.")
        }
        guard
            let failure = (losses.failures + [losses.lostSegment].compactMap { $0 }).first(where: {
                $0.kind != .subtitle
            })
        else {
            return TalkieError(
                .cannotOpen, "“\(title)” cannot be decoded; it is damaged, or it needs a newer FFmpeg")
        }
        return TalkieError(
            failure.error.playbackCode, "“\(title)” cannot be played: \(failure.error.message)")
    }

    private func lossOfSegment(at time: MediaTime?) -> MediaFailure? {
        guard let lost = losses.lostSegment, time.map({ $0 >= lost.position }) ?? true else { return nil }
        let position = lost.position.clock
        let what = lost.error.code == .unsupportedChange ? "changes at \(position)" : "lacks a part from \(position) on"
        return MediaFailure(.failed, "“\(title)” \(what): \(lost.error.message)", at: lost.position)
    }

    private func lossOfTracks(at time: MediaTime?) -> MediaFailure? {
        // Subtitles are read together with audio and video, which locate the end of an incomplete file better.
        let failures = losses.failures.filter { $0.kind != .subtitle || !$0.error.isIncomplete }
        let isRead = hasEnded(.audio, audioTrack) && hasEnded(.video, videoTrack.flatMap { $0.isCoverArt ? nil : $0 })
        if failures.contains(where: { $0.error.isIncomplete }) || isShort {
            let end =
                ([losses.audioRead, losses.videoRead].compactMap { $0 } + failures.map(\.position)).max() ?? start
            guard isRead || time.map({ $0 >= end }) ?? true else { return nil }
            // Some containers' durations are computed from the available bytes.
            let total =
                film.summary.duration.flatMap { $0 - end > EntryLosses.shortestHole ? " of \($0.clock)" : nil } ?? ""
            return MediaFailure(
                .failed, "“\(title)” ends at \(end.clock)\(total): the file is incomplete; copy or download it again",
                at: end)
        }
        guard let first = failures.min(by: { $0.position < $1.position }) else { return nil }
        guard isRead || time.map({ $0 >= first.position }) ?? true else { return nil }
        let kinds = Set([audioTrack, videoTrack].compactMap { $0 }.filter { !$0.isCoverArt }.map(\.kind))
        let position = failures.map(\.position).max() ?? first.position
        guard !kinds.isSubset(of: failures.map(\.kind)) else {
            // Imperceptibly short: reported as an item that cannot be played.
            let code: TalkieError.Code =
                position - start < EntryLosses.shortestHole ? first.error.playbackCode : .failed
            return MediaFailure(
                code, "“\(title)” breaks off at \(position.clock): \(first.error.message)", at: position)
        }
        return MediaFailure(
            .failed, "\(first.kind.name) of “\(title)” ends at \(first.position.clock): \(first.error.message)",
            at: first.position)
    }

    private func lossOfAudio(at time: MediaTime?) -> MediaFailure? {
        let summary = film.summary
        // In MP4, at discontinuities of playlists and in streams without a stated duration a hole may be the film's
        // own.
        let reportsHoles = summary.isDurationStated && !["mp4", "hls", "dash"].contains(summary.container)
        guard
            let missing = losses.missingAudio(
                countsHoles: reportsHoles || losses.isDamaged || losses.undecodable != nil),
            missing.duration >= EntryLosses.shortestLoss
        else { return nil }
        guard time.map({ $0 >= missing.end + EntryLosses.stretch }) ?? true else { return nil }
        return MediaFailure(
            .failed,
            "\(missing.duration.seconds.oneDecimal) s of sound of “\(title)” could not be decoded at "
                + "\(missing.start.clock); the file is damaged, copy or download it again",
            at: missing.start)
    }

    /// Returns why a transport stream becomes silent: its sound continues with another codec or packet identifier,
    /// which is not read, or in another track.
    private func endOfAudio(at time: MediaTime?) -> MediaFailure? {
        guard film.summary.container == "mpegts", let audioEnd = losses.audioRead, setEnd == nil,
            videoTrack.map({ !$0.isCoverArt }) ?? false, let end = losses.videoRead ?? film.summary.duration,
            end - audioEnd > EntryLosses.stretch, time.map({ $0 >= audioEnd }) ?? true
        else { return nil }
        return MediaFailure(
            .failed,
            "The sound of “\(title)” ends at \(audioEnd.clock), before the picture: it may continue in another track, or "
                + "with another codec or packet identifier (PID); choose another track, or convert the file",
            at: audioEnd)
    }

    /// Whether the read tracks end well before the duration in the header. Requires audio: the last video frame of a
    /// silent film may last long.
    private var isShort: Bool {
        let summary = film.summary
        guard summary.isDurationStated, let stated = summary.duration, let audioEnd = losses.audioRead, setEnd == nil
        else { return false }
        let hasVideo = summary.tracks.contains { $0.kind == .video && !$0.isCoverArt }
        guard !hasVideo || losses.videoRead != nil else { return false }
        let (total, last) = (stated - film.closedGaps, max(audioEnd, losses.videoRead ?? audioEnd))
        return total - last > max(EntryLosses.tolerance, MediaTime(seconds: total.seconds / 20))
    }

    private func hasEnded(_ kind: Track.Kind, _ track: Track?) -> Bool {
        guard track != nil else { return true }
        return (kind == .audio ? losses.audioRead : losses.videoRead) != nil
            || losses.failures.contains { $0.kind == kind }
    }
}

extension Track.Kind {
    fileprivate var name: String {
        switch self {
        case .audio: "The sound"
        case .video: "The picture"
        case .subtitle: "The subtitle track"
        }
    }
}

extension Double {
    fileprivate var oneDecimal: String {
        let tenths = Int64(min(max(0, self * 10), 1e15).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}

extension MediaFailure {
    fileprivate init(_ code: TalkieError.Code, _ message: String, at position: MediaTime) {
        self.init(error: TalkieError(code, message), position: position)
    }
}
