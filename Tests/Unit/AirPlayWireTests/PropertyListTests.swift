import Foundation
import Testing

@testable import AirPlayWire

@Suite struct PropertyListTests {
    private let everything: PropertyList = [
        "small": 7, "two": 300, "four": 70_000, "eight": .integer(1 << 40), "negative": -5, "least": .integer(.min),
        "largest": .unsigned(.max), "real": .real(-12.5), "yes": true, "no": false, "text": "Kitchen",
        "umlaut": "Küche 🎬", "data": .data([UInt8](0...200)), "date": .date(700_000_000.25),
        "array": ["a", 1, ["nested": []]], "empty": "", "long": .string(String(repeating: "x", count: 400)),
    ]

    @Test func valuesSurviveOurOwnCodec() throws {
        #expect(try PropertyList(binary: everything.binary()) == everything)
        let many = PropertyList.array((0..<70_000).map { .integer($0) })
        #expect(try PropertyList(binary: many.binary()) == many)
    }

    @Test func anotherImplementationReadsWhatWeWrite() throws {
        let read = try #require(
            try PropertyListSerialization.propertyList(from: Data(everything.binary()), format: nil) as? [String: Any])
        #expect(read["small"] as? Int == 7)
        #expect(read["least"] as? Int64 == .min)
        #expect(read["largest"] as? UInt64 == .max)
        #expect(read["umlaut"] as? String == "Küche 🎬")
        #expect(read["data"] as? Data == Data(0...200))
        #expect((read["date"] as? Date)?.timeIntervalSinceReferenceDate == 700_000_000.25)
    }

    @Test func weReadWhatAnotherImplementationWrites() throws {
        let source: [String: Any] = [
            "n": NSNumber(value: UInt64.max), "i": -1, "r": 0.25, "b": true, "s": "é", "d": Data([1, 2]),
            "a": ["x", "x", "y"], "t": Date(timeIntervalSinceReferenceDate: 5),
        ]
        let bytes = try PropertyListSerialization.data(fromPropertyList: source, format: .binary, options: 0)
        let read = try PropertyList(binary: [UInt8](bytes))
        #expect(
            read == [
                "n": .unsigned(.max), "i": -1, "r": .real(0.25), "b": true, "s": "é", "d": .data([1, 2]),
                "a": ["x", "x", "y"], "t": .date(5),
            ])
    }

    @Test func publishedEncodingsReadAsTheirValues() throws {
        let anchor = try PropertyList(
            binary: Vectors("bplist_setrateanchortime").bytes("one_valid_encoding"))
        #expect(anchor["networkTimeSecs"]?.int64 == 123456)
        #expect(anchor["networkTimeFrac"]?.uint64 == 14_554_708_795_281_375_232)
        #expect(anchor["networkTimeTimelineID"]?.int64 == -6_795_153_568_590_067_944)
        #expect(anchor["rtpTime"]?.int64 == 11_259_375)
        #expect(anchor["rate"]?.int64 == 1)
        let peers = try PropertyList(binary: Vectors("bplist_setpeers").bytes("one_valid_encoding"))
        #expect(peers == ["192.0.2.10", "192.0.2.20"])
    }

    @Test func aListNestedTooDeepIsRefused() throws {
        var value = PropertyList.integer(1)
        for _ in 0..<32 { value = [value] }
        #expect(try PropertyList(binary: value.binary()) == value)
        let error = #expect(throws: WireError.self) { try PropertyList(binary: PropertyList.array([value]).binary()) }
        #expect(error?.code == .limitExceeded)
    }

    /// Returns a list of consecutive objects with an offset table of one-byte offsets.
    private func list(objects: [[UInt8]], top: UInt8 = 0) -> [UInt8] {
        var out = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(out.count))
            out += object
        }
        let table = UInt8(out.count)
        out += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
        out += [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count), 0, 0, 0, 0, 0, 0, 0, top, 0, 0, 0, 0, 0, 0, 0, table]
        return out
    }

    @Test func sharedReferencesThatUnfoldWithoutEndAreRefusedQuickly() throws {
        // Thirty arrays, each with two references to the next one: 2³⁰ values in 150 bytes.
        let doubling = (0..<30).map { [UInt8(0xA2), UInt8($0 + 1), UInt8($0 + 1)] } + [[0x10, 1]]
        let error = #expect(throws: WireError.self) { try PropertyList(binary: list(objects: doubling)) }
        #expect(error?.code == .limitExceeded)
        // An array that contains itself.
        #expect(throws: WireError.self) { try PropertyList(binary: list(objects: [[0xA1, 0]])) }
    }

    @Test func malformedListsAreRefused() throws {
        let good = list(objects: [[0xA1, 1], [0x10, 5]])
        #expect(try PropertyList(binary: good) == [5])
        for cut in 0..<good.count { #expect(throws: WireError.self) { try PropertyList(binary: Array(good[..<cut])) } }
        for bad: [[UInt8]] in [
            [[0xC1, 1], [0x10, 5]],  // a set
            [[0xA1, 9]],  // an invalid reference
            [[0xD1, 1, 1], [0x10, 5]],  // a numeric key
            [[0x4F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]],  // 2⁶³ bytes of data
            [[0x6F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]],
            [[0xAF, 0x12, 0xFF, 0xFF, 0xFF, 0xFF]],
            [[0x14] + [UInt8](repeating: 1, count: 16)],  // a number beyond 64 bits
            [[0x15, 0]], [[0x21, 0, 0]], [[0x0F]], [[0xF0]], [[0x88, 0]], [[0x5F, 0x51]],
        ] {
            #expect(throws: WireError.self, "\(bad)") { try PropertyList(binary: list(objects: bad)) }
        }
        #expect(throws: WireError.self) { try PropertyList(binary: list(objects: [[0x10, 5]], top: 1)) }
    }
}
