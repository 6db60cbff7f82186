import CFFmpeg
import MediaCore
import Testing

@testable import MediaFiles

@Suite struct PacketQueueTests {
    @Test func packetsKeepTheirOrderAndOffsets() throws {
        let packet = try #require(av_packet_alloc())
        defer {
            var last = Optional(packet)
            av_packet_free(&last)
        }
        func insert(_ stamp: Int64, into queue: PacketQueue, atStart: Bool = false) {
            packet.pointee.dts = stamp
            queue.insert(packet, shift: MediaTime(value: stamp, timescale: 1), atStart: atStart)
        }
        let (queue, earlier) = (PacketQueue(), PacketQueue())
        for stamp in [2, 3] as [Int64] { insert(stamp, into: queue) }
        #expect(packet.pointee.dts == cff_nopts_value)
        insert(1, into: queue, atStart: true)
        insert(0, into: earlier)
        queue.insertAtStart(earlier)
        #expect(earlier.count == 0 && queue.packets.map(\.pointee.dts) == [0, 1, 2, 3])
        var stamps: [Int64] = []
        while let shift = queue.removeFirst(into: packet) {
            #expect(shift == MediaTime(value: packet.pointee.dts, timescale: 1))
            stamps.append(packet.pointee.dts)
        }
        #expect(stamps == [0, 1, 2, 3] && queue.count == 0)
    }
}
