internal import MediaCore
internal import SyncRendering

extension ControlProperty {
    private static let positions = 0...ControlType.maxSeconds

    /// Position, speed and repetition.
    static let playback: [ControlProperty] = [
        .number(
            "time-pos", positions, "the position in the film", unit: .seconds, isContinuous: true,
            read: { $0.shownPosition?.seconds },
            write: { (engine, seconds) throws(ControlError) in try seek(engine, to: seconds) },
            step: { (engine, seconds) throws(ControlError) in
                try engine.seekPlan.check()
                engine.seek(by: MediaTime(boundedSeconds: seconds) ?? .zero, exact: true)
            }),
        .number(
            "percent-pos", 0...100, "the position in percent of the duration", unit: .percent, isContinuous: true,
            read: { state in
                state.shownPosition.flatMap { position in
                    state.duration.map { min(100, position.seconds / max(1e-9, $0.seconds) * 100) }
                }
            },
            write: { (engine, percent) throws(ControlError) in
                guard let duration = engine.state.duration else { throw .unknownDuration }
                try seek(engine, to: duration.seconds * percent / 100)
            }),
        .number(
            "time-remaining", positions, "the time until the end of the film, in seconds of the film", unit: .seconds,
            isContinuous: true, read: { $0.remaining }),
        .number(
            "playtime-remaining", positions, "the time until the end of the film at the current speed", unit: .seconds,
            isContinuous: true, read: { state in state.remaining.map { $0 / state.speed } }),
        .number(
            "duration", positions, "the duration of the film", unit: .seconds, read: { $0.duration?.seconds }),
        .flag(
            "pause", "whether playback is paused, or will be once it can start", read: { $0.isPaused },
            write: { $1 ? $0.pause() : $0.play() }, step: { engine, _ in engine.togglePause() }),
        .number(
            "speed", PlayerOptions.speedRange, "the playback speed; the pitch is preserved",
            read: { $0.speed }, write: { $0.setSpeed($1) }),
        .flag("core-idle", "whether nothing is playing, for any reason", read: { $0.phase != .playing }),
        .flag("idle-active", "whether no film is open", read: { !$0.isUnderWay && $0.phase != .opening }),
        .flag("eof-reached", "whether the playlist has ended", read: { $0.phase == .ended }),
        .flag("paused-for-cache", "whether playback waits for a slow source", read: { $0.bufferingProgress != nil }),
        .integer(
            "cache-buffering-state", 0...100, "the progress of buffering in percent",
            read: { $0.bufferingProgress.map { Int($0 * 100) } }),
        .number(
            "demuxer-cache-duration", positions, "the seconds of the film in memory beyond the position",
            unit: .seconds, isContinuous: true,
            read: { state in
                state.cachedUntil.map { max(0, ($0 - state.timelineOffset - state.position).seconds) }
            }),
        .number(
            "demuxer-cache-time", positions, "the position up to which the film is in memory", unit: .seconds,
            isContinuous: true, read: { state in state.cachedUntil.map { max(0, ($0 - state.timelineOffset).seconds) } }
        ),
        ControlProperty(
            "demuxer-cache-state", .node, "what was read ahead from a server: `fw-bytes`", isContinuous: true,
            read: { $0.readAhead.map { .object([("fw-bytes", .integer($0.byteCount))]) } }),
        ControlProperty(
            "loop-file", loops, "the number of repetitions of each film",
            read: { value(of: $0.loopItem) }, write: { $0.setLoop(loop($1)) },
            step: { engine, _ in engine.setLoop(engine.state.loopItem == .times(0) ? .forever : .times(0)) }),
        ControlProperty(
            "loop-playlist", loops, "the number of repetitions of the playlist",
            read: { value(of: $0.loopList) },
            write: { $0.apply(.loop(item: $0.state.loopItem, list: loop($1))) },
            step: { engine, _ in
                let (item, list) = (engine.state.loopItem, engine.state.loopList)
                engine.apply(.loop(item: item, list: list == .times(0) ? .forever : .times(0)))
            }),
        .integer(
            "chapter", -1...65535, "the index of the chapter; -1 before the first", isContinuous: true,
            read: { state in
                guard let position = state.shownPosition, !state.chapters.isEmpty else { return nil }
                return state.chapters.index(at: position) ?? -1
            },
            write: { (engine, index) throws(ControlError) in
                let chapters = engine.state.chapters
                guard index < chapters.count, !chapters.isEmpty else {
                    throw ControlError(.unavailable, "the film has \(chapters.count) chapters")
                }
                try seek(engine, to: index < 0 ? 0 : chapters[index].start.seconds)
            },
            step: { (engine, count) throws(ControlError) in
                guard let count = Int(exactly: count), count.magnitude <= 1000 else {
                    throw ControlError(.wrongType, "the number of chapters must be an integer")
                }
                try engine.seekPlan.check()
                engine.seek(byChapters: count)
            }),
    ]

    private static func seek(_ engine: PlaybackEngine, to seconds: Double) throws(ControlError) {
        try engine.seekPlan.check()
        engine.seek(to: MediaTime(boundedSeconds: seconds) ?? .zero, exact: true)
    }

    private static let loops = ControlType.choice(["inf", "no", "yes"], or: 0...10_000)

    private static func value(of loop: PlayerOptions.Loop) -> JSONValue {
        switch loop {
        case .forever: .text("inf")
        case .times(0): .flag(false)
        case .times(let count): .integer(count)
        }
    }

    private static func loop(_ value: JSONValue) -> PlayerOptions.Loop {
        value == .flag(false) ? .times(0) : value.integer.map { .times($0) } ?? .forever
    }

    /// The list of films.
    static let playlist: [ControlProperty] = [
        .integer(
            "playlist-pos", -1...(.max), "the index of the film in the playlist, from 0; -1 if none is open",
            read: { $0.isUnderWay || $0.phase == .opening ? $0.listIndex ?? -1 : -1 },
            write: { (engine, index) throws(ControlError) in
                engine.jump(to: try engine.state.listed(index).id, at: .zero)
            }),
        .integer("playlist-count", 0...(.max), "the number of films in the playlist", read: { $0.listedCount }),
        .flag(
            "shuffle", "whether the playlist is played in a random order", read: { $0.isShuffled },
            write: { $0.apply(.order($1 ? .shuffled(seed: .random(in: 0...(.max))) : .listed)) }),
    ]

    /// The films of the list, up to 20,000. Keeps its last value, because other changes of the state are more frequent.
    static var films: ControlProperty {
        ControlProperty(
            "playlist", .node, "the films: `filename`, `title`, `id`, `current`", read: { $0.playlistNode }
        ).cached { $0.playlistContent }
    }

    /// The current film.
    static let media: [ControlProperty] = [
        .text("path", "the address of the film, without passwords", read: { $0.current?.shownAddress }),
        .text("filename", "the last component of `path`", read: { $0.current?.name }),
        .text(
            "filename/no-ext", "`filename` without its extension",
            read: { state in
                state.current.map { item in
                    item.name.lastIndex(of: ".").map { String(item.name[..<$0]) } ?? item.name
                }
            }),
        .text("media-title", "the title of the film, or its file name", read: { $0.current == nil ? nil : $0.title }),
        ControlProperty(
            "metadata", .node, "the tags of the file: `title`, `artist`, `album`, `genre`, `track`",
            read: { $0.current == nil ? nil : $0.metadataNode }),
        ControlProperty(
            "track-list", .node,
            "the tracks: `id`, `type`, `title`, `lang`, `purpose` (not of main ones: `description`, `hearing-impaired`,"
                + " `commentary`, `karaoke`, `effects`), `codec`, `selected`, `default`, `forced`, `external`,"
                + " `albumart`, `visual-impaired`, `hearing-impaired`",
            read: { $0.trackListNode }),
        ControlProperty(
            "chapter-list", .node, "the chapters: `title`, `time` in seconds", read: { $0.chapterListNode }),
        .integer("chapters", 0...65535, "the number of chapters", read: { $0.chapters.count }),
        .integer(
            "width", 0...65535, "the width of the picture in pixels", read: { $0.displayedVideoFormat?.size.width }),
        .integer(
            "height", 0...65535, "the height of the picture in pixels", read: { $0.displayedVideoFormat?.size.height }),
    ]

    /// Audio.
    static let audio: [ControlProperty] = [
        .number(
            "volume", 0...VolumeCurve.maxVolume,
            "the volume of the loudest output; the others change by as many decibels",
            read: { $0.isVolumeKnown ? $0.volume : nil },
            write: { (engine, volume) throws(ControlError) in
                try engine.audioControl.changeVolumes { $0.setMasterVolume(volume) }
            },
            step: { (engine, steps) throws(ControlError) in
                try engine.audioControl.changeVolumes { $0.changeVolume(by: steps) }
            }),
        .number("volume-max", 0...VolumeCurve.maxVolume, "the highest `volume`", read: { _ in VolumeCurve.maxVolume }),
        .flag("mute", "whether the sound is muted", read: { $0.isMuted }, write: { $0.audioControl.setMuted($1) }),
        .number(
            "audio-delay", delays, "the delay of the sound; positive: later than the picture", unit: .seconds,
            read: { $0.audioDelay.inSeconds }, write: { $0.audioControl.setDelay(.rounded(seconds: $1)) }),
        ControlProperty(
            "aid", .integer(1...65535), "the number of the sound track; `no` if there is none",
            read: { number(of: $0.audioTrack) },
            write: { (engine, value) throws(ControlError) in
                let number = value.integer ?? 1
                guard engine.state.audioTracks.contains(where: { $0.number == number }) else {
                    throw ControlError(.unavailable, "the film has no sound track \(number)")
                }
                engine.selectAudioTrack(number)
            }, step: { engine, _ in engine.cycleAudioTrack() }),
        .flag(
            "night-mode", "whether loud passages are made quieter and quiet ones louder", read: { $0.isNight },
            write: { $0.audioControl.setNightMode($1) }),
        .number(
            "dialog-level", 0...PlayerOptions.maxDialogueLift, "the amplification of the centre channel",
            unit: .decibels, read: { $0.dialogueLift }, write: { $0.audioControl.setDialogueLift($1) },
            step: { engine, count in
                // Steps of 3 dB, which are audible, up to 9 dB, above which other audio is masked.
                let now = engine.state.dialogueLift
                engine.audioControl.setDialogueLift(
                    now >= 9 && count > 0 ? 0 : (now / 3).rounded(.down) * 3 + 3 * count)
            }),
    ]

    private static var delays: ClosedRange<Double> {
        let limit = PlayerOptions.longestAudioDelay.inSeconds
        return -limit...limit
    }

    private static func number(of track: Track?) -> JSONValue { track.map { .integer($0.number) } ?? .flag(false) }

    /// Video and subtitles.
    static let video: [ControlProperty] = [
        ControlProperty(
            "vid", .integer(1...65535), "the number of the video track; `no` if there is none",
            read: { number(of: $0.videoTrack) },
            write: { (engine, value) throws(ControlError) in
                let number = value.integer ?? 1
                guard engine.state.videoTracks.contains(where: { $0.number == number }) else {
                    throw ControlError(.unavailable, "the film has no picture track \(number)")
                }
                engine.selectVideoTrack(number)
            }, step: { engine, _ in engine.cycleVideoTrack() }),
        ControlProperty(
            "deinterlace", .choice(Deinterlacing.allCases.map(\.rawValue)),
            "whether pictures are deinterlaced; `auto`: those marked as interlaced",
            read: { ControlType.choiceValue($0.deinterlacing.rawValue) },
            write: { $0.tracks.setDeinterlacing(Deinterlacing(rawValue: $1.mpvText) ?? .auto) }),
        ControlProperty(
            "sid", subtitles, "the number of the subtitles", read: { number(of: $0.subtitleTrack) },
            write: { (engine, value) throws(ControlError) in
                engine.selectSubtitles(try subtitleNumber(value, engine))
            }, step: { $0.cycleSubtitles(by: $1 < 0 ? -1 : 1) }),
        ControlProperty(
            "secondary-sid", subtitles, "the number of the subtitles at the top",
            read: { number(of: $0.secondarySubtitleTrack) },
            write: { (engine, value) throws(ControlError) in
                engine.selectSecondarySubtitles(try subtitleNumber(value, engine))
            }, step: { $0.cycleSecondarySubtitles(by: $1 < 0 ? -1 : 1) }),
        .flag(
            "sub-visibility", "whether subtitles are shown", read: { $0.showsSubtitles },
            write: { $0.tracks.subtitles.setShown($1) }),
        .flag(
            "secondary-sub-visibility", "whether the subtitles at the top are shown",
            read: { $0.showsSecondarySubtitles }, write: { $0.tracks.subtitles.setSecondaryShown($1) }),
        .number(
            "sub-delay", delays, "the delay of subtitles; positive: later", unit: .seconds,
            read: { $0.subtitleDelay.inSeconds }, write: { $0.tracks.subtitles.setDelay(.rounded(seconds: $1)) }
        ),
        .number(
            "sub-pos", SubtitleStyle.positionRange, "the lower edge of subtitles in percent of the screen's height",
            read: { $0.subtitleStyle.position },
            write: { engine, position in engine.tracks.subtitles.changeStyle { $0.position = position } }),
        .number(
            "sub-scale", SubtitleStyle.scaleRange, "the factor of the size of subtitles",
            read: { $0.subtitleStyle.scale },
            write: { engine, scale in engine.tracks.subtitles.changeStyle { $0.scale = scale } }),
        ControlProperty(
            "sub-ass-override", .choice(SubtitleStyle.Override.allCases.map(\.rawValue)),
            "how subtitles with styles are drawn; `no`, `yes`: as their author intended, `force`: as plain text",
            read: { ControlType.choiceValue($0.subtitleStyle.override.rawValue) },
            write: { engine, value in
                engine.tracks.subtitles.changeStyle {
                    $0.override = SubtitleStyle.Override(rawValue: value.mpvText) ?? .yes
                }
            }),
    ]

    private static let subtitles = ControlType.choice(["no"], or: 1...65535)

    /// Returns the number of subtitles; nil for none.
    private static func subtitleNumber(_ value: JSONValue, _ engine: PlaybackEngine) throws(ControlError) -> Int? {
        guard let number = value.integer else { return nil }
        if engine.current == nil || engine.state.subtitleTracks.contains(where: { $0.number == number }) {
            return number
        }
        throw ControlError(.unavailable, "the film has no subtitles \(number)")
    }
}

extension ControlError {
    static var unknownDuration: ControlError { ControlError(.unavailable, "the duration is unknown") }
}

extension SeekDecision {
    /// Throws the reason why no seek is possible.
    func check() throws(ControlError) {
        guard let refusal else { return }
        for case .report(.message(let text)) in refusal { throw ControlError(.unavailable, text) }
        throw ControlError(.unavailable, "no film is open")
    }
}
