internal import MediaCore

/// What the playlists of one film said when they were read first. Its readers share it, each on its thread.
///
/// Where nothing is added to a playlist any more it is not asked for again (RFC 8216, 6.3.4): a jump would wait for it.
final class FilmPlaylists: Sendable {
    struct Known: Sendable {
        var playlist: MediaPlaylist
        /// What its addresses are relative to.
        var location: String
    }

    private struct State {
        var order: [String] = []
        var isOrdered = false
        var known: [String: Known] = [:]
        var bytes = 0
        var dash: (address: String, DASHPlaylists)?
    }

    private let state = Lock(State())

    /// Of longer films the playlists are asked for again at each jump.
    private static let mostBytes = 32 << 20
    private static let mostAddresses = 500

    // MARK: Where a film leads

    /// What the film's own address led to, in the order in which libavformat numbers playlists.
    func leads(to address: String) {
        state.withLock { if !$0.isOrdered, $0.order.count < Self.mostAddresses { $0.order.append(address) } }
    }

    /// The film is open: what is opened now is opened for one of its readers.
    func close() { state.withLock { $0.isOrdered = true } }

    /// Where the playlist of a number is; nil where the film's own address is that.
    func address(of number: Int32) -> String? {
        state.withLock { state in
            guard number >= 0, number < state.order.count, state.known[state.order[Int(number)]] != nil else {
                return nil
            }
            return state.order[Int(number)]
        }
    }

    // MARK: What playlists say

    func note(_ text: [UInt8], at address: String, from location: String) -> Known? {
        if let known = known(at: address) { return known }
        guard let playlist = MediaPlaylist(text) else { return nil }
        let known = Known(playlist: playlist, location: location)
        state.withLock { state in
            guard playlist.isEnded, state.bytes + text.count <= Self.mostBytes else { return }
            state.bytes += text.count
            state.known[address] = known
        }
        return known
    }

    /// Whether no playlist is known that has ended.
    var isEmpty: Bool { state.withLock { $0.known.isEmpty } }

    func known(at address: String) -> Known? { state.withLock { $0.known[address] } }

    /// Returns the playlist that names a segment and the segment's stated duration; nil where no known playlist names
    /// it.
    func segment(at address: String) -> (playlist: String, duration: MediaTime?)? {
        for (place, known) in state.withLock({ $0.known }) {
            guard let seconds = known.playlist.seconds(ofSegmentAt: address, from: known.location) else { continue }
            return (place, MediaTime(boundedSeconds: seconds))
        }
        return nil
    }

    /// Whether the playlists state the durations of their segments in fractions of a second, and have ended.
    var stateDuration: Bool {
        state.withLock { state in
            !state.known.isEmpty && state.known.values.allSatisfy { $0.playlist.hasExactDurations }
        }
    }

    // MARK: DASH

    var dash: DASHPlaylists? { state.withLock { $0.dash?.1 } }

    func note(_ playlists: DASHPlaylists, at address: String) { state.withLock { $0.dash = (address, playlists) } }

    /// The playlist that takes the place of a manifest, or one that such a one leads to.
    func words(ofDASHAt address: String) -> [UInt8]? {
        guard let (own, playlists) = state.withLock({ $0.dash }) else { return nil }
        return address == own ? playlists.master : playlists.playlist(at: address)
    }
}
