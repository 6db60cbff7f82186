import AirPlayWire
import MediaCore
import Testing

@testable import VirtualSpeaker

/// Stores a speaker's data in memory.
private final class KeptInMemory: SpeakerMemory {
    private let keepsake = Lock<SpeakerKeepsake?>(nil)

    func recall() -> (keepsake: SpeakerKeepsake?, note: String?) { (keepsake.withLock { $0 }, nil) }

    func save(_ keepsake: SpeakerKeepsake) -> String? {
        self.keepsake.withLock { $0 = keepsake }
        return nil
    }
}

/// Stored data of a newer version.
private struct Newer: SpeakerMemory {
    func recall() -> (keepsake: SpeakerKeepsake?, note: String?) { (nil, "it is newer") }
    func save(_ keepsake: SpeakerKeepsake) -> String? { "it is newer" }
}

@Suite struct SpeakerMemoryTests {
    private func core(
        _ memory: any SpeakerMemory, record: SpeakerRecord = SpeakerRecord(journal: nil)
    ) -> SpeakerCore {
        var configuration = SpeakerConfiguration(name: "Vault", admission: .pin("1357"))
        configuration.memory = memory
        return SpeakerCore(configuration: configuration, codecs: nil, record: record, ptp: nil)
    }

    private func sender(_ number: Int) -> PairedAccessory {
        PairedAccessory(
            identifier: Array("Sender \(number)".utf8), publicKey: [UInt8](repeating: UInt8(number % 256), count: 32))
    }

    @Test func aSpeakerIsTheSameAfterARestartAndKnowsAllItsSenders() {
        let memory = KeptInMemory()
        let first = core(memory)
        for number in 0..<40 { first.store(sender(number)) }
        let second = core(memory)
        #expect(second.identity.pairing.publicKey == first.identity.pairing.publicKey)
        for number in 0..<40 {
            #expect(second.pairedKey(of: sender(number).identifier) == sender(number).publicKey, "sender \(number)")
        }
        #expect(second.pairedKey(of: Array("Stranger".utf8)) == nil)
    }

    @Test func anUnreadableFileIsReportedOnce() {
        let record = SpeakerRecord(journal: nil)
        _ = core(Newer(), record: record)
        #expect(record.events == [.damaged(reason: "it is newer")])
    }

    @Test func aSenderThatPairsAgainTakesItsOldPlaceAndTheOldestGivesWayAtTheLimit() {
        let memory = KeptInMemory()
        let speaker = core(memory)
        for number in 0...SpeakerCore.pairedLimit { speaker.store(sender(number)) }
        #expect(speaker.pairedKey(of: sender(0).identifier) == nil)
        #expect(speaker.pairedKey(of: sender(1).identifier) != nil)
        let renewed = PairedAccessory(identifier: sender(1).identifier, publicKey: [UInt8](repeating: 9, count: 32))
        speaker.store(renewed)
        #expect(speaker.pairedKey(of: renewed.identifier) == renewed.publicKey)
        #expect(memory.recall().keepsake?.senders.count == SpeakerCore.pairedLimit)
    }
}
