package import MediaCore

/// The type of an audio stream.
package enum StreamKind: String, Hashable, Sendable {
    /// Type 103: TCP, minutes ahead.
    case buffered = "buffered"
    /// Type 96: UDP, one packet at a time.
    case realtime = "realtime"
}

/// An event of a software speaker, except audio.
package enum SpeakerEvent: Hashable, Sendable {
    /// A sender connected.
    case connected(from: String)
    /// A connection ended.
    case disconnected(from: String, reason: String)
    /// A request was answered.
    case request(method: String, target: String, status: Int)
    /// A stream was set up.
    case stream(StreamKind, format: String, sampleRate: Int)
    /// The clock was locked or lost. `offset` is the sender's time minus the speaker's.
    case clock(locked: Bool, offset: Duration, grandmaster: UInt64?)
    /// A new anchor: the frame `position` is audible at `instant`, which is `host` on this computer if known.
    case anchor(position: RTPTimestamp, instant: PTPInstant, host: HostInstant?, clock: UInt64?)
    /// Playback stopped; decoded audio was discarded.
    case paused
    /// Audio before `until` was flushed: at once, or from packet `from` when it is due.
    ///
    /// Packets are identified by sequence number on a buffered stream, by timestamp on a realtime one.
    case flushed(from: UInt32?, until: UInt32)
    /// The volume in dB; −144 is mute.
    case volume(Double)
    /// Metadata of the item: an image, or of a kind that this speaker does not read.
    case metadata(kind: String, bytes: Int)
    /// The item, as a display would show it.
    case track(title: String, artist: String, album: String, duration: Duration?)
    /// The progress of the item at an instant: its beginning, the current position, its end.
    case progress(start: RTPTimestamp, now: RTPTimestamp, end: RTPTimestamp)
    /// Packets that arrived after they were due.
    case late(packets: Int)
    /// Packets that did not arrive.
    case lost(packets: Int)
    /// Packets whose retransmission was requested.
    case resendRequested(first: UInt16, count: Int)
    /// A packet could not be decrypted or decoded, or a file of the speaker could not be read or written.
    case damaged(reason: String)
    /// An underrun.
    case underrun
    /// The speaker sent a remote command, as after a key press.
    case pressed(command: String)
    /// Another sender took over the speaker.
    case takenOver
    /// The sender ended the session.
    case tornDown
    /// The speaker could not be announced by mDNS.
    case notAnnounced(reason: String)
    /// The quirk `diesAfter` or `endsUnlessAllowed` ended the session.
    case died
}

/// Contiguous audio: `frames` frames from `position`, the first audible at `instant`.
package struct HeardSpan: Hashable, Sendable, BitwiseCopyable {
    /// The RTP timestamp of the first frame.
    package var position: RTPTimestamp
    /// The number of frames.
    package var frames: Int
    /// When the first frame is audible.
    package var instant: HostInstant
    /// Frames per second.
    var sampleRate: Int

    /// Returns when a frame is audible, or nil if it is outside the span.
    func instant(of frame: RTPTimestamp) -> HostInstant? {
        let index = Int(position.distance(to: frame))
        guard (0..<frames).contains(index) else { return nil }
        return instant.advanced(by: Self.length(of: index, sampleRate))
    }

    /// The instant just after the last frame.
    package var end: HostInstant { instant.advanced(by: Self.length(of: frames, sampleRate)) }

    static func length(of frames: Int, _ sampleRate: Int) -> Duration {
        let rate = Int128(max(1, sampleRate))
        return .nanoseconds(Int64(clamping: (Int128(frames) * 1_000_000_000 + rate / 2) / rate))
    }
}
