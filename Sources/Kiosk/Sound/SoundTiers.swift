/// Who plays the sound of a kiosk, and who in their place. A value.
///
/// The speakers that are wanted play as long as one of them is there. Are all of them away, the first fallback that is there
/// plays beside them, so that they come back by themselves; and where nobody is, this computer's own sound.
struct SoundTiers: Sendable, Equatable {
    /// Whether sound can go there.
    enum Presence: Sendable, Hashable {
        /// Nobody has found it so far.
        case sought
        case present
        case lost
    }

    /// What is to play, in the order of the names.
    struct Choice: Sendable, Equatable {
        /// Everybody who is to be a member: also those who are away and may come back.
        var members: [String]
        /// Those that are heard.
        var heard: [String]
        /// Others play in the place of those that are wanted.
        var isFallback: Bool
    }

    let wanted: [String]
    /// In the order in which they take over; this computer's own sound is the last.
    let fallbacks: [String]
    private(set) var presence: [String: Presence]
    /// Those that are wanted are given time to be found before others take over.
    var isPatient = true

    static let thisComputer = "local"

    init(wanted: [String], fallbacks: [String]) {
        self.wanted = wanted
        var last = fallbacks.filter { !wanted.contains($0) }
        if !wanted.contains(Self.thisComputer), !last.contains(Self.thisComputer) { last.append(Self.thisComputer) }
        self.fallbacks = last
        presence = Dictionary((wanted + last).map { ($0, .sought) }) { first, _ in first }
    }

    /// Those that nobody has found so far.
    var sought: [String] { (wanted + fallbacks).filter { presence[$0] == .sought } }

    mutating func note(_ name: String, _ presence: Presence) {
        if self.presence[name] != nil { self.presence[name] = presence }
    }

    /// Nil while those that are wanted are waited for.
    var choice: Choice? {
        if wanted.isEmpty {
            // A group has a member always.
            guard presence[Self.thisComputer] == .present else { return nil }
            return Choice(members: [Self.thisComputer], heard: [], isFallback: false)
        }
        let heard = wanted.filter { presence[$0] == .present }
        let away = wanted.filter { presence[$0] == .lost }
        if !heard.isEmpty {
            return Choice(members: wanted.filter { presence[$0] != .sought }, heard: heard, isFallback: false)
        }
        if isPatient, away.isEmpty { return nil }
        guard let other = fallbacks.first(where: { presence[$0] == .present }) else {
            return away.isEmpty ? nil : Choice(members: away, heard: [], isFallback: false)
        }
        return Choice(members: away + [other], heard: [other], isFallback: true)
    }
}
