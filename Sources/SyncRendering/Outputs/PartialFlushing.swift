public import MediaCore

/// An output that can take back the end of what it was handed while the rest plays on: what `flush(fromSourceTime:)`
/// of a renderer needs.
///
/// The feeder's thread makes these calls, except where another is named. Between `beginPartialFlush` and the result
/// nothing is handed over.
public protocol PartialFlushing: AudioOutput {
    /// How far ahead of the playhead, in time heard, a flush must begin to succeed, as known now. Any thread.
    var partialFlushLead: Duration { get }

    /// Begins to drop what was accepted from a film time on. Must return at once.
    func beginPartialFlush(from time: MediaTime)

    /// What became of it; nil while that is open. The output raises `room` when it is decided, within seconds.
    ///
    /// `flushed` says where what is kept ends: the time, or before it when a packet reaches across; `acceptedUntil` says the same from
    /// then on, and is nil when nothing is kept. `refused` leaves everything as it was.
    var partialFlushResult: PartialFlushResult? { get }

    /// After `flushed`: the packet that reaches across the time, as it was accepted. It is gone from the output; the sound in it up to
    /// the time is to be handed over again. Nil where nothing was cut in two, as for outputs of decoded sound.
    var severedPacket: PacketBatch? { get }
}

extension PartialFlushing {
    public var severedPacket: PacketBatch? { nil }
}

/// What came of a flush from a film time on, of a renderer's `flush(fromSourceTime:)` or inside one output.
public enum PartialFlushResult: Sendable, Hashable {
    /// Nothing from this film time on will be heard; the next buffer may start there.
    case flushed(from: MediaTime)
    /// Everything is as it was. With this much between playhead and source time it would have worked, as far as known;
    /// nil: never on this route.
    case refused(leadNeeded: Duration?)
    /// A full flush, a change of speed or another output came between; it decides what is left.
    case overtaken

    /// Nothing from the time on will be heard.
    public var isFlushed: Bool {
        if case .flushed = self { return true }
        return false
    }
}
