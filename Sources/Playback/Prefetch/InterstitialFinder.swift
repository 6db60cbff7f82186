internal import MediaCore

/// Requests the parts of an item's interstitials before playback. Blocks on the network.
struct InterstitialFinder {
    let components: Player.Components
    let film: String
    let cancellation: OpenCancellation

    /// The interstitials found, and a message about those that were skipped.
    struct Found: Sendable {
        var schedule: InterstitialSchedule
        var troubles: [String]
    }

    /// Returns the playable breaks.
    ///
    /// - Returns: The breaks, and a message if others were skipped; nil if there are none.
    func schedule(of summary: MediaSummary) -> Found? {
        guard !summary.interstitials.isEmpty, !summary.isLive, summary.isSeekable else { return nil }
        var (breaks, troubles) = ([InterstitialBreak](), [String]())
        for interstitial in summary.interstitials.prefix(Interstitial.maxCount) {
            switch interstitial.assets {
            case .one(let address): breaks.append(InterstitialBreak(interstitial, [address]))
            case .list(let address):
                // After repeated failures the remaining lists are not requested.
                guard troubles.count < 3, !cancellation.isCancelled else { continue }
                do throws(MediaError) {
                    let addresses = try components.listInterstitial(address, film, cancellation)
                    if !addresses.isEmpty { breaks.append(InterstitialBreak(interstitial, addresses)) }
                } catch {
                    troubles.append(Sentences.joined(error.message, "The film plays without them."))
                }
            }
        }
        return Found(
            schedule: InterstitialSchedule(breaks, of: summary), troubles: Array(troubles.prefix(1)))
    }
}
