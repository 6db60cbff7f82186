import AirPlay
import AirPlayTransport
import MediaCore
import Playback
import Testing

@testable import TalkieApp

@Suite struct SpeakerArgumentTests {
    private func message(_ text: String) -> String? {
        do throws(ValueError) {
            _ = try SpeakerArgument(parsing: text)
            return nil
        } catch {
            return error.description
        }
    }

    @Test func aSpeakerHasOptionsAfterItsName() throws {
        #expect(try SpeakerArgument(parsing: "Kitchen") == SpeakerArgument(.named("Kitchen")))
        #expect(
            try SpeakerArgument(parsing: "Kitchen;lang=de") == SpeakerArgument(.named("Kitchen"), languages: ["de"]))
        #expect(
            try SpeakerArgument(parsing: "local;lang=en,de-AT") == SpeakerArgument(.local, languages: ["en", "de-AT"]))
        let address = "airplay://192.0.2.7:7000"
        #expect(try SpeakerArgument(parsing: address + ";lang=fr").choice == .named(address))
        #expect(
            try SpeakerArgument(parsing: "Kitchen;route=ntp;lang=de;encoding=lossless")
                == SpeakerArgument(
                    .named("Kitchen"), languages: ["de"],
                    preferences: SpeakerPreferences(route: .only(.realtimeNTP), prefersAAC: false)))
        #expect(try SpeakerArgument(parsing: "Kitchen;route=auto").preferences.route == .best)
        #expect(
            try SpeakerArgument(parsing: "Headset;track=description;lang=de")
                == SpeakerArgument(.named("Headset"), languages: ["de"], purpose: .description))
        #expect(
            try SpeakerArgument(parsing: "local;part=left;lang=en")
                == SpeakerArgument(.local, languages: ["en"], part: .left))
        #expect(try SpeakerArgument(parsing: "Kitchen;part=FC").part == .position(.frontCenter))
        #expect(try SpeakerArgument(parsing: "Kitchen;part=stereo;channels=5.1").part == .whole)
        #expect(
            try SpeakerArgument(parsing: "Kitchen;bits=24").preferences
                == SpeakerPreferences(prefersAAC: false, bits: 24), "lossless is implied")
        #expect(
            try SpeakerArgument(parsing: "Kitchen;bits=16").preferences == SpeakerPreferences(bits: 16))
        #expect(message("Kitchen;route=raop") == "the route must be auto, buffered, realtime, ntp or classic")
        #expect(message("Kitchen;route=ntp;route=ntp") == "route is given twice")
        #expect(message("Kitchen;encoding=mp3") == "the encoding must be aac or lossless")
        #expect(try SpeakerArgument(parsing: "Room = 1;lang=fr").choice == .named("Room = 1"))
    }

    @Test func contradictoryOptionsAreRefused() {
        let lossless = "24 bits are sent lossless, and in stereo; omit bits, or encoding=aac and channels"
        #expect(message("Kitchen;encoding=aac;bits=24") == lossless)
        #expect(message("Kitchen;bits=24;encoding=aac") == lossless)
        #expect(message("Kitchen;bits=24;channels=5.1") == lossless)
        #expect(message("Kitchen;bits=24;encoding=lossless") == nil && message("Kitchen;bits=16;encoding=aac") == nil)
        #expect(message("Kitchen;bits=20") == "the bits must be 16 or 24")
        #expect(message("Kitchen;part=left;channels=5.1") == "a speaker with a part gets stereo; omit channels or part")
        #expect(message("Kitchen;part=left;part=left") == "part is given twice")
        #expect(message("Kitchen;part=centre")?.hasPrefix("the part must be one of stereo, left") == true)
    }

    @Test func aWrongOptionIsRefusedWithItsCause() {
        #expect(message("Kitchen;Study")?.contains("'Study' after ; is no option") == true)
        #expect(message("Kitchen;")?.contains("'' after ; is no option") == true)
        #expect(
            message("Kitchen;language=de")
                == "a speaker has no option 'language'; there are lang, track, part, route, encoding, bits and channels, such as Kitchen;lang=de"
        )
        #expect(message("Kitchen;Lang=de")?.contains("no option 'Lang'") == true)
        #expect(message("Kitchen;lang=de;lang=en") == "lang is given twice; write lang=de,en")
        #expect(
            message("Kitchen;track=blind")
                == "the track must be one of main, description, hearing-impaired, commentary, karaoke, effects")
        #expect(message("Kitchen;track=main;track=main") == "track is given twice")
        #expect(message("Kitchen;lang=")?.hasPrefix("languages must be tags") == true)
        #expect(
            message("Kitchen;lang=" + String(repeating: "x", count: 36))?.hasPrefix("languages must be tags") == true)
        #expect(message(";lang=de")?.hasPrefix("a speaker must be a name") == true)
        #expect(message("airplay://;lang=de") != nil)
        #expect(message("Kitchen;\u{1b}[2J=1")?.contains("\u{1b}") == false)
    }

    @Test func itsLengthIsBounded() {
        #expect(message(String(repeating: "x", count: SpeakerArgument.maxBytes)) == nil)
        #expect(message(String(repeating: "x", count: SpeakerArgument.maxBytes + 1)) != nil)
        #expect(message("Kitchen" + String(repeating: ";", count: 1_000_000)) != nil)
    }

    @Test func oneSpeakerHasOneLanguage() throws {
        let german = try SpeakerArgument(parsing: "Kitchen;lang=de")
        let english = try SpeakerArgument(parsing: "Kitchen;lang=en")
        #expect(SpeakerArgument.contradiction(in: [german, try SpeakerArgument(parsing: "local;lang=en")]) == nil)
        #expect(SpeakerArgument.contradiction(in: [german, german]) == nil)
        let described = try SpeakerArgument(parsing: "Kitchen;track=description")
        #expect(SpeakerArgument.contradiction(in: [described, german]) == .named("Kitchen"))
        #expect(
            try german.track(beside: PlayerOptions()) == .language("de")
                && SpeakerArgument(parsing: "Kitchen;route=ntp").track(beside: PlayerOptions()) == nil)
        var options = PlayerOptions()
        (options.audioLanguages, options.userLanguages, options.audioPurpose) = (["fr"], ["en"], .commentary)
        #expect(described.track(beside: options) == .languages(["fr", "en"], purpose: .description))
        #expect(german.track(beside: options) == .languages(["de", "fr", "en"], purpose: .commentary))
        #expect(SpeakerArgument.contradiction(in: [german, english]) == .named("Kitchen"))
    }
}
