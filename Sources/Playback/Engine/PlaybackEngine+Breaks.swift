internal import MediaCore
internal import SyncRendering

/// User interaction with interstitials: seeks across them, and the displayed state. Their positions are determined by
/// `PlaybackList`.
extension PlaybackEngine {
    /// The playing interstitial part; nil if there is none.
    var aside: PlaybackList.Aside? { current?.turn.aside }

    /// The properties of the playing interstitial.
    private var interstitial: Interstitial? {
        guard let aside, let entry = current, let programme = list.programmes[entry.item.id],
            programme.breaks.indices.contains(aside.number)
        else { return nil }
        return programme.breaks[aside.number].interstitial
    }

    /// The media time to which user commands refer: during an interstitial, that of its item.
    var meantMoment: MediaTime { aside?.place ?? filmMoment }

    var forbidsSkipping: Bool { interstitial?.forbidsSkipping ?? false }

    /// Handles a seek during an interstitial, or across a mandatory one; returns false in other cases.
    func windsAcrossBreak(to target: MediaTime) -> Bool {
        guard let entry = current else { return false }
        if let aside {
            guard target <= aside.place || !forbidsSkipping else {
                news(.message("This interstitial cannot be skipped; the film continues after it."))
                return true
            }
            begin(with: entry.turn.plain, at: target)
            return true
        }
        let list = list
        guard let number = list.breakBetween(filmMoment, and: target, of: entry.item.id),
            let turn = list.turn(into: number, of: entry.turn.plain, goal: target)
        else { return false }
        news(.message("An interstitial is played first; the film continues at \(target.clock)."))
        begin(with: turn)
        return true
    }

    /// Skips the playing interstitial; returns false if there is none.
    func skipsBreak() -> Bool {
        guard let entry = current, entry.turn.aside != nil else { return false }
        guard !forbidsSkipping else {
            news(.message("This interstitial cannot be skipped; the film continues after it."))
            return true
        }
        let list = list
        var next = list.turn(behind: entry.turn, lasting: entry.asideLength)
        while let turn = next, turn.aside != nil { next = list.turn(behind: turn, lasting: .zero) }
        if let next { begin(with: next) } else { finish() }
        return true
    }

    /// Skips a part of an interstitial that cannot be played.
    func passOver(_ turn: PlaybackList.Turn, _ error: TalkieError) {
        shared.update { $0.noteLost(turn) }
        news(
            .message(
                Sentences.joined(
                    "An interstitial of “\(turn.item.title ?? turn.item.name)” is skipped.", error.message)))
    }

    /// Stores the interstitials of opened media.
    func noteBreaks(of media: PrefetchedMedia, _ turn: PlaybackList.Turn) {
        guard turn.aside == nil, let found = media.found else { return }
        for sentence in found.troubles { news(.message(sentence)) }
        shared.update { $0.note(found.programme, of: turn.item.id) }
    }

    /// Describes the state during an interstitial: position and duration are those of the item.
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
