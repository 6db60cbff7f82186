import MediaCore
import Testing

@testable import CardOutput

@Suite struct ChannelOrderTests {
    private let rear51 = ChannelLayout(mask: 0x3F, count: 6)

    private func count(
        _ film: ChannelLayout, _ choice: ChannelChoice, server: ChannelLayout? = nil, maxChannels: Int = 32
    ) -> Int? {
        ChannelOrder.unmapped(for: film, choice: choice, server: server) { $0 <= maxChannels }?.bits.count
    }

    @Test func anUnknownLayoutIsStereo() {
        #expect(count(.surround51, .autoSafe) == 2)
        #expect(count(.stereo, .autoSafe, server: .surround71) == 2)
        #expect(count(.mono, .autoSafe) == nil)
    }

    @Test func theServersSinkIsGivenWhatTheFilmHasOfIt() {
        #expect(count(.surround51, .autoSafe, server: rear51) == 6)
        #expect(count(.surround71, .autoSafe, server: rear51) == 6)
        #expect(count(.surround51, .autoSafe, server: .surround71) == 6)
        #expect(count(.surround71, .autoSafe, server: .surround71) == 8)
        #expect(count(.surround51, .autoSafe, server: ChannelLayout(mask: 0x33, count: 4)) == 4)
    }

    @Test func anExplicitLayoutOverridesTheDetectedOne() {
        #expect(count(.surround51, .auto) == 6)
        #expect(count(.stereo, .auto) == 2)
        #expect(count(.stereo, .layout(.surround51)) == 6)
        #expect(count(.surround71, .layout(.stereo), server: .surround71) == 2)
        #expect(count(.surround71, .auto, maxChannels: 6) == 6)
    }

    @Test func aSubstituteGetsTheChosenChannels() throws {
        let card = SoundCard(device: "talkie-none", channels: .layout(.surround51), substitutes: { ["null"] })
        card.state.withLock { $0.wasLost = true }
        let film = AudioFormat(parameters: CodecParameters(codec: "aac"), sampleRate: 48_000, layout: .stereo)
        _ = card.delivery(for: film, mustDecode: true)
        let substitute = try #require(card.state.withLock { $0.idle })
        #expect(substitute.name == "null" && substitute.choice == .layout(.surround51))
    }

    @Test func samplesGoToTheLoudspeakersTheyAreMadeFor() {
        // Our order is by ascending bits (front, centre, low frequency, rear); ALSA's has the rear before the centre.
        #expect(ChannelOrder.alsaDefault(count: 6).sources == [0, 1, 4, 5, 2, 3])
        #expect(ChannelOrder.alsaDefault(count: 6).layout == rear51)
        #expect(ChannelOrder.alsaDefault(count: 8).sources == [0, 1, 4, 5, 2, 3, 6, 7])
    }

    @Test func wordsAreThoseOfTheOption() throws {
        #expect(try ChannelChoice(parsing: "auto-safe") == .autoSafe)
        #expect(try ChannelChoice(parsing: "5.1") == .layout(.surround51))
        #expect(throws: ValueError.self) { try ChannelChoice(parsing: "6.1") }
    }
}
