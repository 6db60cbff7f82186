/// An HLS interstitial, for instance an advertisement: media inserted into an item (RFC 8216bis, appendix D).
package struct Interstitial: Sendable, Hashable {
    /// The position of an interstitial in its item.
    package enum Position: Sendable, Hashable {
        /// At this media time.
        case at(MediaTime)
        /// Before the start of the item (pre-roll).
        case before
        /// After the end of the item (post-roll).
        case after
    }

    /// The media of an interstitial, by URI.
    package enum Assets: Sendable, Hashable {
        /// A single asset.
        case one(String)
        /// The URI of an asset list.
        case list(String)
    }

    package var id: String
    package var position: Position
    package var assets: Assets
    /// Media time from `position` to the resume position; nil means the played duration of the interstitial.
    package var resumeOffset: MediaTime?
    /// Maximum playback duration; the remainder is not played.
    package var limit: MediaTime
    /// True if it is played at most once per playback of the item.
    package var isOnce = false
    /// True if seeking forward within the interstitial is not allowed.
    package var forbidsSkipping = false
    /// True if a seek across its position must play it first.
    package var forbidsJumping = false

    /// Maximum number of interstitials per item; real playlists have fewer.
    package static let maxCount = 64
    /// Maximum number of assets of one interstitial.
    package static let maxAssets = 32
    /// Maximum playback duration of one interstitial: one hour.
    package static let longest = MediaTime(value: 3600, timescale: 1)

    package init(
        id: String, position: Position, assets: Assets, resumeOffset: MediaTime? = nil, limit: MediaTime = longest
    ) {
        (self.id, self.position, self.assets) = (id, position, assets)
        (self.resumeOffset, self.limit) = (resumeOffset, limit)
    }
}
