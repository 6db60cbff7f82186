package import MediaCore
internal import Sockets

/// Where a speaker is announced now.
struct SpeakerSighting: Hashable {
    /// Best first; by IPv4 only, as sessions are.
    var addresses: [SpeakerAddress]
    /// The playback group that it says it is in, upper case: that of the sender that has it, on speakers that tell.
    var group: String?
}

extension SpeakerSource {
    /// Nil while nobody announces the speaker, or while several claim its id. Never waits.
    func sighting(of id: SpeakerID) -> SpeakerSighting? {
        let found = snapshot.speakers.filter { $0.id == id }
        guard let speaker = found.first, found.count == 1 else { return nil }
        let addresses = speaker.endpoints.filter(\.address.isIPv4).map { SpeakerAddress($0) }
        guard !addresses.isEmpty else { return nil }
        return SpeakerSighting(addresses: addresses, group: speaker.traits.group.group?.uppercased())
    }
}

/// The speakers on the network, looked for from `start` on and for as long as this lives. Any thread.
package final class SpeakerNetwork: SpeakerSource {
    private let browser = Lock<SpeakerBrowser?>(nil)

    package init() {}

    /// Begins to look; once. Without memory or threads for it nothing is ever found.
    package func start() {
        // ignored: a group goes without sightings, and its members are tried where they were.
        browser.withLock { if $0 == nil { $0 = try? SpeakerBrowser() } }
    }

    package func wish(for wishes: SpeakerWishes) { browser.withLock { $0 }?.wish(for: wishes) }

    package var snapshot: SpeakerBrowser.Snapshot { browser.withLock { $0 }?.snapshot ?? SpeakerBrowser.Snapshot() }

    package func wait(
        until deadline: HostInstant, _ condition: (SpeakerBrowser.Snapshot) -> Bool
    ) -> (snapshot: SpeakerBrowser.Snapshot, satisfied: Bool) {
        guard let browser = browser.withLock({ $0 }) else { return (snapshot, condition(snapshot)) }
        return browser.wait(until: deadline, condition)
    }
}
