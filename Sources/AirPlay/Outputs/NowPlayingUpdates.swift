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
        /// A property list about the whole item, with its artwork, elapsed time and rate.
        case item(NowPlaying, elapsed: MediaTime, rate: Double, at: RTPTimestamp)
        /// A property list about elapsed time and rate.
        case position(elapsed: MediaTime, rate: Double)
        /// A property list about the state of playback.
        case state(isPlaying: Bool)
        /// A property list with the commands that the sender accepts.
        case commands
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
    /// The same, as last sent in property lists.
    private var listed: (item: NowPlaying?, progress: Progress?, isPlaying: Bool?, hasCommands: Bool) =
        (nil, nil, nil, false)
    private let features: FeatureBits
    /// The kinds that the speaker has refused.
    private var refused: FeatureBits = []

    /// - Parameters:
    ///   - shown: The item of the text that was sent when the session began, at the timestamp `identifier`.
    ///   - features: The kinds of metadata that the speaker wants; text is sent in any case.
    ///   - readsAll: Whether it reads progress and artwork whatever its features: shairport-sync up to 5.2 states
    ///     property lists alone, passes them on unread, and reads the others.
    init(shown: NowPlaying, at identifier: RTPTimestamp, features: FeatureBits, readsAll: Bool = false) {
        (text, self.identifier) = (Self.text(of: shown), identifier)
        self.features = readsAll ? features.union([.progress, .artwork]) : features
    }

    private static func text(of item: NowPlaying) -> NowPlaying {
        NowPlaying(title: item.title, artist: item.artist, album: item.album, duration: item.duration)
    }

    /// Returns the next request, and assumes that it is sent; nil: none is due.
    ///
    /// - Parameters:
    ///   - position: The current media time.
    ///   - rate: Media seconds per second; 0 while stopped.
    ///   - timestamp: The RTP timestamp that is heard at `position`.
    ///   - sampleRate: That of the timestamps.
    mutating func next(
        _ item: NowPlaying, on line: Line, position: MediaTime, rate: Double, timestamp: RTPTimestamp, sampleRate: Int
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
        return wants(.nowPlayingPropertyList) ? nextList(item, progress, at: position, rate: rate) : nil
    }

    private mutating func nextList(
        _ item: NowPlaying, _ progress: Progress, at position: MediaTime, rate: Double
    ) -> Request? {
        let (elapsed, isPlaying) = (item.elapsed(at: position), rate != 0)
        var shown = text
        // As above; a list of another item removes the image.
        if isPlaying {
            shown.artwork = item.artwork
        } else if let before = listed.item, Self.text(of: before) == text {
            shown.artwork = before.artwork
        }
        if shown != listed.item {
            (listed.item, listed.progress) = (shown, progress)
            return .item(shown, elapsed: elapsed, rate: rate, at: identifier)
        }
        if progress != listed.progress {
            listed.progress = progress
            return .position(elapsed: elapsed, rate: rate)
        }
        if isPlaying != listed.isPlaying {
            listed.isPlaying = isPlaying
            return .state(isPlaying: isPlaying)
        }
        guard !listed.hasCommands else { return nil }
        listed.hasCommands = true
        return .commands
    }

    private func wants(_ kind: FeatureBits) -> Bool { features.subtracting(refused).contains(kind) }

    /// Records that the speaker refused a request: its kind is not sent again in this session, except text.
    mutating func noteRefusal(of request: Request) {
        switch request {
        case .text: break
        case .progress: refused.insert(.progress)
        case .artwork: refused.insert(.artwork)
        case .item, .position, .state, .commands: refused.insert(.nowPlayingPropertyList)
        }
    }
}
