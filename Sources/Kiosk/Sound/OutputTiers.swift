internal import MediaCore
internal import Playback

/// The wanted outputs of a kiosk and their fallbacks. A value.
///
/// The wanted outputs play while at least one is present. If all are lost, the first present fallback plays as well;
/// the lost ones stay members, so that they rejoin automatically. The last fallback is the output of this computer.
struct OutputTiers: Sendable, Equatable {
    /// The availability of an output.
    enum Presence: Sendable, Hashable {
        /// Not found yet.
        case sought
        case present
        case lost
    }

    /// The outputs to use, in the order of the names.
    struct Choice: Sendable, Equatable {
        /// All members of the group, including lost outputs that may return.
        var members: [String]
        /// The audible members.
        var audible: [String]
        /// True if a fallback replaces the wanted outputs.
        var isFallback: Bool
        /// The selections of the outputs that play another sound track than the film's default.
        var tracks: [String: AudioTrackChoice] = [:]
    }

    let wanted: [String]
    /// In order of preference. The output of this computer is appended unless it is configured.
    let fallbacks: [String]
    /// The sound tracks of outputs, by name; others play the film's default.
    let tracks: [String: AudioTrackChoice]
    /// The channels that outputs play, by name; others play all.
    let parts: [String: ChannelSelection]
    private(set) var presence: [String: Presence]
    /// True during the wait for the wanted outputs, in which no fallback is used.
    var waitsForWanted = true

    static let thisComputer = "local"

    init(
        wanted: [String], fallbacks: [String], tracks: [String: AudioTrackChoice] = [:],
        parts: [String: ChannelSelection] = [:]
    ) {
        (self.wanted, self.tracks, self.parts) = (wanted, tracks, parts)
        var last = fallbacks.filter { !wanted.contains($0) }
        if !wanted.contains(Self.thisComputer), !last.contains(Self.thisComputer) { last.append(Self.thisComputer) }
        self.fallbacks = last
        presence = Dictionary((wanted + last).map { ($0, .sought) }) { first, _ in first }
    }

    /// Creates the outputs of a programme.
    init(_ settings: KioskConfiguration.DaySettings) {
        var tracks = settings.languages.mapValues { AudioTrackChoice.languages($0) }
        for (name, purpose) in settings.purposes {
            // The film's own sound needs no choice.
            let languages = settings.languages[name] ?? []
            tracks[name] = languages.isEmpty && purpose == .main ? nil : .languages(languages, purpose: purpose)
        }
        self.init(wanted: settings.speakers, fallbacks: settings.fallbacks, tracks: tracks, parts: settings.parts)
    }

    /// The names not found yet.
    var sought: [String] { (wanted + fallbacks).filter { presence[$0] == .sought } }

    /// Records the availability of an output; unknown names are ignored.
    mutating func setPresence(_ name: String, _ presence: Presence) {
        if self.presence[name] != nil { self.presence[name] = presence }
    }

    /// The outputs to use; nil during the wait for the wanted ones.
    var choice: Choice? {
        guard var choice = membership else { return nil }
        choice.tracks = tracks.filter { [members = choice.members] name, _ in members.contains(name) }
        return choice
    }

    private var membership: Choice? {
        if wanted.isEmpty {
            // A group must have at least one member.
            guard presence[Self.thisComputer] == .present else { return nil }
            return Choice(members: [Self.thisComputer], audible: [], isFallback: false)
        }
        let audible = wanted.filter { presence[$0] == .present }
        let away = wanted.filter { presence[$0] == .lost }
        if !audible.isEmpty {
            return Choice(members: wanted.filter { presence[$0] != .sought }, audible: audible, isFallback: false)
        }
        if waitsForWanted, away.isEmpty { return nil }
        guard let other = fallbacks.first(where: { presence[$0] == .present }) else {
            return away.isEmpty ? nil : Choice(members: away, audible: [], isFallback: false)
        }
        return Choice(members: away + [other], audible: [other], isFallback: true)
    }
}
