internal import MediaCore

/// Audio being delivered, with the offset of its first unaccepted frame or packet.
enum PendingAudio {
    case nothing
    case block(PCMBlock, Int)
    case packets(PacketBatch, Int)

    /// Whether there is nothing to deliver.
    var isEmpty: Bool { if case .nothing = self { true } else { false } }

    /// Offers the audio to an output, and keeps what it does not accept.
    ///
    /// - Returns: The number of accepted frames or packets, and the accepted packets.
    mutating func offer(to output: OutputAbilities) -> (taken: Int, packets: ArraySlice<PacketBatch.Packet>) {
        switch self {
        case .nothing: return (0, [])
        case .block(let block, let offset):
            let taken = output.output.accept(block, from: offset)
            self = offset + taken >= block.frames ? .nothing : .block(block, offset + taken)
            return (taken, [])
        case .packets(let batch, let offset):
            let taken = output.packets?.accept(batch, from: offset) ?? 0
            let packets = batch.packets
            self = offset + taken >= packets.count ? .nothing : .packets(batch, offset + taken)
            return (taken, packets[offset..<min(offset + taken, packets.count)])
        }
    }

    /// Drops audio from a media time on.
    mutating func cut(at time: MediaTime) {
        switch self {
        case .block(let block, let offset):
            if !block.cut(at: time) || block.frames <= offset { self = .nothing }
        case .packets(let packets, let offset):
            let rest = packets.prefix(before: time, from: offset)
            self = rest.packets.isEmpty ? .nothing : .packets(rest, 0)
        case .nothing: break
        }
    }
}

/// The media time from which delivery resumes: earlier audio only primes the codecs.
struct ResumePoint {
    private var time: MediaTime?

    /// - Parameter time: Nil: all audio is delivered.
    init(_ time: MediaTime? = nil) { self.time = time }

    /// Whether all audio is delivered.
    var isEmpty: Bool { time == nil }

    /// Resumes at `end` or later.
    mutating func raise(to end: MediaTime) { time = max(time ?? end, end) }

    /// Returns the number of leading frames of a block that are not delivered.
    mutating func frames(before block: PCMBlock) -> Int {
        guard let start = time else { return 0 }
        if block.end <= start { return block.frames }
        time = nil
        return block.frames(before: start)
    }

    /// Returns the number of leading packets of an encoder that are not delivered.
    mutating func packets(endingBefore batch: PacketBatch) -> Int {
        guard let start = time else { return 0 }
        let count = batch.packets.prefix { packet in
            packet.presentationTime.map { $0 + packet.duration <= start } ?? false
        }.count
        if count < batch.packets.count { time = nil }
        return count
    }

    /// Returns the number of leading packets that are not delivered. The last one before the time is, since decoders
    /// need it as preroll.
    mutating func packets(before batch: PacketBatch) -> Int { max(0, packets(endingBefore: batch) - 1) }
}
