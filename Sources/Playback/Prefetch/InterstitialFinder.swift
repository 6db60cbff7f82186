internal import MediaCore

/// Asks what the interstitials of a film are made of, before it plays.
struct InterstitialFinder {
    let parts: Player.Parts
    let film: String
    let cancellation: OpenCancellation

    /// What was found, and what of that was left out, one sentence each.
    struct Found: Sendable {
        var programme: PlaybackList.Programme
        var troubles: [String]
    }

    /// - Returns: the breaks that can be played, and a sentence where others were left out. Nil where there are none.
    func programme(of summary: MediaSummary) -> Found? {
        guard !summary.interstitials.isEmpty, !summary.isLive, summary.isSeekable else { return nil }
        var (breaks, troubles) = ([PlaybackList.Break](), [String]())
        for interstitial in summary.interstitials.prefix(Interstitial.most) {
            switch interstitial.assets {
            case .one(let address): breaks.append(PlaybackList.Break(interstitial, [address]))
            case .list(let address):
                // A server that does not answer one list is not asked for all of them.
                guard troubles.count < 3, !cancellation.isCancelled else { continue }
                do throws(MediaError) {
                    let addresses = try parts.listInterstitial(address, film, cancellation)
                    if !addresses.isEmpty { breaks.append(PlaybackList.Break(interstitial, addresses)) }
                } catch {
                    troubles.append(Sentences.joined(error.message, "The film plays without them."))
                }
            }
        }
        return Found(programme: PlaybackList.Programme(breaks, of: summary), troubles: Array(troubles.prefix(1)))
    }
}
