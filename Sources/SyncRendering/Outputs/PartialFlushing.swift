public import MediaCore

/// An output that can drop the end of its accepted audio while the rest continues to play; required by a renderer's
/// `flush(fromSourceTime:)`.
///
/// The feeder thread makes these calls unless stated otherwise. Between `beginPartialFlush` and the result no audio is
/// delivered.
public protocol PartialFlushing: AudioOutput {
    /// The current minimum lead of a flush ahead of the playhead, in host time. Any thread.
    var partialFlushLead: Duration { get }

    /// Starts to drop audio accepted from a media time on. Must not block.
    func beginPartialFlush(from time: MediaTime)

    /// The result; nil until it is decided. The output raises `context.writable` on the decision, within seconds.
    ///
    /// `flushed` states the end of the retained audio: the time, or an earlier one if a packet spans it. From then on
    /// `acceptedUntil` returns the same, and nil if no audio is retained. `refused` changes nothing.
    var partialFlushResult: PartialFlushResult? { get }

    /// After `flushed`: the packet that spans the time, as it was accepted. The output has dropped it; its audio up to
    /// the time must be delivered again. Nil if no packet was cut, as for decoded audio.
    var truncatedPacket: PacketBatch? { get }
}

extension PartialFlushing {
    /// Nil: no packet was cut.
    public var truncatedPacket: PacketBatch? { nil }
}

/// The result of a partial flush of a renderer or of an output.
public enum PartialFlushResult: Sendable, Hashable {
    /// No audio from this media time on will play; the next buffer may start there.
    case flushed(from: MediaTime)
    /// Nothing has changed. The value is the lead that would have sufficed, as far as known; nil: the route does not
    /// support partial flushes.
    case refused(leadNeeded: Duration?)
    /// A full flush, a change of speed or another output intervened and determines the retained audio.
    case overtaken

    /// Whether no audio from the time on will play.
    public var isFlushed: Bool {
        if case .flushed = self { return true }
        return false
    }
}

extension Timebase {
    /// Whether a flush from a media time on is in time for an output with this lead.
    func isFlushInTime(from time: MediaTime, lead: Duration) -> Bool {
        let (snapshot, now) = (snapshot, clock.now)
        let due = snapshot.hostInstant(of: time, at: now)
        return time >= snapshot.mediaTime(at: now) && due.map { $0 - now >= lead } ?? true
    }
}
