package import MediaCore
internal import SyncRendering

/// The exact start and end of an item in media time, determined before playback; equal to the engine's later schedule.
package struct FilmExtent: Sendable, Hashable {
    /// The start in media time.
    package var start: MediaTime
    /// The end in media time.
    package var end: MediaTime

    /// Creates an extent; an end before the start is set to the start.
    package init(start: MediaTime = .zero, end: MediaTime) { (self.start, self.end) = (start, max(start, end)) }

    /// The duration between start and end.
    package var length: MediaTime { end - start }
}

extension Player.Components {
    /// Opens an item and determines its end from its last packets. Blocks on the disk or the network.
    ///
    /// - Parameter options: The options of the later playback; they select the tracks.
    /// - Throws: If the item cannot be opened, has no playable track, or its end cannot be determined.
    package func extent(of address: String, _ options: PlayerOptions, _ cancellation: OpenCancellation)
        throws(MediaError) -> FilmExtent
    {
        let film = try open(address, cancellation)
        let summary = film.summary
        let unknown = MediaError(
            .unsupported, "The duration of this item is unknown; a wall cannot be synchronized with it.")
        // Media with one reader for all tracks, or without an end, cannot be read ahead.
        guard !summary.isLive, !summary.sharesReader else { throw unknown }
        let videoTrack = options.playsVideo ? summary.track(.video, number: options.videoTrack) : nil
        var audioTrack: Track?
        if options.playsAudio, audioOutput != nil {
            audioTrack = options.audioTrack.flatMap { summary.track(.audio, number: $0) }
            if audioTrack == nil {
                audioTrack = summary.track(
                    .audio, languages: options.audioLanguages, userLanguages: options.userLanguages,
                    purpose: options.audioPurpose)
            }
        }
        if let track = audioTrack, !canDecode(track) { audioTrack = nil }
        let videoEnd = videoTrack.flatMap { $0.isCoverArt ? nil : VideoEndFinder.find(in: film, $0, near: nil) }
        var (audioEnd, failure) = (MediaTime?.none, MediaError?.none)
        do throws(MediaError) {
            if let audioTrack { audioEnd = try AudioEndFinder.find(in: film, audioTrack) }
        } catch {
            failure = error
        }
        if cancellation.isCancelled { throw MediaError(.cancelled, "opening was cancelled") }
        guard let end = [videoEnd, audioEnd].compactMap({ $0 }).max() else { throw failure ?? unknown }
        let start = options.start?.mediaTime(in: summary.duration) ?? .zero
        let asked = options.end?.mediaTime(in: summary.duration)
        return FilmExtent(start: start, end: asked.map { min($0, end) } ?? end)
    }
}

/// Determines the end of an audio track, as `AudioStage` will later: the end of its last audible packet.
enum AudioEndFinder {
    /// The distance from the likely end at which reading starts, so that the last packets are included even if the
    /// container's duration is inaccurate.
    private static let margin = MediaTime(value: 2, timescale: 1)
    /// The maximum number of packets to read: days of the shortest ones.
    private static let maxPackets = 20_000_000

    /// Returns the end in film time; nil if no packet states a time.
    static func find(in film: any MediaSource, _ track: Track) throws(MediaError) -> MediaTime? {
        if let likely = film.summary.duration, film.summary.isSeekable,
            // ignored: after an error near its end, the track is read from its start.
            let found = try? last(in: film, track, from: max(.zero, likely - margin))
        {
            return found
        }
        return try last(in: film, track, from: nil)
    }

    private static func last(in film: any MediaSource, _ track: Track, from start: MediaTime?) throws(MediaError)
        -> MediaTime?
    {
        let source = try film.source(for: track)
        if let start { try source.seek(to: start, mode: .exact) }
        var end: MediaTime?
        var failures = 0
        for _ in 0..<maxPackets {
            do throws(MediaError) {
                guard let buffer = try source.read() else { return end }
                failures = 0
                guard !buffer.flags.contains(.decodeOnly), let begin = buffer.presentationTime ?? end else { continue }
                end = max(end ?? begin, begin + buffer.audioLength)
            } catch {
                if error.isIncomplete { return end }
                failures += 1
                guard error.isRecoverable, failures < 100 else { throw error }
            }
        }
        return nil
    }
}

extension SampleBuffer {
    /// The duration of the audio; a decoded block states it even if the buffer does not.
    var audioLength: MediaTime {
        if duration == .zero, case .pcm(let block) = payload { return block.end - block.start }
        return duration
    }
}
