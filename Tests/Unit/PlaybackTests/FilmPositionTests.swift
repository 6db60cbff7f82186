import MediaCore
import Testing

@testable import Playback

@Suite struct FilmPositionTests {
    @Test(arguments: [
        ("90", 90_000_000_000), ("1:30", 90_000_000_000), ("01:02:03.5", 3_723_500_000_000), ("0", 0),
        (".5", 500_000_000),
        ("+12.25", 12_250_000_000), ("0:0:0.000000001", 1), ("100:00", 6_000_000_000_000),
        ("1.0000000019", 1_000_000_001),
    ])
    func timesAreReadExactlyAsMpvWritesThem(text: String, nanoseconds: Int64) throws {
        #expect(try FilmPosition(parsing: text) == .fromStart(MediaTime(nanoseconds: nanoseconds)))
    }

    @Test func aMinusCountsFromTheEnd() throws {
        let position = try FilmPosition(parsing: "-1:10")
        #expect(position == .fromEnd(MediaTime(value: 70, timescale: 1)))
        #expect(position.mediaTime(in: MediaTime(value: 100, timescale: 1)) == MediaTime(value: 30, timescale: 1))
        #expect(position.mediaTime(in: MediaTime(value: 50, timescale: 1)) == .zero)
        #expect(position.mediaTime(in: nil) == nil)
        // `-0` is the end, not the start.
        #expect(try FilmPosition(parsing: "-0") == .fromEnd(.zero))
    }

    @Test func aPositionBeforeTheStartIsTheStart() {
        #expect(FilmPosition.fromStart(MediaTime(value: -5, timescale: 1)).mediaTime(in: nil) == .zero)
        #expect(FilmPosition.fraction(-0.5).mediaTime(in: MediaTime(value: 8, timescale: 1)) == .zero)
    }

    @Test func aShareNeedsTheDuration() throws {
        let position = try FilmPosition(parsing: "12.5%")
        #expect(position == .fraction(0.125))
        #expect(position.mediaTime(in: MediaTime(value: 80, timescale: 1)) == MediaTime(value: 10, timescale: 1))
        #expect(position.mediaTime(in: nil) == nil)
    }

    @Test(arguments: [
        "", "abc", "1:2:3:4", "1e3", "0x10", "nan", "inf", "--5", "+-5", "1..5", ":", "1:", ":1:", "5 ", "101%", "-5%",
        "%", ".",
        "9223372037", "99999999999999999999", "2562048:00:00", "1.5:30", "١٢", "1:-5",
    ])
    func whatIsNoTimeIsRefused(text: String) {
        #expect(throws: ValueError.self) { try FilmPosition(parsing: text) }
    }
}
