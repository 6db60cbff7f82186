/// Something that plays in the middle of a film and is no part of it: an advertisement, a notice (RFC 8216bis, appendix D).
package struct Interstitial: Sendable, Hashable {
    package enum Place: Sendable, Hashable {
        /// Where the film comes to this moment.
        case at(MediaTime)
        /// Before the film begins, wherever that is.
        case before
        /// When the film is over.
        case after
    }

    package enum Assets: Sendable, Hashable {
        case one(String)
        /// An address that lists them.
        case list(String)
    }

    package var id: String
    package var place: Place
    package var assets: Assets
    /// Where the film goes on, from its place; nil is as far behind that as the interstitial lasts.
    package var resumeOffset: MediaTime?
    /// Nothing of it is played beyond this length.
    package var limit: MediaTime
    /// It is not played again in the same film.
    package var isOnce = false
    /// Nobody winds forward while it plays.
    package var forbidsSkipping = false
    /// Whoever jumps from before it to behind it sees it first.
    package var forbidsJumping = false

    /// Films have fewer; an hour of notices is enough for anybody.
    package static let most = 64
    package static let mostAssets = 32
    package static let longest = MediaTime(value: 3600, timescale: 1)

    package init(id: String, place: Place, assets: Assets, resumeOffset: MediaTime? = nil, limit: MediaTime = longest) {
        (self.id, self.place, self.assets) = (id, place, assets)
        (self.resumeOffset, self.limit) = (resumeOffset, limit)
    }
}
