import MediaCore
import Testing

/// The selection of subtitles by the user's options.
@Suite struct SubtitleChoiceTests {
    private static func track(
        _ number: Int, _ language: String?, isDefault: Bool = false, isSpecial: Bool = false, isForced: Bool = false,
        isForHearingImpaired: Bool = false, isExternal: Bool = false, isUserProvided: Bool = false
    ) -> Track {
        var track = Track(
            id: 10 + number, number: number,
            format: .subtitle(SubtitleFormat(parameters: CodecParameters(codec: "subrip"))), language: language,
            isDefault: isDefault, purpose: isSpecial ? .commentary : .main, isForced: isForced,
            isForHearingImpaired: isForHearingImpaired, isExternal: isExternal)
        track.isUserProvided = isUserProvided
        return track
    }

    private static let disc = [
        track(1, "eng", isForHearingImpaired: true), track(2, "eng", isForced: true), track(3, "eng"), track(4, "ger"),
        track(5, "fre", isSpecial: true), track(6, "fre", isForHearingImpaired: true), track(7, "jpn", isForced: true),
    ]

    struct Case: Sendable {
        var tracks: [Track]
        var number: Int?
        var languages: [String] = []
        var user: [String] = []
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
        Case(tracks: disc + [track(8, nil, isExternal: true)], expected: 8),
        Case(tracks: disc + [track(8, "eng", isDefault: true)], languages: ["en"], expected: 8),
        // The user's languages.
        Case(tracks: disc, user: ["de"], expected: 4), Case(tracks: disc, user: ["it", "en"], expected: 3),
        Case(tracks: disc, user: ["de", "en"], audio: "ja", expected: 4),
        Case(tracks: disc, user: ["en"], audio: "eng", expected: 2),
        Case(tracks: disc, user: ["en", "de"], audio: "ger", expected: nil),
        Case(tracks: disc, user: ["en"], audio: "und", expected: 3),
        Case(tracks: disc, languages: ["fr"], user: ["de"], expected: 6),
        Case(tracks: disc + [track(8, "spa", isDefault: true)], user: ["de"], audio: "ja", expected: 4),
        Case(tracks: disc + [track(8, "spa", isDefault: true)], user: ["it"], audio: "ja", expected: 8),
        Case(tracks: disc, user: ["jpn"], expected: 7),
    ]

    private static let files = [
        track(1, "de", isForced: true, isExternal: true), track(2, "de", isForHearingImpaired: true, isExternal: true),
        track(3, "de", isExternal: true), track(4, "en", isExternal: true), track(5, "ger"),
    ]
    private static let exact = track(6, nil, isDefault: true, isExternal: true)
    private static let named = track(7, "fr", isDefault: true, isExternal: true, isUserProvided: true)

    static let casesOfFiles = [
        Case(tracks: files, user: ["de"], audio: "ja", expected: 3),
        Case(tracks: files, user: ["de"], audio: "de", expected: 3),
        Case(tracks: files, user: ["en", "de"], audio: "ja", expected: 4),
        Case(tracks: files, user: ["it"], audio: "ja", expected: 3), Case(tracks: files, expected: 3),
        Case(tracks: Array(files[0...1]), user: ["de"], expected: 2),
        Case(tracks: Array(files[0...0]), user: ["de"], audio: "ja", expected: nil),
        Case(tracks: Array(files[0...0]), user: ["de"], audio: "de", expected: 1),
        Case(tracks: Array(files[0...0]), user: ["de"], expected: 1),
        Case(tracks: Array(files[0...0]), audio: "ja", expected: nil),
        Case(tracks: [files[3]], user: ["de"], audio: "de", expected: nil),
        Case(tracks: [files[3]], user: ["de"], audio: "ja", expected: 4),
        Case(tracks: files + [exact], user: ["de"], expected: 3),
        Case(tracks: files + [exact], user: ["it"], expected: 6), Case(tracks: files + [exact], expected: 6),
        Case(tracks: files + [exact, named], languages: ["en"], user: ["de"], expected: 7),
        Case(tracks: files + [exact, named], number: 4, user: ["de"], expected: 4),
    ]

    @Test(arguments: cases + casesOfFiles) func theTrackIsTheOneThatIsExpected(_ one: Case) {
        let summary = MediaSummary(container: "matroska", tracks: one.tracks)
        let chosen = summary.subtitleTrack(
            number: one.number, languages: one.languages, userLanguages: one.user, audioLanguage: one.audio)
        #expect(chosen?.number == one.expected)
    }

    @Test func theSoundIsInTheUsersLanguageUnlessAnotherIsRequested() {
        func sound(
            _ number: Int, _ language: String?, isDefault: Bool = false, _ purpose: Track.Purpose = .main
        ) -> Track {
            let format = AudioFormat(parameters: CodecParameters(codec: "aac"), sampleRate: 48_000, layout: .stereo)
            return Track(
                id: number, number: number, format: .audio(format), language: language, isDefault: isDefault,
                purpose: purpose)
        }
        let summary = MediaSummary(
            container: "matroska",
            tracks: [
                sound(1, "jpn", isDefault: true), sound(2, "eng"), sound(3, "eng", isDefault: true), sound(4, "ger"),
                sound(5, "fre", .commentary), sound(6, "eng", .description), sound(7, nil, .hearingImpaired),
            ])
        func number(_ languages: [String], _ user: [String], _ purpose: Track.Purpose = .main) -> Int? {
            summary.track(.audio, languages: languages, userLanguages: user, purpose: purpose)?.number
        }
        #expect(number([], []) == 1 && number([], ["it"]) == 1)
        #expect(number([], ["de-AT"]) == 4 && number([], ["it", "en"]) == 3)
        #expect(number(["ja"], ["de"]) == 1 && number(["fr"], ["de"]) == 4, "a commentary is no language")
        #expect(number([], ["fr"]) == 1, "a commentary is not the user's sound")
        #expect(number(["de", "en"], [], .description) == 4, "the language takes precedence")
        #expect(number(["en", "de"], [], .description) == 6 && number([], ["en"], .description) == 6)
        #expect(number([], ["it"], .description) == 6, "in another language, if there is no sound in the user's")
        #expect(number(["de"], [], .hearingImpaired) == 7, "a track without a language fits each")
        #expect(number([], [], .karaoke) == 1 && number(["en"], [], .karaoke) == 3)
        let described = MediaSummary(container: "mp4", tracks: [sound(1, "eng", .description)])
        #expect(described.track(.audio)?.number == 1, "there is no other")
    }
}
