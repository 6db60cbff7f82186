internal import MediaCore

/// Stores the playlists of one film as first read. Shared by its readers, each on its own thread.
///
/// Ended playlists are not requested again (RFC 8216, 6.3.4): a seek would have to wait for them.
final class FilmPlaylists: Sendable {
    struct Known: Sendable {
        var playlist: MediaPlaylist
        /// The base URL of its segments.
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

    /// The maximum total size in bytes; playlists beyond it are requested again at each seek.
    private static let maxBytes = 32 << 20
    private static let maxAddresses = 500

    // MARK: Playlist URLs

    /// Appends a URL that the film's playlist refers to, in the order in which libavformat numbers playlists.
    func leads(to address: String) {
        state.withLock { if !$0.isOrdered, $0.order.count < Self.maxAddresses { $0.order.append(address) } }
    }

    /// Ends the numbering once the film is open: later URLs are opened for single readers.
    func close() { state.withLock { $0.isOrdered = true } }

    /// Returns the URL of a playlist by number; nil if it is unknown, as for a film without a master playlist.
    func address(of number: Int32) -> String? {
        state.withLock { state in
            guard number >= 0, number < state.order.count, state.known[state.order[Int(number)]] != nil else {
                return nil
            }
            return state.order[Int(number)]
        }
    }

    // MARK: Contents

    /// Parses a playlist and stores it if it has ended; nil for an invalid one, and after a cancellation.
    func parse(
        _ text: [UInt8], at address: String, from location: String, isCancelled: @escaping () -> Bool = { false }
    ) -> Known? {
        if let known = known(at: address) { return known }
        guard let playlist = MediaPlaylist(text, isCancelled: isCancelled) else { return nil }
        let known = Known(playlist: playlist, location: location)
        state.withLock { state in
            guard playlist.isEnded, state.bytes + text.count <= Self.maxBytes else { return }
            state.bytes += text.count
            state.known[address] = known
        }
        return known
    }

    /// Whether no playlist is stored, neither a received nor a generated one.
    var isEmpty: Bool { state.withLock { $0.known.isEmpty && $0.dash == nil } }

    func known(at address: String) -> Known? { state.withLock { $0.known[address] } }

    /// Returns the playlist that contains a segment and the segment's stated duration; nil if no stored playlist
    /// contains it.
    func segment(
        at address: String, _ budget: inout WorkBudget
    ) throws(WorkBudget.Exceeded) -> (playlist: String, duration: MediaTime?)? {
        for (place, known) in state.withLock({ $0.known }) {
            let found = try known.playlist.index(ofSegmentAt: address, from: known.location, &budget)
            guard let index = found else { continue }
            return (place, MediaTime(boundedSeconds: known.playlist.pieces[index].seconds))
        }
        return nil
    }

    /// Returns the stored playlist that contains a segment, its URL and the segment's index; nil if there is none.
    ///
    /// - Parameter first: The first byte of the segment's range.
    func entry(
        ofSegmentAt address: String, from first: Int64, _ budget: inout WorkBudget
    ) throws(WorkBudget.Exceeded) -> (playlist: String, known: Known, index: Int)? {
        for (url, known) in state.withLock({ $0.known }) {
            let found = try known.playlist.index(
                ofSegmentAt: address, firstByte: first, from: known.location, &budget)
            if let index = found { return (url, known, index) }
        }
        return nil
    }

    /// Whether all playlists have ended and state segment durations in fractions of a second.
    var stateDuration: Bool {
        state.withLock { state in
            !state.known.isEmpty && state.known.values.allSatisfy { $0.playlist.hasExactDurations }
        }
    }

    /// The duration in seconds of the longest playlist that is read in parts; nil if there is none.
    var secondsWithInitSections: Double? {
        state.withLock { $0.known.values.filter(\.playlist.changesMap).map(\.playlist.seconds).max() }
    }

    // MARK: DASH

    var dash: DASHPlaylists? { state.withLock { $0.dash?.1 } }

    func store(_ playlists: DASHPlaylists, at address: String) { state.withLock { $0.dash = (address, playlists) } }

    /// Returns the generated playlist for a URL: the master playlist in place of the manifest, or one of its media
    /// playlists.
    func text(ofDASHAt address: String) -> [UInt8]? {
        guard let (own, playlists) = state.withLock({ $0.dash }) else { return nil }
        return address == own ? playlists.master : playlists.playlist(at: address)
    }
}
