internal import CFFmpeg
internal import MediaCore

/// Reads the packets of an input whose timestamps have gaps: reads ahead until a gap can be classified.
final class GapReader {
    private var gaps: GapFollower
    private let address: InputAddress
    /// The packets that were read ahead, and the error that ended reading ahead.
    private let ahead = PacketQueue()
    private var failure: MediaError?
    private static let maxPacketsAhead = 500
    private static let maxBytesAhead = 8 << 20

    /// - Parameter packets: Packets to return before those of the input; they are moved.
    init(_ gaps: GapFollower, _ packets: PacketQueue, of address: InputAddress) {
        self.gaps = gaps
        self.address = address
        ahead.insertAtStart(packets)
    }

    var reach: GapFollower.Reach { gaps.reach }

    /// Reads the next packet and returns the offset of its timestamps; nil at the end.
    ///
    /// - Parameter input: Reads a packet into `packet` and returns it; nil at the end.
    func read(
        into packet: UnsafeMutablePointer<AVPacket>,
        from input: () throws(MediaError) -> UnsafeMutablePointer<AVPacket>?
    ) throws(MediaError) -> MediaTime? {
        if ahead.removeFirst(into: packet) == nil {
            if let failure = failure.take() { throw failure }
            guard try input() != nil else { return nil }
        }
        if let known = gaps.shift(of: packet) { return known }
        var bytes = ahead.packets.reduce(0) { $0 + Int($1.pointee.size) }
        var isLast = failure != nil
        // `packet` receives the next packet.
        guard ahead.insert(packet, atStart: true) != nil else { throw DemuxContext.exhausted(address) }
        while !isLast, !gaps.isEnough(ahead.packets), ahead.count <= Self.maxPacketsAhead, bytes < Self.maxBytesAhead {
            do throws(MediaError) {
                guard let next = try input(), let kept = ahead.insert(next) else {
                    isLast = true
                    break
                }
                bytes += Int(kept.pointee.size)
            } catch {
                (failure, isLast) = (error, true)
            }
        }
        defer { _ = ahead.removeFirst(into: packet) }
        return gaps.decide(ahead.packets, isLast: isLast)
    }

    /// Continues after an interruption by a cancellation.
    func resume() { if failure?.code == .cancelled { failure = nil } }

    /// Discards the packets read ahead.
    func removeAll() {
        ahead.removeAll()
        failure = nil
    }

    /// Resets the state after a seek to a film time.
    func landed(expecting time: MediaTime) { gaps.landed(expecting: time) }

    /// Returns the timestamp offset at a film time.
    func shift(at time: MediaTime) -> MediaTime { gaps.shift(at: time) }
}
