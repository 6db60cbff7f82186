internal import MediaCore
internal import Playback
internal import ScreenOutput

/// The rows of the lists about a film.
extension ChoiceList {
    /// The selectable speeds.
    static let speeds = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4]

    static func button(_ subject: Subject) -> ScreenBar.Button {
        switch subject {
        case .audio: .audio
        case .subtitles: .subtitles
        case .chapters: .chapters
        case .speed: .speed
        }
    }

    static func title(_ subject: Subject) -> String {
        switch subject {
        case .audio: "Sound"
        case .subtitles: "Subtitles"
        case .chapters: "Chapters"
        case .speed: "Speed"
        }
    }

    static func rows(_ subject: Subject, of state: PlayerState) -> [Row] {
        switch subject {
        case .audio:
            state.audioTracks.map { track in
                Row(text: track.name, detail: track.particulars, isChosen: track == state.audioTrack)
            }
        case .subtitles:
            // The first row is "None".
            [Row(text: "None", isChosen: state.subtitleTrack == nil)]
                + state.subtitleTracks.map { track in
                    Row(text: track.name, detail: track.particulars, isChosen: track == state.subtitleTrack)
                }
        case .chapters:
            state.chapters.enumerated().map { number, chapter in
                Row(
                    text: chapter.title.map(PrintableText.of) ?? "Chapter \(number + 1)", detail: chapter.start.clock,
                    isChosen: number == state.chapters.index(at: state.position))
            }
        case .speed:
            speeds.map { Row(text: "×\(Decimals.short($0))", isChosen: abs($0 - state.speed) < 0.005) }
        }
    }
}

extension Track {
    /// The name in a list: `English, audio description`.
    var name: String {
        let labels = [languageName, title == languageName ? nil : title, purposeLabel].compactMap { $0 }
            .filter { !$0.isEmpty }
        return labels.isEmpty ? "Track \(number)" : PrintableText.of(labels.joined(separator: ", "))
    }

    /// The properties in a list: `5.1, ac3`, `forced`.
    var particulars: String {
        var labels: [String] = []
        if let format = audioFormat { labels += [format.layout.displayName, format.parameters.codec] }
        if subtitleFormat != nil {
            labels += subtitleLabels
            if isExternal { labels.append("external file") }
        }
        return labels.joined(separator: ", ")
    }
}
