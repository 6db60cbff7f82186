internal import AirPlayWire
internal import MediaCore
internal import SyncRendering

/// Decides what a session's speaker is sent about the item: the text when it changes, artwork as well but only during
/// playback, the progress at each start, stop, seek and change of the item. Used on the control thread.
struct NowPlayingUpdates {
    /// A request to send.
    enum Request: Hashable {
        case text(NowPlaying, at: RTPTimestamp)
        case progress(start: RTPTimestamp, now: RTPTimestamp, end: RTPTimestamp)
        /// Nil removes the image.
        case artwork(NowPlaying.Artwork?, at: RTPTimestamp)
    }

    /// The state of playback as sent to the speaker.
    enum Line: Hashable {
        /// Stopped at a media time.
        case stopped(at: MediaTime)
        /// Playing; each start and each moved anchor has another number.
        case playing(anchor: Int)
    }

    private struct Progress: Hashable {
        var start: MediaTime
        var duration: MediaTime?
        var line: Line
    }

    /// The item as last sent, except its artwork and its position.
    private var text: NowPlaying
    /// The timestamp that identifies the item: speakers link its text and its artwork by it.
    private var identifier: RTPTimestamp
    private var artwork: NowPlaying.Artwork?
    private var progress: Progress?
    private let features: FeatureBits
    /// The kinds that the speaker has refused.
    private var refused: FeatureBits = []

    /// - Parameters:
    ///   - shown: The item of the text that was sent when the session began, at the timestamp `identifier`.
    ///   - features: The kinds of metadata that the speaker wants; text is sent in any case.
    init(shown: NowPlaying, at identifier: RTPTimestamp, features: FeatureBits) {
        (text, self.identifier, self.features) = (Self.text(of: shown), identifier, features)
    }

    private static func text(of item: NowPlaying) -> NowPlaying {
        NowPlaying(title: item.title, artist: item.artist, album: item.album, duration: item.duration)
    }

    /// Returns the next request, and assumes that it is sent; nil: none is due.
    ///
    /// - Parameters:
    ///   - position: The current media time.
    ///   - timestamp: The RTP timestamp that is heard at `position`.
    ///   - sampleRate: That of the timestamps.
    mutating func next(
        _ item: NowPlaying, on line: Line, position: MediaTime, timestamp: RTPTimestamp, sampleRate: Int
    ) -> Request? {
        if Self.text(of: item) != text {
            (text, identifier) = (Self.text(of: item), timestamp)
            return .text(text, at: timestamp)
        }
        let progress = Progress(start: item.start, duration: item.duration, line: line)
        if progress != self.progress, wants(.progress) {
            self.progress = progress
            func frames(_ time: MediaTime) -> Int64 { max(0, time.rescaled(to: Int32(clamping: sampleRate))) }
            let elapsed = item.elapsed(at: position)
            let rest = item.duration.map { frames($0 - elapsed) } ?? 0
            return .progress(
                start: timestamp.advanced(byFrames: -frames(elapsed)), now: timestamp,
                end: timestamp.advanced(byFrames: rest))
        }
        // A speaker that takes seconds for an image would delay a start.
        if item.artwork != artwork, case .playing = line, wants(.artwork) {
            artwork = item.artwork
            return .artwork(artwork, at: identifier)
        }
        return nil
    }

    private func wants(_ kind: FeatureBits) -> Bool { features.subtracting(refused).contains(kind) }

    /// Records that the speaker refused a request: its kind is not sent again in this session, except text.
    mutating func noteRefusal(of request: Request) {
        switch request {
        case .text: break
        case .progress: refused.insert(.progress)
        case .artwork: refused.insert(.artwork)
        }
    }
}
