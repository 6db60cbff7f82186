import MediaCore
import Testing

@testable import Playback
@testable import SyncRendering
@testable import TalkieTestKit

/// The selection of audio tracks by language and purpose.
@Suite struct AudioTrackChoiceTests {
    /// Returns a film with audio tracks in a language and for a purpose each.
    private static func film(_ tracks: (language: String?, purpose: Track.Purpose)...) -> SyntheticFilm {
        SyntheticFilm(duration: MediaTime(value: 20, timescale: 1), audioTracks: tracks)
    }

    private static let described = film(("eng", .description), ("eng", .main), ("deu", .main), ("eng", .commentary))

    @Test func aChoiceIsParsedFromItsText() throws {
        for (text, choice) in [
            ("2", AudioTrackChoice.number(2)), ("de,en", .languages(["de", "en"])), ("main", .languages([])),
            ("description", .purpose(.description)),
            ("hearing-impaired,de", .languages(["de"], purpose: .hearingImpaired)),
        ] {
            #expect(try AudioTrackChoice(parsing: text) == choice && choice.text == text)
        }
        for text in ["", ",", "description,,"] {
            #expect(throws: ValueError.self, "\(text)") { _ = try AudioTrackChoice(parsing: text) }
        }
    }

    @Test func aDescriptionThatStandsFirstPlaysOnlyIfItIsPreferred() {
        let usual = VirtualCinema(film: Self.described)
        usual.run(for: .seconds(2))
        #expect(usual.core.state.audioTrack?.number == 2)
        var options = PlayerOptions()
        options.audioPurpose = .description
        let described = VirtualCinema(film: Self.described, options: options)
        described.run(for: .seconds(2))
        #expect(described.core.state.audioTrack?.number == 1)
        described.core.selectAudioTrack(.language("de"))
        #expect(described.core.state.audioTrack?.number == 3)
        // A track that the user selects is the preference for following films, with its purpose.
        described.core.selectAudioTrack(4)
        #expect(described.core.factory.options.audioPurpose == .commentary)
        #expect(described.core.factory.options.audioTrack == nil)
        #expect(described.messages.withLock { $0 }.last == "Sound track 4 of 4, English, commentary")
    }

    @Test func aRequestedPurposeOutlivesAFilmWithoutIt() {
        var options = PlayerOptions()
        options.audioPurpose = .description
        let cinema = VirtualCinema(film: Self.film(("eng", .main), ("deu", .main)), options: options)
        cinema.run(for: .seconds(2))
        cinema.core.selectAudioTrack(.languages(["de"], purpose: .description))
        #expect(cinema.core.state.audioTrack?.number == 2)
        #expect(cinema.core.factory.options.audioPurpose == .description)
        cinema.core.selectAudioTrack(1)
        #expect(cinema.core.factory.options.audioPurpose == .description)
    }

    @Test(arguments: [2, 3]) func theUsersTrackPlaysAgainAfterTheOneThatOutputsHaveSelected(_ number: Int) {
        let film = Self.film(("eng", .main), ("deu", .main), (nil, .main), ("eng", .description))
        var options = PlayerOptions()
        options.audioTrack = number
        let cinema = VirtualCinema(film: film, options: options)
        cinema.run(for: .seconds(2))
        func track(with choice: AudioTrackChoice?) -> Int? {
            cinema.core.overrideAudioTrack(with: choice)
            cinema.run(for: .seconds(1))
            return cinema.core.state.audioTrack?.number
        }
        #expect(track(with: nil) == number)
        #expect(track(with: .purpose(.description)) == 4)
        #expect(track(with: .language("en")) == 1)
        #expect(track(with: nil) == number)
        // What the user selects meanwhile stays, also what plays already.
        for chosen in [1, 4] {
            #expect(track(with: .purpose(.description)) == 4)
            cinema.core.selectAudioTrack(chosen)
            #expect(track(with: nil) == chosen)
        }
    }

    @Test func whatTheUserSelectsUnderAnOutputsChoiceLeavesNothingOfThatChoice() {
        let cinema = VirtualCinema(film: Self.film(("eng", .main), ("deu", .main)))
        cinema.run(for: .seconds(2))
        cinema.core.overrideAudioTrack(with: .languages(["fr"], purpose: .description))
        cinema.core.selectAudioTrack(2)
        cinema.core.overrideAudioTrack(with: nil)
        let options = cinema.core.factory.options
        #expect(options.audioPurpose == .main && options.audioLanguages == ["deu"] && options.audioTrack == nil)
        #expect(cinema.core.state.audioTrack?.number == 2)
    }

    @Test func soundInSeveralOrUncodedLanguagesIsSelectedByItsCode() {
        let film = Self.film(("deu", .main), ("mul", .main), ("mis", .main))
        for (code, number) in [("mul", 2), ("mis", 3), ("de", 1)] {
            #expect(film.summary.track(.audio, languages: [code])?.number == number)
        }
    }

    @Test func aFilmThatLacksWhatIsPreferredSaysSoAndPlays() {
        var options = PlayerOptions()
        options.audioPurpose = .description
        let cinema = VirtualCinema(film: Self.film(("eng", .main), ("deu", .main)), options: options)
        let kitchen = VirtualSoundCard(
            clock: cinema.clock,
            device: VirtualPlayoutDevice(
                clock: cinema.clock, format: PCMFormat(sampleRate: 48_000, layout: .stereo),
                capacity: .milliseconds(200)))
        cinema.core.addAudio(.purpose(.commentary), to: kitchen, number: 1)
        cinema.run(for: .seconds(2))
        #expect(cinema.core.state.audioTrack?.number == 1)
        func count(_ message: String) -> Int { cinema.messages.withLock { $0 }.count { $0 == message } }
        #expect(count("This film has no audio description; English plays instead.") == 1)
        #expect(count("This film has no commentary; an output plays English instead.") == 1)
        for language in ["de", "fr"] {
            cinema.core.tracks.added.setTrack(.language(language), of: 1, target: cinema.core.seeks.trackTarget)
            cinema.run(for: .seconds(1))
        }
        #expect(count("This film has no sound in French; an output plays English instead.") == 1)
    }
}
