import MediaCore
import Testing

/// The selection of subtitles by the user's options.
@Suite struct SubtitleChoiceTests {
    private static func track(
        _ number: Int, _ language: String?, isDefault: Bool = false, isSpecial: Bool = false, isForced: Bool = false,
        isForHearingImpaired: Bool = false, isExternal: Bool = false
    ) -> Track {
        Track(
            id: 10 + number, number: number,
            format: .subtitle(SubtitleFormat(parameters: CodecParameters(codec: "subrip"))), language: language,
            isDefault: isDefault, isSpecialPurpose: isSpecial, isForced: isForced,
            isForHearingImpaired: isForHearingImpaired, isExternal: isExternal)
    }

    private static let disc = [
        track(1, "eng", isForHearingImpaired: true), track(2, "eng", isForced: true), track(3, "eng"), track(4, "ger"),
        track(5, "fre", isSpecial: true), track(6, "fre", isForHearingImpaired: true), track(7, "jpn", isForced: true),
    ]

    struct Case: Sendable {
        var tracks: [Track]
        var number: Int?
        var languages: [String] = []
        var audio: String?
        var expected: Int?
    }

    static let cases = [
        Case(tracks: [], expected: nil), Case(tracks: disc, expected: nil),
        Case(tracks: disc, number: 4, languages: ["en"], expected: 4), Case(tracks: disc, number: 8, expected: nil),
        Case(tracks: disc, languages: ["en"], expected: 3), Case(tracks: disc, languages: ["it", "deu"], expected: 4),
        Case(tracks: disc, languages: ["fr"], expected: 6), Case(tracks: disc, languages: ["it"], expected: nil),
        Case(tracks: disc, audio: "ja", expected: 7), Case(tracks: disc, audio: "eng", expected: 2),
        Case(tracks: disc, audio: "de", expected: nil),
        Case(tracks: disc + [track(8, "spa", isDefault: true)], audio: "ja", expected: 8),
        Case(tracks: disc + [track(8, "spa", isDefault: true, isSpecial: true)], expected: nil),
        Case(
            tracks: disc + [track(8, "spa", isDefault: true), track(9, nil, isDefault: true, isExternal: true)],
            expected: 9),
        Case(tracks: disc + [track(8, nil, isExternal: true)], expected: nil),
        Case(tracks: disc + [track(8, "eng", isDefault: true)], languages: ["en"], expected: 8),
    ]

    @Test(arguments: cases) func theTrackIsTheOneThatIsExpected(_ one: Case) {
        let summary = MediaSummary(container: "matroska", tracks: one.tracks)
        let chosen = summary.subtitleTrack(number: one.number, languages: one.languages, audioLanguage: one.audio)
        #expect(chosen?.number == one.expected)
    }
}
