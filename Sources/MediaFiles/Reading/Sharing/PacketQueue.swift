internal import CFFmpeg
internal import MediaCore

/// Packets that were read ahead, in order, with the offsets of their timestamps. Owns the packets.
final class PacketQueue {
    private var entries: [(packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime)] = []

    deinit { removeAll() }

    var count: Int { entries.count }
    var packets: [UnsafeMutablePointer<AVPacket>] { entries.map(\.packet) }

    /// Moves the contents of a packet into the queue and returns its packet; nil without memory.
    @discardableResult
    func insert(
        _ packet: UnsafeMutablePointer<AVPacket>, shift: MediaTime = .zero, atStart: Bool = false
    ) -> UnsafeMutablePointer<AVPacket>? {
        guard let kept = av_packet_alloc() else { return nil }
        av_packet_move_ref(kept, packet)
        entries.insert((kept, shift), at: atStart ? 0 : count)
        return kept
    }

    /// Moves all packets of another queue before those of this one.
    func insertAtStart(_ other: PacketQueue) {
        entries = other.entries + entries
        other.entries = []
    }

    /// Moves the contents of the first packet into `packet` and returns its offset; nil if the queue is empty.
    func removeFirst(into packet: UnsafeMutablePointer<AVPacket>) -> MediaTime? {
        guard !entries.isEmpty else { return nil }
        let first = entries.removeFirst()
        av_packet_unref(packet)
        av_packet_move_ref(packet, first.packet)
        Self.free(first.packet)
        return first.shift
    }

    func removeAll() {
        for entry in entries { Self.free(entry.packet) }
        entries.removeAll(keepingCapacity: true)
    }

    private static func free(_ packet: UnsafeMutablePointer<AVPacket>) {
        var packet = Optional(packet)
        av_packet_free(&packet)
    }
}
