package import MediaCore

/// How a stream comes to the speaker.
package enum StreamKind: String, Hashable, Sendable {
    /// Type 103: minutes ahead, over TCP.
    case buffered
    /// Type 96: packet by packet, over UDP.
    case realtime
}

/// What happened to a speaker in software, besides sound.
package enum SpeakerEvent: Hashable, Sendable {
    /// A sender connected.
    case connected(from: String)
    /// A connection ended, and why.
    case disconnected(from: String, reason: String)
    /// A request was answered.
    case request(method: String, target: String, status: Int)
    /// A stream was set up.
    case stream(StreamKind, format: String, sampleRate: Int)
    /// The clock was found or lost. `offset`: sender minus speaker.
    case clock(locked: Bool, offset: Duration, grandmaster: UInt64?)
    /// The frame `position` shall be heard at `instant`, which is `host` here as far as known.
    case anchor(position: RTPTimestamp, instant: PTPInstant, host: HostInstant?, clock: UInt64?)
    /// Playing stopped; what was decoded already is gone.
    case paused
    /// Sound up to a packet was thrown away: at once, or from another on when that comes up. Packets are named by
    /// sequence number on a buffered, by timestamp on a realtime stream.
    case flushed(from: UInt32?, until: UInt32)
    /// Loudness in dB; −144 is mute.
    case volume(Double)
    /// Text about the item.
    case metadata(kind: String, bytes: Int)
    /// What plays, as a display would show it.
    case title(String)
    /// Packets that came after their moment.
    case late(packets: Int)
    /// Packets that never came.
    case lost(packets: Int)
    /// Packets that were asked for again.
    case resendRequested(first: UInt16, count: Int)
    /// A packet that could not be opened or decoded, or what the speaker keeps could not be read or written.
    case damaged(reason: String)
    /// There was nothing to play.
    case underrun
    /// Another sender has the speaker now.
    case takenOver
    /// The session ended as its sender asked.
    case tornDown
    /// mDNS does not tell of it; why.
    case notAnnounced(reason: String)
    /// The quirk that ends everything struck.
    case died
}

/// A stretch of sound without a seam: `frames` frames from `position` on, the first heard at `instant`.
package struct HeardSpan: Hashable, Sendable, BitwiseCopyable {
    package var position: RTPTimestamp
    package var frames: Int
    package var instant: HostInstant
    package var sampleRate: Int

    /// When a frame of it is heard; nil when it lies outside.
    package func instant(of frame: RTPTimestamp) -> HostInstant? {
        let index = Int(position.distance(to: frame))
        guard (0..<frames).contains(index) else { return nil }
        return instant.advanced(by: Self.length(of: index, sampleRate))
    }

    /// Just after its last frame.
    package var end: HostInstant { instant.advanced(by: Self.length(of: frames, sampleRate)) }

    static func length(of frames: Int, _ sampleRate: Int) -> Duration {
        let rate = Int128(max(1, sampleRate))
        return .nanoseconds(Int64(clamping: (Int128(frames) * 1_000_000_000 + rate / 2) / rate))
    }
}
