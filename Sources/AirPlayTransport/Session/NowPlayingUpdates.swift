package import AirPlayWire
internal import Glibc
package import MediaCore
package import SyncRendering

/// Decides what a session's speaker is sent about the item: the text when it changes, artwork as well but only during
/// playback, the progress at each start, stop, seek and change of the item. Used on the control thread.
package struct NowPlayingUpdates {
    /// A request to send.
    package enum Request: Hashable {
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
    package enum PlaybackState: Hashable {
        /// Stopped at a media time.
        case stopped(at: MediaTime)
        /// Playing; each start and each moved anchor has another number.
        case playing(anchor: Int)
    }

    private struct Progress: Hashable {
        var start: MediaTime
        var duration: MediaTime?
        var state: PlaybackState
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
    package init(shown: NowPlaying, at identifier: RTPTimestamp, features: FeatureBits, readsAll: Bool = false) {
        (text, self.identifier) = (Self.text(of: shown), identifier)
        self.features = readsAll ? features.union([.progress, .artwork]) : features
    }

    private static func text(of item: NowPlaying) -> NowPlaying {
        NowPlaying(
            title: item.title, artist: item.artist, album: item.album, genre: item.genre, trackNumber: item.trackNumber,
            duration: item.duration)
    }

    /// Returns the next request, and assumes that it is sent; nil: none is due.
    ///
    /// - Parameters:
    ///   - position: The current media time.
    ///   - rate: Media seconds per second; 0 while stopped.
    ///   - timestamp: The RTP timestamp that is heard at `position`.
    ///   - sampleRate: That of the timestamps.
    package mutating func next(
        _ item: NowPlaying, on state: PlaybackState, position: MediaTime, rate: Double, timestamp: RTPTimestamp,
        sampleRate: Int
    ) -> Request? {
        if Self.text(of: item) != text {
            (text, identifier) = (Self.text(of: item), timestamp)
            return .text(text, at: timestamp)
        }
        let progress = Progress(start: item.start, duration: item.duration, state: state)
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
        if item.artwork != artwork, case .playing = state, wants(.artwork) {
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
    package mutating func recordRefusal(of request: Request) {
        switch request {
        case .text: break
        case .progress: refused.insert(.progress)
        case .artwork: refused.insert(.artwork)
        case .item, .position, .state, .commands: refused.insert(.nowPlayingPropertyList)
        }
    }
}

extension NowPlayingUpdates.Request {
    /// An RTSP request.
    package struct Message {
        static let timeout: Duration = .seconds(5)
        /// Receivers take seconds to decode an image, and a network that is away must not cut the request.
        static let artworkTimeout: Duration = .seconds(15)

        package var method = "POST"
        package var headers: RTSPHeaders = ["Content-Type": "application/x-apple-binary-plist"]
        package var body: [UInt8]
        package var timeout = Message.timeout
        /// Nil: the URL of the session.
        package var target: String? = "/command"
    }

    /// The message to send now.
    package var message: Message {
        switch self {
        case .text(let item, let timestamp):
            parameter(item.metadata.body, type: "application/x-dmap-tagged", at: timestamp)
        case .progress(let start, let now, let end):
            parameter(
                TextParameters.progress(start: start, now: now, end: end), type: "text/parameters", at: now)
        case .artwork(let artwork, let timestamp):
            parameter(
                artwork?.bytes ?? [], type: artwork?.type ?? "image/none", at: timestamp,
                timeout: Message.artworkTimeout)
        case .item(let item, let elapsed, let rate, let timestamp):
            Message(
                body: MediaRemoteRequests.item(
                    item.metadata, identifier: timestamp.rawValue, artwork: item.artwork.map { ($0.bytes, $0.type) },
                    at: position(elapsed, rate)
                ).binary(),
                timeout: item.artwork == nil ? Message.timeout : Message.artworkTimeout)
        case .position(let elapsed, let rate):
            Message(body: MediaRemoteRequests.position(position(elapsed, rate)).binary())
        case .state(let isPlaying): Message(body: MediaRemoteRequests.state(isPlaying: isPlaying).binary())
        case .commands: Message(body: MediaRemoteRequests.commands().binary())
        }
    }

    private func parameter(
        _ body: [UInt8], type: String, at timestamp: RTPTimestamp, timeout: Duration = Message.timeout
    ) -> Message {
        Message(
            method: "SET_PARAMETER", headers: ["Content-Type": type, "RTP-Info": "rtptime=\(timestamp.rawValue)"],
            body: body, timeout: timeout, target: nil)
    }

    private func position(_ elapsed: MediaTime, _ rate: Double) -> MediaRemoteRequests.Position {
        // The difference of a start ahead of now, at most seconds, is not seen.
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let sinceYear1970 = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        return .init(elapsed: elapsed.duration, rate: rate, date: sinceYear1970 - Self.year2001)
    }

    /// Seconds from 1970 to 2001, the epoch of property lists.
    private static let year2001: Double = 978_307_200
}

extension NowPlaying {
    fileprivate var metadata: TrackMetadata {
        TrackMetadata(
            title: title, artist: artist ?? "", album: album ?? "", genre: genre ?? "",
            number: trackNumber.flatMap { UInt16(exactly: $0) } ?? 1, duration: duration?.duration)
    }
}

extension NowPlaying.Artwork {
    /// The MIME type.
    fileprivate var type: String { format == .jpeg ? "image/jpeg" : "image/png" }
}
