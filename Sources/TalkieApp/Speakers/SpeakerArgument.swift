internal import AirPlay
package import AirPlayTransport
package import MediaCore
package import Playback

/// A speaker with its options, as given with `--speaker`: `NAME[;option=value]…`.
///
/// A name that contains a semicolon is replaced by the speaker's ID.
package struct SpeakerArgument: Sendable, Hashable {
    /// The speaker.
    package let choice: SpeakerChoice
    /// The languages of its sound track in order of preference, from `lang`; empty: those of the film's sound.
    package let languages: [String]
    /// The purpose of its sound track, from `track`; nil: that of the film's sound.
    package let purpose: Track.Purpose?
    /// The channels of the film that it plays, from `part`.
    package let part: ChannelSelection
    /// Its route and stream, from `route`, `encoding`, `bits` and `channels`.
    package let preferences: SpeakerPreferences

    /// A service name has at most 63 bytes (RFC 6763, section 4.1.1), a host name 253.
    static let maxBytes = 512

    /// Creates a speaker without a parser.
    package init(
        _ choice: SpeakerChoice, languages: [String] = [], purpose: Track.Purpose? = nil,
        part: ChannelSelection = .whole, preferences: SpeakerPreferences = SpeakerPreferences()
    ) {
        (self.choice, self.languages, self.purpose, self.preferences) = (choice, languages, purpose, preferences)
        self.part = part
    }

    /// Returns the selection of its sound track; nil: the film's sound.
    ///
    /// - Parameter options: The selection of the film's sound, which completes that of the speaker.
    package func track(beside options: PlayerOptions) -> AudioTrackChoice? {
        guard !languages.isEmpty || (purpose ?? options.audioPurpose) != options.audioPurpose else { return nil }
        return .languages(
            languages + options.audioLanguages + options.userLanguages, purpose: purpose ?? options.audioPurpose)
    }

    /// Parses a speaker and its options.
    package init(parsing text: String) throws(ValueError) {
        guard text.utf8.count <= Self.maxBytes else {
            throw ValueError("a speaker with its options must have at most \(Self.maxBytes) bytes")
        }
        let fields = text.split(separator: ";", omittingEmptySubsequences: false)
        let choice = try SpeakerChoice(parsing: String(fields[0]))
        var languages: [String]?
        var purpose: Track.Purpose?
        var part: ChannelSelection?
        var prefersAAC: Bool?
        var preferences = SpeakerPreferences()
        for field in fields.dropFirst() {
            let keyAndValue = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = PrintableText.of(String(keyAndValue[0]))
            guard keyAndValue.count == 2 else {
                throw ValueError(
                    "'\(name)' after ; is no option of the form lang=de; specify a speaker with ; in its name by its ID"
                )
            }
            switch keyAndValue[0] {
            case "lang":
                guard languages == nil else { throw ValueError("lang is given twice; write lang=de,en") }
                languages = try PlayerOptions.languages(parsing: String(keyAndValue[1]))
            case "track":
                guard purpose == nil else { throw ValueError("track is given twice") }
                purpose = try Track.Purpose(parsing: String(keyAndValue[1]))
            case "route":
                guard preferences.route == nil else { throw ValueError("route is given twice") }
                preferences.route = try SpeakerPreferences.RouteRequest(parsing: String(keyAndValue[1]))
            case "encoding":
                switch keyAndValue[1] {
                case "aac": prefersAAC = true
                case "lossless": prefersAAC = false
                default: throw ValueError("the encoding must be aac or lossless")
                }
            case "bits":
                switch keyAndValue[1] {
                case "16": preferences.bits = 16
                case "24": preferences.bits = 24
                default: throw ValueError("the bits must be 16 or 24")
                }
            case "part":
                guard part == nil else { throw ValueError("part is given twice") }
                part = try ChannelSelection(parsing: String(keyAndValue[1]))
            case "channels":
                switch keyAndValue[1] {
                case "stereo": preferences.channels = 2
                case "5.1": preferences.channels = 6
                case "7.1": preferences.channels = 8
                default: throw ValueError("the channels must be stereo, 5.1 or 7.1")
                }
            default:
                throw ValueError(
                    "a speaker has no option '\(name)'; there are lang, track, part, route, encoding, bits and "
                        + "channels, such as Kitchen;lang=de")
            }
        }
        if part ?? .whole != .whole, preferences.channels > 2 {
            throw ValueError("a speaker with a part gets stereo; omit channels or part")
        }
        if preferences.bits == 24, prefersAAC == true || preferences.channels > 2 {
            throw ValueError("24 bits are sent lossless, and in stereo; omit bits, or encoding=aac and channels")
        }
        preferences.prefersAAC = prefersAAC ?? (preferences.bits != 24)
        self.init(
            choice, languages: languages ?? [], purpose: purpose, part: part ?? .whole, preferences: preferences)
    }

    /// Returns the first speaker that is given with different options; nil if there is none.
    package static func contradiction(in speakers: [SpeakerArgument]) -> SpeakerChoice? {
        var seen: [SpeakerChoice: SpeakerArgument] = [:]
        for speaker in speakers {
            if let other = seen[speaker.choice], other != speaker { return speaker.choice }
            seen[speaker.choice] = speaker
        }
        return nil
    }
}
