internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Seeking in an HLS film: the playlists are reopened, trimmed to the target segment.
extension DemuxContext {
    /// Reopens the playlists at the segment of a film time; nil: at the first segment. Blocks.
    ///
    /// - Parameter start: The film time at which the stream used for seeking begins.
    /// - Throws: Same as opening. After a failure nothing can be read until another seek succeeds.
    func openPlaylists(
        from time: MediaTime?, streamStart start: MediaTime = .zero, within timeout: Duration
    ) throws(MediaError) {
        guard let gate else { throw ReadingErrors.reading(cff_error_invalid_data, address, waiting) }
        if !film.isKnown { film.store(streams) }
        let wanted = Set(
            streams.filter { $0.pointee.discard != AVDISCARD_ALL }.map { film.number(of: $0.pointee.index) })
        let isReopening = context != nil
        close()
        film.reopen()
        gate.begin(at: time.map { max(.zero, $0 - start) })
        isAtFirstPiece = time == nil
        let alone = film.playlist.flatMap { gate.playlists.address(of: $0) }
        policy.pointee.is_led_to = alone == nil ? 0 : 1
        defer {
            gate.endReopening()
            finishOpening()
        }
        try begin(alone ?? address.url, "hls", within: timeout)
        guard film.match(streams, isAlone: alone != nil) else {
            close()
            throw MediaError(
                .readFailed, "\"\(address.text)\" no longer has the same tracks; it changed while it was being read")
        }
        if isReopening { discardExcept { wanted.contains($0) } }
        if let time {
            let cut = gate.cuts.first
            isAtFirstPiece = cut?.start == .zero
            follower?.opened(
                from: (cut?.start ?? .zero) + start, at: time,
                followsDiscontinuity: cut?.followsDiscontinuity ?? false)
        }
    }

    /// Opens the playlists at the segments that follow with another init section; returns false if there are none.
    func openNextInitSection() throws(MediaError) -> Bool {
        guard managesOwnInputs, let next = gate?.initSectionEnd else { return false }
        try openPlaylists(from: next, within: options.readTimeout)
        return true
    }
}

/// Interstitials of an HLS film.
extension DemuxContext {
    /// Returns the interstitials in the playlist of a track; none for live playlists.
    func interstitials(of track: Track?) -> [Interstitial] {
        guard let track, let gate, formatName.hasPrefix("hls"), duration != nil else { return [] }
        let stream = streams.first { film.number(of: $0.pointee.index) == Int32(clamping: track.id) }
        let url = (stream?.pointee.id).flatMap(gate.playlists.address) ?? address.url
        guard let known = gate.playlists.known(at: url) else { return [] }
        return InterstitialReading.interstitials(of: known.playlist, at: known.location)
    }
}
