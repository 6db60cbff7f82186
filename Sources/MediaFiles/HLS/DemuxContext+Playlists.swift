internal import CFFmpeg
internal import Glibc
internal import MediaCore

/// Reading a film in playlists from a later piece: they are opened anew, cut at that piece.
extension DemuxContext {
    /// Whatever is read next is of that moment's piece, as the playlists count; nil is the first.
    ///
    /// - Parameter start: the film time at which the stream begins by which the place is looked for.
    /// - Throws: as opening does. Nothing can be read then until another place was found.
    func openPlaylists(
        from moment: MediaTime?, streamStart start: MediaTime = .zero, within patience: Duration
    ) throws(MediaError) {
        guard let gate else { throw ReadingErrors.reading(cff_error_invalid_data, address, waiting) }
        if !film.isKnown { film.note(streams) }
        let wanted = Set(
            streams.filter { $0.pointee.discard != AVDISCARD_ALL }.map { film.number(of: $0.pointee.index) })
        let isAnew = context != nil
        close()
        film.reopen()
        gate.begin(at: moment.map { max(.zero, $0 - start) })
        isAtFirstPiece = moment == nil
        let alone = film.playlist.flatMap { gate.playlists.address(of: $0) }
        policy.pointee.is_led_to = alone == nil ? 0 : 1
        defer {
            gate.begin(at: nil)
            finishOpening()
        }
        try begin(alone ?? address.url, "hls", within: patience)
        guard film.match(streams, isAlone: alone != nil) else {
            close()
            throw MediaError(
                .readFailed, "\"\(address.text)\" no longer has the tracks it had; it changed while it was being read")
        }
        if isAnew { keepOnly { wanted.contains($0) } }
        if let moment {
            let cut = gate.cuts.first
            isAtFirstPiece = cut?.start == .zero
            follower?.opened(
                from: (cut?.start ?? .zero) + start, at: moment, isBehindBreak: cut?.isBehindBreak ?? false)
        }
    }
}

/// What playlists say of a film besides its pieces.
extension DemuxContext {
    /// The interstitials that the playlist of a track announces, where it is a film's and not a live one.
    func interstitials(of track: Track?) -> [Interstitial] {
        guard let track, let gate, formatName.hasPrefix("hls"), duration != nil else { return [] }
        let stream = streams.first { film.number(of: $0.pointee.index) == Int32(clamping: track.id) }
        let place = (stream?.pointee.id).flatMap(gate.playlists.address) ?? address.url
        guard let known = gate.playlists.known(at: place) else { return [] }
        return InterstitialReading.interstitials(of: known.playlist, at: known.location)
    }

    /// Reads the playlist at the film's own address once more: libavformat read it before it was known to be one.
    func noteOwnPlaylist() {
        guard let gate, formatName.hasPrefix("hls"), duration != nil, gate.playlists.isEmpty else { return }
        _ = gate.playlists.note(ownPlaylist(), at: address.url, from: address.url)
    }

    private func ownPlaylist() -> [UInt8] {
        guard let input = context?.pointee.pb, avio_seek(input, 0, SEEK_SET) == 0 else { return [] }
        if address.kind == .network { waiting.allow(options.readTimeout) }
        defer { waiting.allow(nil) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
        while bytes.count < cff_longest_playlist {
            let got = avio_read(input, &piece, Int32(piece.count))
            guard got > 0 else { break }
            bytes += piece.prefix(Int(got))
        }
        return bytes
    }
}
