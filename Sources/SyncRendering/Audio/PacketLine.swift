internal import MediaCore

/// The packets that an output takes untouched, one behind the other in film time. They cannot be cut: each takes up the place of a
/// whole packet, however little of it is to be heard.
struct PacketLine {
    /// Containers round times to milliseconds: a packet that begins this near to where the one before ends follows on from it.
    static let tolerance: Duration = .milliseconds(3)

    /// The frames of a whole packet; 0 where packets last as long as they say.
    private var framesPerPacket: Int64 = 0
    private var rate: Int32 = 1
    /// Where packets that follow on from one another begin, and how many frames they take up.
    private var origin: MediaTime?
    private var frames: Int64 = 0

    /// Film time just after the last packet; nil before the first.
    private(set) var end: MediaTime? {
        get { origin.map { frames == 0 ? $0 : $0 + MediaTime(value: frames, timescale: rate) } }
        set { (origin, frames) = (newValue, 0) }
    }

    /// - Parameter end: where what was kept of an earlier line ends.
    init(end: MediaTime? = nil) { self.end = end }

    /// Packets of this format come next.
    mutating func follow(_ format: AudioFormat) {
        let rate = Int32(clamping: format.sampleRate)
        if rate != self.rate { end = end }
        (framesPerPacket, self.rate) = (Int64(format.parameters.framesPerPacket), rate)
    }

    /// What a packet takes up.
    func length(of packet: PacketBatch.Packet) -> MediaTime {
        framesPerPacket > 0 ? MediaTime(value: framesPerPacket, timescale: rate) : packet.duration
    }

    /// Adds a packet that was handed over.
    mutating func append(_ packet: PacketBatch.Packet) {
        let count = framesPerPacket > 0 ? framesPerPacket : packet.duration.rescaled(to: rate)
        if let start = packet.presentationTime, end.map({ (start - $0).duration > Self.tolerance }) ?? true {
            (origin, frames) = (start, count)
        } else {
            (origin, frames) = (origin ?? .zero, frames + count)
        }
    }

    /// Whether a packet would begin before the last one has ended, and with it everything behind it come late.
    func overlaps(_ start: MediaTime) -> Bool {
        guard let end else { return false }
        return (end - start).duration > Self.tolerance
    }

    // MARK: Joints

    /// The first packet of a piece that joins which can be played in its place. Those before are left out: what overlaps, and what
    /// lies before the piece's beginning, unless that is the silence which an encoder puts in front.
    ///
    /// - Parameter beginning: where the piece is to be heard from.
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

    /// Whether less of the sound is lost without the last packet of a piece, of which only the beginning is to be heard, than when
    /// it keeps the first packets of the next piece from their places. Either way it is no more than one packet.
    ///
    /// - Parameters:
    ///   - first: where the next piece's packets begin; nil where its sound can begin at any frame.
    ///   - beginning: where the next piece is to be heard from.
    func isBetterWithout(_ tail: PacketTail, before first: MediaTime?, heardFrom beginning: MediaTime) -> Bool {
        let length = length(of: tail.packet)
        guard length > .zero else { return false }
        /// What of the next piece is lost when its packets have to wait for a moment.
        func loss(after moment: MediaTime) -> MediaTime {
            var from = max(moment, beginning)
            if let first, moment > first {
                let tolerant = (moment - first).advanced(by: .zero - Self.tolerance)
                from =
                    first + length * Int64(clamping: (tolerant.seconds / length.seconds).rounded(.up), in: 0...1 << 40)
            } else if let first {
                from = max(first, moment)
            }
            return max(.zero, from - beginning)
        }
        let heard = max(.zero, tail.heardUntil - tail.start)
        return heard + loss(after: tail.start) < loss(after: tail.start + length)
    }
}

/// The last packet of a piece, of which only the beginning is to be heard. It is held back until it is known what follows.
struct PacketTail {
    /// This packet alone.
    let batch: PacketBatch
    let start: MediaTime
    var heardUntil: MediaTime

    var packet: PacketBatch.Packet { batch.packets[0] }

    /// The same, heard up to a moment only.
    func ending(at moment: MediaTime) -> PacketTail {
        var shorter = self
        shorter.heardUntil = min(heardUntil, moment)
        return shorter
    }
}
