package import MediaCore
internal import Sockets

/// The current announcement of a speaker.
package struct SpeakerSighting: Hashable {
    /// Best first.
    package var addresses: [SpeakerAddress]
    /// The announced playback group, upper case: on speakers that announce it, the group of the sender in control.
    package var group: String?
}

extension SpeakerSource {
    /// Returns the current announcement; nil if there is none, or if several speakers claim the identifier. Never
    /// blocks.
    package func sighting(of id: SpeakerID) -> SpeakerSighting? {
        let found = snapshot.speakers.filter { $0.id == id }
        guard let speaker = found.first, found.count == 1 else { return nil }
        // Of both families: a session keeps the address that its user named.
        let addresses = speaker.endpoints.map { SpeakerAddress($0) }
        guard !addresses.isEmpty else { return nil }
        return SpeakerSighting(addresses: addresses, group: speaker.traits.group.group?.uppercased())
    }
}

/// The speakers on the network, browsed from `start` on until it is released. Any thread.
package final class SpeakerNetwork: SpeakerSource {
    private let browser = Lock<SpeakerBrowser?>(nil)

    package init() {}

    /// Starts browsing; later calls have no effect. Without memory or threads no speaker is found.
    package func start() {
        // ignored: without sightings, members of a group are tried at their known address.
        browser.withLock { if $0 == nil { $0 = try? SpeakerBrowser() } }
    }

    package func request(for requests: SpeakerRequests) { browser.withLock { $0 }?.request(for: requests) }

    package var snapshot: SpeakerBrowser.Snapshot { browser.withLock { $0 }?.snapshot ?? SpeakerBrowser.Snapshot() }

    package func wait(
        until deadline: HostInstant, _ condition: (SpeakerBrowser.Snapshot) -> Bool
    ) -> (snapshot: SpeakerBrowser.Snapshot, satisfied: Bool) {
        guard let browser = browser.withLock({ $0 }) else { return (snapshot, condition(snapshot)) }
        return browser.wait(until: deadline, condition)
    }
}
