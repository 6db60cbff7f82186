internal import MediaCore
internal import Playback
internal import SyncRendering

/// The texts of the status line and of messages over the video.
enum StatusText {
    /// Returns the status line; fields are dropped from the right on a narrow terminal.
    static func line(_ state: PlayerState, columns: Int) -> String {
        var fields: [String] = []
        switch state.phase {
        case .idle, .ended, .failed: return ""
        case .opening: return "opening \(state.title)"
        case .buffering: fields.append("(\(state.reason ?? "buffering"))")
        case .paused: fields.append("(paused)")
        case .playing: if let reason = state.reason { fields.append("(\(reason))") }
        }
        fields.append((state.hasAudio ? "A" : "") + (state.hasVideo ? "V" : "") + ": " + position(state))
        if state.hasAudio, state.hasVideo { fields.append("A-V: " + offset(state.offset)) }
        if state.hasVideo { fields.append("dropped: \(state.droppedFrames)") }
        if state.underruns > 0 { fields.append("underruns: \(state.underruns)") }
        if state.speed != 1 { fields.append("x" + Decimals.text(state.speed, 2)) }
        if let change = state.routeChange { fields.append("(\(change))") }
        let problems = state.outputProblems.compactMap { problem in problem.phrase.map { "\(problem.name): \($0)" } }
        if let route = state.audioRoute {
            fields.append(
                problems.isEmpty ? state.isMuted ? "\(route) (muted)" : route : problems.joined(separator: ", "))
        }
        var line = fields[0]
        for field in fields.dropFirst() {
            let longer = line + "  " + field
            if PrintableText.width(of: longer) >= columns { break }
            line = longer
        }
        return line
    }

    /// Returns `00:01:02 / 01:02:03 (2%)`.
    static func position(_ state: PlayerState) -> String {
        let now = state.position.clock
        guard let duration = state.duration, duration > .zero else { return now }
        let share = max(0, min(100, state.position.seconds / duration.seconds * 100))
        return "\(now) / \(duration.clock) (\(Int(share))%)"
    }

    /// Returns the position, and below it the chapter: `(2/5) The storm`.
    static func positionAndChapter(_ state: PlayerState) -> String {
        guard let index = state.chapters.index(at: state.position) else { return position(state) }
        let number = "(\(index + 1)/\(state.chapters.count))"
        let phrases = [number, state.chapters[index].title.map(PrintableText.of)].compactMap { $0 }
        return position(state) + "\n" + phrases.joined(separator: " ")
    }

    /// Returns title, artist and album, one per line.
    static func recording(_ state: PlayerState, title: String) -> String {
        [title, state.artist, state.album].compactMap { $0.map(PrintableText.of) }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }

    /// Returns title, position, and the current audio and subtitle tracks.
    static func film(_ state: PlayerState) -> String {
        var lines = [recording(state, title: state.title), positionAndChapter(state)]
        if let track = state.audioTrack, state.audioTracks.count > 1 {
            lines.append("Sound track " + PrintableText.of(track.description(among: state.audioTracks.count)))
        }
        if !state.subtitleTracks.isEmpty {
            let count = state.subtitleTracks.count
            let phrases = state.subtitleTrack?.description(among: count)
            lines.append("Subtitles " + PrintableText.of(phrases ?? "none of \(count)"))
        }
        return lines.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// The texts of `show-text` that are replaced by a list.
    static let lists = ["${playlist}", "${track-list}"]
    /// The maximum number of lines of a list over the picture.
    private static let maxLines = 15

    /// Returns the text of `show-text`, with a list in place of its name.
    static func expanded(_ text: String, _ state: PlayerState) -> String {
        switch text {
        case lists[0]: playlist(state)
        case lists[1]: tracks(state)
        default: PrintableText.of(text)
        }
    }

    /// Returns the titles of the films around the current one, one per line.
    private static func playlist(_ state: PlayerState) -> String {
        let (all, current) = (state.listed, state.listIndex ?? 0)
        let first = max(0, min(current - maxLines / 2, all.count - maxLines))
        return all.indices.dropFirst(first).prefix(maxLines).map { index in
            mark(index == state.listIndex) + PrintableText.of(all[index].title ?? all[index].name)
        }.joined(separator: "\n")
    }

    /// Returns all tracks, one per line.
    private static func tracks(_ state: PlayerState) -> String {
        func lines(_ kind: String, _ tracks: [Track], _ selected: [Track?]) -> [String] {
            tracks.map { track in
                let phrases = [track.name, track.particulars].filter { !$0.isEmpty }.joined(separator: ", ")
                return mark(selected.contains(track)) + "\(kind) \(track.number): \(phrases)"
            }
        }
        return
            (lines("Picture", state.videoTracks, [state.videoTrack])
            + lines("Sound", state.audioTracks, [state.audioTrack] + state.addedTracks.values.map(Optional.some))
            + lines("Subtitles", state.subtitleTracks, [state.subtitleTrack, state.secondarySubtitleTrack]))
            .prefix(maxLines).joined(separator: "\n")
    }

    private static func mark(_ isCurrent: Bool) -> String { isCurrent ? "● " : "○ " }

    /// Returns the offset with the meaning of its sign, since players differ.
    private static func offset(_ offset: Duration?) -> String {
        guard let offset else { return "?" }
        let text = Decimals.signed(offset.inMilliseconds, 1)
        if text == "+0.0" { return "0.0 ms" }
        return text + (text.hasPrefix("-") ? " ms (sound early)" : " ms (sound late)")
    }

    /// Returns `Subtitle delay: +100 ms`.
    static func subtitleDelay(_ delay: Duration) -> String {
        "Subtitle delay: \(Decimals.signed(delay.inMilliseconds, 0)) ms"
    }

    /// Returns `Audio delay: +100 ms`.
    static func audioDelay(_ delay: Duration) -> String {
        "Audio delay: \(Decimals.signed(delay.inMilliseconds, 0)) ms"
    }
}
