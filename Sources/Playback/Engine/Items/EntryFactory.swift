internal import MediaCore
internal import SyncRendering

/// Creates the entries of opened media and owns the selection of their main audio track. Confined to the player's
/// thread.
final class EntryFactory {
    /// The options in use; the audio track and its languages change.
    private(set) var options: PlayerOptions
    /// The user's selection while outputs have one of their own; nil: `options` has it.
    private var userSelection: (track: Int?, languages: [String], purpose: Track.Purpose)?
    private let tracks: PlaybackTracks
    private let list: SharedPlaybackList
    private let status: PlayerStatus

    init(_ context: PlayerContext, _ tracks: PlaybackTracks) {
        (self.tracks, list, status, options) = (tracks, context.list, context.status, context.options)
    }

    /// Returns an entry for opened media according to the player's options; nil if it has no playable track.
    func entry(for listPosition: PlaylistPosition, _ media: PrefetchedMedia) -> PlaybackList.ScheduledItem? {
        let summary = media.film.summary
        let video = videoTrack(of: summary)
        if listPosition.interstitialPart == nil, listPosition.itemPass == 0 { reportMissingTracks(in: summary) }
        let audio = tracks.renderer == nil ? nil : audioTrack(of: media.film)
        let isFullItem = listPosition.interstitialPart == nil && listPosition.from == nil
        guard audio != nil || video.map({ !$0.isCoverArt }) ?? false, !isFullItem || emptyRange(of: summary) == nil
        else { return nil }
        reserve([video, audio], of: media)
        var entry = PlaybackList.ScheduledItem(
            serial: list.update { $0.newSerial() }, listPosition: listPosition, media: media, audioTrack: audio,
            videoTrack: video,
            start: listPosition.interstitialPart == nil
                ? options.start?.mediaTime(in: summary.duration) ?? .zero : .zero,
            end: listPosition.interstitialPart == nil
                ? options.end?.mediaTime(in: summary.duration) : list.list.room(for: listPosition))
        if let start = listPosition.from { entry.begin(from: start, until: listPosition.until) }
        if summary.sharesReader, audio != nil, let video, !video.isCoverArt {
            // Shared readers cannot read ahead: the entry ends with its audio unless the input states the end of the
            // video.
            entry.videoEnd = video.duration.map { .at((video.start ?? .zero) + $0) } ?? .none
        }
        return entry
    }

    private func videoTrack(of summary: MediaSummary) -> Track? {
        guard options.playsVideo else { return nil }
        let video = summary.track(.video, number: options.videoTrack)
        guard video == nil, options.showsCoverArt, options.videoTrack == nil else { return video }
        let covers = summary.tracks.filter { $0.kind == .video && $0.isCoverArt }
        return covers.first { $0.isExternal == options.prefersExternalCovers } ?? covers.first
    }

    /// Creates the sources of media whose tracks share a reader.
    private func reserve(_ main: [Track?], of media: PrefetchedMedia) {
        let (summary, audio) = (media.film.summary, main.last ?? nil)
        let added = tracks.added.all.map { $0.choice.withLock { $0 }.track(in: summary) }
        // ignored: a failure is reported when the track is opened.
        try? media.reserve(main + tracks.subtitles.tracks(of: summary, beside: audio) + added)
    }

    /// Reports video and subtitle tracks selected by number, and audio selected by purpose, that a film does not have.
    private func reportMissingTracks(in summary: MediaSummary) {
        let hasVideo = summary.tracks.contains { $0.kind == .video && !$0.isCoverArt }
        if hasVideo { reportLack(in: summary) }
        guard options.playsVideo, hasVideo else { return }
        if let number = options.videoTrack, summary.track(.video, number: number) == nil {
            status.message("This film has no picture track \(number); it plays without a picture.")
        }
        for choice in [options.subtitles, options.secondarySubtitles] {
            guard case .number(let number) = choice, summary.subtitleTrack(number: number) == nil else { continue }
            status.message("This film has no subtitles \(number); it plays without them.")
        }
    }

    /// Returns the reason why opened media has no playable track.
    func nothingToPlay(in film: any MediaSource, title: String) -> TalkieError {
        if let exhaustion = tracks.exhaustion {
            return TalkieError(exhaustion.playbackCode, "“\(title)” cannot be played: \(exhaustion.message)")
        }
        if let range = emptyRange(of: film.summary) {
            let (start, end) = (range.start.clock, range.end.clock)
            return TalkieError(
                .cannotOpen,
                range.isRequested
                    ? "The end of “\(title)” at \(end) is not after its start at \(start); choose a later end."
                    : "“\(title)” ends at \(end), before the requested start at \(start); choose an earlier start.")
        }
        let what =
            film.summary.tracks.isEmpty ? "contains neither picture nor sound" : "contains nothing that may be played"
        return TalkieError(.cannotOpen, "“\(title)” \(what); check the file and the options.")
    }

    /// Returns the requested start and the end, requested or of the file, if the range is empty; nil otherwise.
    private func emptyRange(of summary: MediaSummary) -> (start: MediaTime, end: MediaTime, isRequested: Bool)? {
        let start = options.start?.mediaTime(in: summary.duration) ?? .zero
        // The duration of a transport stream whose timestamps step back is computed from them and is too short.
        let isCertain = summary.isDurationStated || !["mpegts", "mpeg"].contains(summary.container)
        if let length = summary.duration, length > .zero, start >= length, isCertain { return (start, length, false) }
        guard let end = options.end?.mediaTime(in: summary.duration), end <= start else { return nil }
        return (start, end, true)
    }

    // MARK: Audio track

    /// Returns the audio track selected by the options; reports a missing one.
    private func audioTrack(of film: any MediaSource) -> Track? {
        if let number = options.audioTrack {
            if let track = film.summary.track(.audio, number: number) { return track }
            status.message("This film has no sound track \(number); the first suitable one plays instead.")
        }
        return track(in: film.summary)
    }

    /// Returns the audio track selected by language and purpose.
    private func track(in summary: MediaSummary) -> Track? {
        summary.track(
            .audio, languages: options.audioLanguages, userLanguages: options.userLanguages,
            purpose: options.audioPurpose)
    }

    /// Reports that a film has no audio for the requested purpose.
    private func reportLack(in summary: MediaSummary) {
        guard options.playsAudio, options.audioTrack == nil else { return }
        if let lack = AudioTrackChoice.purpose(options.audioPurpose).lack(of: track(in: summary)) {
            status.message(lack)
        }
    }

    /// Selects the next audio track of the current entry; returns false if there is no other.
    func cycleAudioTrack() -> Bool {
        guard let current = list.current, let track = current.audioTrack else { return false }
        let all = current.film.summary.tracks.filter { $0.kind == .audio }
        guard all.count > 1, let index = all.firstIndex(of: track) else {
            status.message("This film has one sound track.")
            return false
        }
        prefer(all[(index + 1) % all.count], of: current.film.summary)
        return select(all[(index + 1) % all.count], of: current)
    }

    /// Selects an audio track of the current entry; returns false if nothing has changed.
    ///
    /// - Parameter number: 1 for the first.
    func selectAudioTrack(_ number: Int) -> Bool {
        guard let current = list.current, let track = current.audioTrack else { return false }
        guard track.number != number else {
            // What outputs have selected is the user's selection from now on.
            if userSelection != nil { prefer(track, of: current.film.summary) }
            return false
        }
        guard let wanted = current.film.summary.track(.audio, number: number) else {
            status.message("This film has no sound track \(number).")
            return false
        }
        prefer(wanted, of: current.film.summary)
        return select(wanted, of: current)
    }

    /// Selects the main audio track, for following items as well; returns false if all entries keep their tracks.
    func selectAudioTrack(_ choice: AudioTrackChoice) -> Bool {
        guard case .languages(let languages, let purpose) = choice else {
            if case .number(let number) = choice { return selectAudioTrack(number) }
            return false
        }
        restoreUserSelection()
        options.audioTrack = nil
        let codes = Set(languages.map(LanguageCode.init))
        options.audioLanguages = languages + options.audioLanguages.filter { !codes.contains(LanguageCode($0)) }
        options.audioPurpose = purpose
        guard let current = list.current, current.audioTrack != nil else { return false }
        reportLack(in: current.film.summary)
        guard let wanted = track(in: current.film.summary) else { return false }
        return select(wanted, of: current)
    }

    /// Selects the main audio track for outputs that have a selection of their own, for following items as well; nil
    /// restores the user's selection. What the user selects in between stays. Returns false if all entries keep their
    /// tracks.
    func overrideAudioTrack(with choice: AudioTrackChoice?) -> Bool {
        guard restoreUserSelection() || choice != nil else { return false }
        if let choice {
            let user = (
                track: options.audioTrack, languages: options.audioLanguages, purpose: options.audioPurpose
            )
            defer { userSelection = user }
            return selectAudioTrack(choice)
        }
        guard let current = list.current, current.audioTrack != nil, let wanted = audioTrack(of: current.film)
        else { return false }
        return select(wanted, of: current)
    }

    /// Ends the outputs' selection. Returns false if there is none: the options already have the user's.
    @discardableResult
    private func restoreUserSelection() -> Bool {
        guard let user = userSelection else { return false }
        (options.audioTrack, options.audioLanguages, options.audioPurpose) = user
        userSelection = nil
        return true
    }

    /// Changes the track of the current film and, according to the options, those of the films that are already opened
    /// after it; returns false if all of them stay.
    private func select(_ next: Track, of current: PlaybackList.ScheduledItem) -> Bool {
        var hasChanged = false
        for entry in list.list.entries where entry.audioTrack != nil {
            let track = entry.film === current.film ? next : audioTrack(of: entry.film)
            guard track != entry.audioTrack else { continue }
            list.update { list in list.change(entry.serial) { $0.audioTrack = track } }
            hasChanged = true
        }
        guard next != current.audioTrack else { return hasChanged }
        status.change { $0.audioTrack = next }
        let count = current.film.summary.tracks.count { $0.kind == .audio }
        status.message("Sound track " + next.description(among: count))
        return true
    }

    /// Selects a video track of the current entry, and of following items by its number; returns false if nothing has
    /// changed.
    ///
    /// - Parameter number: 1 for the first; nil for the next one.
    func selectVideoTrack(_ number: Int?) -> Bool {
        guard let current = list.current, let track = current.videoTrack else {
            status.message("This film has no picture.")
            return false
        }
        let all = current.film.summary.tracks.filter { $0.kind == .video && $0.isCoverArt == track.isCoverArt }
        let wanted =
            number.map { number in all.first { $0.number == number } }
            ?? all.firstIndex(of: track).map { all[($0 + 1) % all.count] }
        guard let next = wanted, next != track else {
            if number == nil { status.message("This film has one picture track.") }
            return false
        }
        guard !current.film.summary.sharesReader else {
            status.message("This film is not seekable, so that its picture track cannot be changed.")
            return false
        }
        options.videoTrack = next.number
        for entry in list.list.entries where entry.film === current.film && entry.videoTrack != nil {
            list.update { list in list.change(entry.serial) { $0.videoTrack = next } }
        }
        status.change { ($0.videoTrack, $0.displayedVideoFormat) = (next, next.videoFormat) }
        status.message("Picture track " + next.description(among: all.count))
        return true
    }

    /// Makes following items prefer the track's language and purpose if they identify the track, otherwise its number.
    private func prefer(_ track: Track, of film: MediaSummary) {
        restoreUserSelection()
        // A film without a track of the requested purpose leaves the request to the films that follow.
        let hasRequested = film.tracks.contains { $0.kind == .audio && $0.purpose == options.audioPurpose }
        if track.purpose != .main || hasRequested { options.audioPurpose = track.purpose }
        let stated = track.language.map(LanguageCode.init)
        let isIdentified = stated.map { !$0.isUndetermined } ?? false || track.purpose != .main
        if isIdentified, AudioTrackChoice(track).track(in: film) == track {
            options.audioTrack = nil
            guard let language = track.language else { return }
            options.audioLanguages.removeAll { LanguageCode($0) == LanguageCode(language) }
            options.audioLanguages.insert(language, at: 0)
        } else {
            options.audioTrack = track.number
        }
    }
}

extension MediaError {
    /// The corresponding code for the caller of the player.
    var playbackCode: TalkieError.Code {
        switch code {
        case .notPermitted: .notPermitted
        // The media itself is not at fault.
        case .exhausted: .failed
        default: .cannotOpen
        }
    }

    /// The corresponding error for the caller of the player.
    var playbackError: TalkieError { TalkieError(playbackCode, message) }
}
