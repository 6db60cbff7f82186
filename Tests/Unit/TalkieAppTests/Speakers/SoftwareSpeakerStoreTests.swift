import AirPlay
import TalkieTestKit
import Testing

@testable import Storage
@testable import TalkieApp

@Suite struct SoftwareSpeakerStoreTests {
    private func content(_ senders: Int, nameSize: Int = 16) -> SoftwareSpeakerStore.Content {
        SoftwareSpeakerStore.Content(
            seed: [UInt8](0..<32),
            senders: (0..<senders).map { number in
                .init(
                    name: [UInt8](repeating: UInt8(number % 256), count: nameSize),
                    key: [UInt8](repeating: UInt8(255 - number % 256), count: 32))
            })
    }

    @Test func whatIsWrittenIsReadAgainForThisNameOnly() throws {
        let folder = TemporaryFolder()
        let store = SoftwareSpeakerStore(name: "Küche ../x", folder: StateFolder(path: folder.path))
        #expect(store.read().content == nil && store.read().note == nil)
        #expect(store.write(content(100)) == nil)
        #expect(store.read().content == content(100))
        #expect(SoftwareSpeakerStore(name: "Küche", folder: StateFolder(path: folder.path)).read().content == nil)
    }

    @Test func namesTooLongForAFileCostTheOldestTheirPlace() throws {
        let folder = TemporaryFolder()
        let store = SoftwareSpeakerStore(name: "A", folder: StateFolder(path: folder.path))
        let much = content(130, nameSize: 255)
        #expect(store.write(much) == nil)
        let kept = try #require(store.read().content)
        #expect((81..<130).contains(kept.senders.count))
        #expect(kept.senders == Array(much.senders.suffix(kept.senders.count)))
    }
}
