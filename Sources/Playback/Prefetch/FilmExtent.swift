package import MediaCore
internal import SyncRendering

/// Where in an item a list begins and ends, to the frame, before it is played: as the engine lays it out when the item's turn comes.
package struct FilmExtent: Sendable, Hashable {
    package var start: MediaTime
    package var end: MediaTime

    package init(start: MediaTime = .zero, end: MediaTime) { (self.start, self.end) = (start, max(start, end)) }

    package var length: MediaTime { end - start }
}

extension Player.Parts {
    /// Opens an item and looks its ends up in its last packets. Blocks while a disk or a network answers.
    ///
    /// - Parameter options: what it is to be played with; the tracks that they choose count.
    /// - Throws: when it cannot be opened, holds nothing that may be played, or nobody can say where it ends.
    package func extent(of address: String, _ options: PlayerOptions, _ cancellation: OpenCancellation)
        throws(MediaError) -> FilmExtent
    {
        let film = try open(address, cancellation)
        let summary = film.summary
        let unknown = MediaError(
            .unsupported, "Nobody can say how long this item lasts; a wall cannot keep in step with it.")
        // What has one reader for all tracks, or no end, cannot be looked at ahead.
        guard !summary.isLive, !summary.sharesReader else { throw unknown }
        let picture = options.playsVideo ? summary.track(.video, number: options.videoTrack) : nil
        var sound: Track?
        if options.playsAudio, audioOutput != nil {
            sound = options.audioTrack.flatMap { summary.track(.audio, number: $0) }
            if sound == nil { sound = summary.track(.audio, languages: options.audioLanguages) }
        }
        if let track = sound, !canDecode(track) { sound = nil }
        let pictureEnd = picture.flatMap { $0.isCoverArt ? nil : VideoEndFinder.find(in: film, $0, near: nil) }
        let soundEnd = sound.flatMap { SoundEndFinder.find(in: film, $0) }
        if cancellation.isCancelled { throw MediaError(.cancelled, "opening was cancelled") }
        guard let end = [pictureEnd, soundEnd].compactMap({ $0 }).max() else {
            throw unknown
        }
        let start = options.start?.moment(in: summary.duration) ?? .zero
        let asked = options.end?.moment(in: summary.duration)
        return FilmExtent(start: start, end: asked.map { min($0, end) } ?? end)
    }
}

/// Finds out where a film's sound ends, as the stage that reads it will say: just after the last packet that is heard.
enum SoundEndFinder {
    /// Before the likely end, so that whatever a container says about it the last packets are among those read.
    private static let margin = MediaTime(value: 2, timescale: 1)
    /// Days of the shortest packets.
    private static let mostPackets = 20_000_000

    /// Film time; nil when nobody can say.
    static func find(in film: any MediaSource, _ track: Track) -> MediaTime? {
        if let likely = film.summary.duration, film.summary.isSeekable,
            let found = try? last(in: film, track, from: max(.zero, likely - margin))
        {
            return found
        }
        return try? last(in: film, track, from: nil)
    }

    private static func last(in film: any MediaSource, _ track: Track, from start: MediaTime?) throws(MediaError)
        -> MediaTime?
    {
        let source = try film.source(for: track)
        if let start { try source.seek(to: start, mode: .exact) }
        var end: MediaTime?
        var failures = 0
        for _ in 0..<mostPackets {
            do throws(MediaError) {
                guard let buffer = try source.read() else { return end }
                failures = 0
                guard !buffer.flags.contains(.decodeOnly), let begin = buffer.presentationTime ?? end else { continue }
                end = max(end ?? begin, begin + buffer.soundLength)
            } catch {
                if error.code == .incomplete { return end }
                failures += 1
                guard error.isRecoverable, failures < 100 else { throw error }
            }
        }
        return nil
    }
}

extension SampleBuffer {
    /// How long the sound lasts; decoded sound knows it even where the buffer does not say.
    var soundLength: MediaTime {
        if duration == .zero, case .pcm(let block) = payload { return block.end - block.start }
        return duration
    }
}
