internal import MediaCore
internal import SyncRendering

/// Finds the image that outputs display for an item: its cover, or a frame of it.
enum ArtworkFinder {
    /// Larger covers are encoded again: speakers take an image in one request.
    private static let maxCover = 128 << 10
    /// Maximum number of pixels of a side: some receivers refuse more than 600.
    static let maxSide = 600
    /// The beginning of a film is often black: a frame is taken after this part of it.
    private static let part: Int64 = 10
    /// The maximum number of steps to the first frame.
    private static let maxSteps = 1000

    /// Returns the image of an item. Blocks on the disk or the network, and decodes one frame.
    ///
    /// - Parameters:
    ///   - allowsFrame: Whether a frame may be read if there is no cover.
    /// - Returns: Nil if there is none, if it cannot be decoded, or if the input cannot be opened twice.
    static func find(
        in media: PrefetchedMedia, parts: Player.Parts, allowsFrame: Bool
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
        _ track: Track, _ media: PrefetchedMedia, _ parts: Player.Parts
    ) throws(MediaError) -> NowPlaying.Artwork? {
        let summary = media.film.summary
        let pictures = try parts.pictures(of: media, track)
        if !track.isCoverArt, !track.isPicture, summary.isSeekable, let duration = summary.duration {
            try pictures.seek(to: MediaTime(nanoseconds: duration.nanoseconds / part), aim: .anySyncBefore)
        }
        for _ in 0..<maxSteps {
            switch try pictures.step() {
            case .moved: continue
            case .ended: return nil
            case .picture(let buffer):
                guard case .picture(let picture) = buffer.payload else { return nil }
                return parts.encodeArtwork(picture).flatMap { NowPlaying.Artwork($0) }
            }
        }
        return nil
    }
}
