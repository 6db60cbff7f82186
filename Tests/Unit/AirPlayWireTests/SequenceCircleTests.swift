import AirPlayWire
import MediaCore
import Testing

@Suite struct SequenceCircleTests {
    @Test(arguments: [(SequenceCircle.realtime, 16), (.buffered, 23)])
    func numbersAreCountedOnAndComparedAcrossTheBorder(_ circle: SequenceCircle, _ bits: Int) {
        let (top, half) = (UInt32(1 << bits) - 1, Int32(1 << (bits - 1)))
        #expect(circle.count == top + 1)
        #expect(circle.advanced(top) == 0)
        #expect(circle.advanced(top - 2, by: 5) == 2)
        #expect(circle.distance(from: top, to: 0) == 1)
        #expect(circle.distance(from: 2, to: top - 1) == -4)
        #expect(circle.distance(from: 0, to: UInt32(half) - 1) == half - 1)
        #expect(circle.distance(from: 0, to: UInt32(half)) == -half)
        for border in [16, 23, 24, 31, 32, 63] as [UInt64] {
            let number = circle.number(1 << border)
            #expect(circle.distance(from: circle.number((1 << border) - 3), to: number) == 3)
        }
    }

    @Test func timestampsAreDistinguishedAcrossWraparounds() {
        let first = RTPTimestamp(rawValue: 0xFFFF_0000)
        for frames in [0, 1, -1, 1 << 31, 1 << 32, 72 * 3600 * 48000, 1 << 50] as [Int64] {
            let there = first.advanced(byFrames: frames)
            for error in [0, 48000, -48000, (1 << 31) - 1] as [Int64] {
                #expect(first.distance(to: there, near: frames + error) == frames)
            }
        }
    }
}
