internal import MediaCore
internal import SyncRendering

/// Interstitials as people meet them: what may be wound past, and what is shown meanwhile. Where they are on the list is said by
/// `PlaybackList`.
extension PlaybackEngine {
    /// The interstitial that is perceived.
    var aside: PlaybackList.Aside? { current?.turn.aside }

    /// What holds of it.
    private var interstitial: Interstitial? {
        guard let aside, let entry = current, let programme = list.programmes[entry.item.id],
            programme.breaks.indices.contains(aside.number)
        else { return nil }
        return programme.breaks[aside.number].interstitial
    }

    /// The moment of the film from which people count: during an interstitial, where the film stands.
    var meantMoment: MediaTime { aside?.place ?? filmMoment }

    var forbidsSkipping: Bool { interstitial?.forbidsSkipping ?? false }

    /// Goes to a moment of the film where an interstitial plays, or lies on the way and is to be seen; false where neither is so.
    func windsAcrossBreak(to target: MediaTime) -> Bool {
        guard let entry = current else { return false }
        if let aside {
            guard target <= aside.place || !forbidsSkipping else {
                news(.message("This interstitial cannot be skipped; the film goes on when it is over."))
                return true
            }
            begin(with: entry.turn.plain, at: target)
            return true
        }
        let list = list
        guard let number = list.breakBetween(filmMoment, and: target, of: entry.item.id),
            let turn = list.turn(into: number, of: entry.turn.plain, goal: target)
        else { return false }
        news(.message("An interstitial comes first; the film goes on at \(target.clock)."))
        begin(with: turn)
        return true
    }

    /// Leaves the interstitial for the film; false where none plays.
    func skipsBreak() -> Bool {
        guard let entry = current, entry.turn.aside != nil else { return false }
        guard !forbidsSkipping else {
            news(.message("This interstitial cannot be skipped; the film goes on when it is over."))
            return true
        }
        let list = list
        var next = list.turn(behind: entry.turn, lasting: entry.asideLength)
        while let turn = next, turn.aside != nil { next = list.turn(behind: turn, lasting: .zero) }
        if let next { begin(with: next) } else { finish() }
        return true
    }

    /// A part of an interstitial cannot be played: the film goes on without it.
    func passOver(_ turn: PlaybackList.Turn, _ error: TalkieError) {
        shared.update { $0.noteLost(turn) }
        news(
            .message(
                Sentences.joined(
                    "An interstitial of “\(turn.item.title ?? turn.item.name)” is left out.", error.message)))
    }

    /// What was found in the middle of a film that is open.
    func noteBreaks(of media: PrefetchedMedia, _ turn: PlaybackList.Turn) {
        guard turn.aside == nil, let found = media.found else { return }
        for sentence in found.troubles { news(.message(sentence)) }
        shared.update { $0.note(found.programme, of: turn.item.id) }
    }

    /// The state while an interstitial plays: the film stands where it was left.
    func describe(_ aside: PlaybackList.Aside, of entry: PlaybackList.Entry, in state: inout PlayerState) {
        let programme = list.programmes[entry.item.id]
        let film = entry.item.title ?? programme?.title ?? entry.item.name
        state.title = "\(entry.title) – \(film)"
        state.duration = programme?.duration
        state.chapters = programme?.chapters ?? []
        state.heldPosition = aside.place
        shared.update { $0.noteSeen(entry.turn) }
    }
}
