internal import MediaCore

/// The contiguous run of packets delivered unchanged to an output. Packets cannot be cut: each occupies the duration of
/// a whole packet, even if only part of it is audible.
struct PacketContinuity {
    /// Containers round timestamps to milliseconds: a packet within this distance of the preceding end is contiguous.
    static let tolerance: Duration = .milliseconds(3)

    /// The number of frames of a whole packet; 0: each packet's stated duration applies.
    private var framesPerPacket: Int64 = 0
    /// Frames per second.
    private var rate: Int32 = 1
    /// The start of the contiguous packets in media time, and their number of frames.
    private var origin: MediaTime?
    private var frames: Int64 = 0

    /// The end of the last packet in media time; nil before the first.
    private(set) var end: MediaTime? {
        get { origin.map { frames == 0 ? $0 : $0 + MediaTime(value: frames, timescale: rate) } }
        set { (origin, frames) = (newValue, 0) }
    }

    /// Creates a run.
    ///
    /// - Parameter end: The end of the preceding run that was retained.
    init(end: MediaTime? = nil) { self.end = end }

    /// Sets the format of the next packets.
    mutating func setFormat(_ format: AudioFormat) {
        let rate = Int32(clamping: format.sampleRate)
        if rate != self.rate { end = end }
        (framesPerPacket, self.rate) = (Int64(format.parameters.framesPerPacket), rate)
    }

    /// Returns the duration that a packet occupies.
    func length(of packet: PacketBatch.Packet) -> MediaTime {
        framesPerPacket > 0 ? MediaTime(value: framesPerPacket, timescale: rate) : packet.duration
    }

    /// Appends a delivered packet.
    mutating func append(_ packet: PacketBatch.Packet) {
        let count = framesPerPacket > 0 ? framesPerPacket : packet.duration.rescaled(to: rate)
        if let start = packet.presentationTime, end.map({ (start - $0).duration > Self.tolerance }) ?? true {
            (origin, frames) = (start, count)
        } else {
            (origin, frames) = (origin ?? .zero, frames + count)
        }
    }

    /// Returns true if a packet at this time would start before the last one ends, which would delay all later packets.
    func overlaps(_ start: MediaTime) -> Bool {
        guard let end else { return false }
        return (end - start).duration > Self.tolerance
    }

    // MARK: Gapless boundaries

    /// Returns the index of the first packet after a gapless boundary that can play at its time. Overlapping packets
    /// and those before the item's start are skipped, unless they are the encoder's priming silence.
    ///
    /// - Parameter beginning: The media time from which the item is audible.
    func firstToPlay(of batch: PacketBatch, from beginning: MediaTime) -> Int {
        var next = beginning
        var silentUntil: MediaTime?
        for (index, packet) in batch.packets.enumerated() {
            let start = packet.presentationTime ?? next
            next = start + length(of: packet)
            if silentUntil == nil {
                silentUntil = start + MediaTime(value: Int64(packet.trimStart), timescale: rate)
            }
            let isBefore = (next - beginning).duration <= Self.tolerance
            let isSilent = silentUntil.map { (next - $0).duration <= Self.tolerance } ?? false
            if !(isBefore && !isSilent), !overlaps(start) { return index }
        }
        return batch.packets.count
    }

    /// Returns true if dropping an item's partly audible last packet loses less audio than delaying the first packets
    /// of the next item. Either loss is at most one packet.
    ///
    /// - Parameters:
    ///   - first: The start of the next item's packets; nil if its audio can start at any frame.
    ///   - beginning: The media time from which the next item is audible.
    func isBetterWithout(_ tail: PacketTail, before first: MediaTime?, heardFrom beginning: MediaTime) -> Bool {
        let length = length(of: tail.packet)
        guard length > .zero else { return false }
        /// Returns how much of the next item is lost if its packets cannot start before `time`.
        func loss(after time: MediaTime) -> MediaTime {
            var from = max(time, beginning)
            if let first, time > first {
                let tolerant = (time - first).advanced(by: .zero - Self.tolerance)
                from =
                    first + length * Int64(clamping: (tolerant.seconds / length.seconds).rounded(.up), in: 0...1 << 40)
            } else if let first {
                from = max(first, time)
            }
            return max(.zero, from - beginning)
        }
        let heard = max(.zero, tail.heardUntil - tail.start)
        return heard + loss(after: tail.start) < loss(after: tail.start + length)
    }
}

/// The last packet of an item, audible only in part. It is retained until the next buffer is known.
struct PacketTail {
    /// A batch of this packet only.
    let batch: PacketBatch
    let start: MediaTime
    var heardUntil: MediaTime

    var packet: PacketBatch.Packet { batch.packets[0] }

    /// Returns the packet with an earlier end of its audible part.
    func ending(at time: MediaTime) -> PacketTail {
        var shorter = self
        shorter.heardUntil = min(heardUntil, time)
        return shorter
    }
}
