internal import MediaCore
internal import SyncRendering

/// Finds the image that outputs display for an item: its cover, or a frame of it.
enum ArtworkFinder {
    /// Larger covers are encoded again: speakers take an image in one request.
    private static let maxCover = 128 << 10
    /// Maximum number of pixels of a side: some receivers refuse more than 600.
    static let maxSide = 600
    /// The beginning of a film is often black: a frame is taken after this part of it.
    private static let divisor: Int64 = 10
    /// The maximum number of packets up to the first frame.
    private static let maxPackets = 1000

    /// Returns the image of an item. Blocks on the disk or the network, and decodes one frame.
    ///
    /// - Parameters:
    ///   - allowsFrame: Whether a frame may be read if there is no cover.
    /// - Returns: Nil if there is none, if it cannot be decoded, or if the input cannot be opened twice.
    static func find(
        in media: PrefetchedMedia, parts: Player.Components, allowsFrame: Bool
    ) -> NowPlaying.Artwork? {
        let summary = media.film.summary
        guard !summary.sharesReader, !summary.isLive else { return nil }
        do throws(MediaError) {
            if let cover = summary.tracks.first(where: \.isCoverArt) {
                if let artwork = try file(of: cover, media) { return artwork }
                return try encoded(cover, media, parts)
            }
            guard allowsFrame, let track = summary.tracks.first(where: { $0.kind == .video }) else { return nil }
            return try encoded(track, media, parts)
        } catch {
            // An unreadable image is no reason for a message: playback reports the item's failures.
            return nil
        }
    }

    /// Returns the cover as stored, if speakers can display it.
    private static func file(of cover: Track, _ media: PrefetchedMedia) throws(MediaError) -> NowPlaying.Artwork? {
        guard case .encodedVideo(_, let batch)? = try media.film.source(for: cover).read()?.payload,
            let packet = batch.packets.first, packet.count <= maxCover
        else { return nil }
        return NowPlaying.Artwork(batch.withBytes(of: packet) { Array($0) })
    }

    /// Returns a frame of a track, encoded.
    private static func encoded(
        _ track: Track, _ media: PrefetchedMedia, _ parts: Player.Components
    ) throws(MediaError) -> NowPlaying.Artwork? {
        let summary = media.film.summary
        guard let format = track.videoFormat else { return nil }
        let source = try media.source(for: track)
        if !track.isCoverArt, !track.isStillImage, summary.isSeekable, let duration = summary.duration {
            try source.seek(to: MediaTime(nanoseconds: duration.nanoseconds / divisor), mode: .syncBefore)
        }
        let decoder = try parts.makeDecoder(format)
        for _ in 0..<maxPackets {
            guard let buffer = try source.read() else { return nil }
            try decoder.send(buffer)
            // Drained after one packet: with reordering and frame threads, a decoder otherwise holds several frames of
            // megabytes before it returns the first, and glibc retains their memory.
            decoder.finish()
            if case .videoFrame(let frame)? = decoder.receive()?.payload {
                return parts.encodeArtwork(frame).flatMap { NowPlaying.Artwork($0) }
            }
            decoder.flush()
        }
        return nil
    }
}
