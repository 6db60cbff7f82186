internal import AirPlayWire
internal import TalkieApp
internal import VirtualSpeaker

/// The persistent state of a speaker with a PIN, in a file of the state folder.
struct SpeakerMemoryFile: SpeakerMemory {
    private let store: SoftwareSpeakerStore

    init(name: String) { store = SoftwareSpeakerStore(name: name) }

    func recall() -> (keepsake: SpeakerKeepsake?, note: String?) {
        let (content, note) = store.read()
        let keepsake = content.map { content in
            SpeakerKeepsake(
                seed: content.seed,
                senders: content.senders.map { PairedAccessory(identifier: $0.name, publicKey: $0.key) })
        }
        return (keepsake, note)
    }

    func save(_ keepsake: SpeakerKeepsake) -> String? {
        store.write(
            SoftwareSpeakerStore.Content(
                seed: keepsake.seed,
                senders: keepsake.senders.map { .init(name: $0.identifier, key: $0.publicKey) }))
    }
}
