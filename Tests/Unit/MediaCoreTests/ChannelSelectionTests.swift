import MediaCore
import Testing

@Suite struct ChannelSelectionTests {
    @Test func eachPartHasAName() throws {
        let names = ["stereo", "left", "right", "mono", "fl", "fr", "fc", "lfe", "bl", "br", "sl", "sr"]
        #expect(try names.map { try ChannelSelection(parsing: $0).text } == names)
        #expect(try ChannelSelection(parsing: "FC") == .position(.frontCenter))
        #expect(ChannelSelection.whole.label == nil && ChannelSelection.position(.lowFrequency).label == "LFE")
        let error = try #require(throws: ValueError.self) { try ChannelSelection(parsing: "centre") }
        #expect(error.description == "the part must be one of " + names.joined(separator: ", "))
    }

    @Test func aChannelIsFoundByItsBit() {
        let all = ChannelPosition.allCases
        #expect(all.map { ChannelLayout.surround71.index(of: $0) } == [0, 1, 2, 3, 4, 5, 6, 7])
        #expect(all.map { ChannelLayout.surround51.index(of: $0) } == [0, 1, 2, 3, nil, nil, 4, 5])
        #expect(all.map { ChannelLayout.stereo.index(of: $0) } == [0, 1] + [Int?](repeating: nil, count: 6))
        #expect(ChannelLayout.mono.index(of: .frontCenter) == 0)
        #expect(ChannelLayout(mask: 0x60F, count: 4).index(of: .sideLeft) == nil, "contradictory")
        #expect(ChannelLayout(mask: 0, count: 6).usual.index(of: .backRight) == 5)
        #expect(ChannelLayout(mask: 0, count: 2).usual == .stereo && ChannelLayout(mask: 0, count: 1).usual == .mono)
        #expect(ChannelLayout(mask: 0, count: 64).usual == .stereo)
    }

    @Test(arguments: [
        (ChannelLayout.surround51, ["fl", "fr", "fc", "lfe", "sl", "sr", "sl", "sr"]),
        (.surround71, ["fl", "fr", "fc", "lfe", "bl", "br", "sl", "sr"]),
        (ChannelLayout(mask: 0x3F, count: 6), ["fl", "fr", "fc", "lfe", "bl", "br", "bl", "br"]),
        (.stereo, ["fl", "fr", "mono", "mono", "left", "right", "left", "right"]),
        (.mono, Array(repeating: "mono", count: 8)),
    ])
    func aFilmWithoutAChannelPlaysTheNearest(_ layout: ChannelLayout, _ played: [String]) {
        #expect(ChannelPosition.allCases.map { ChannelSelection.position($0).resolved(in: layout).text } == played)
        for part in [ChannelSelection.whole, .left, .right, .mono] { #expect(part.resolved(in: layout) == part) }
    }
}
