import AirPlay
import AirPlayTransport
import AirPlayWire
import Discovery
import MediaCore
import Sockets
import TalkieTestKit

/// A network whose speakers appear and disappear at scripted times; waiting advances the clock.
final class ScriptedNetwork: SpeakerSource {
    typealias Snapshot = SpeakerBrowser.Snapshot

    let clock = ManualClock()
    private let began: HostInstant
    private let state: Lock<(snapshot: Snapshot, rest: [(after: Duration, snapshot: Snapshot)])>

    /// - Parameter script: states in order of their times; before the first the state is unknown.
    init(_ script: (after: Duration, snapshot: Snapshot)...) {
        began = clock.now
        state = Lock((Snapshot(), script))
    }

    var elapsed: Duration { clock.now - began }

    var snapshot: Snapshot {
        let now = elapsed
        return state.withLock { state in
            while let next = state.rest.first, next.after <= now {
                state.snapshot = next.snapshot
                state.rest.removeFirst()
            }
            return state.snapshot
        }
    }

    func wait(until deadline: HostInstant, _ condition: (Snapshot) -> Bool) -> (snapshot: Snapshot, satisfied: Bool) {
        while true {
            let present = snapshot
            if condition(present) { return (present, true) }
            let next = state.withLock { $0.rest.first.map { began.advanced(by: $0.after) } }
            guard let next, next <= deadline else {
                if deadline.nanoseconds != .max { clock.advance(to: deadline) }
                return (present, false)
            }
            clock.advance(to: next)
        }
    }

    /// Returns a state in which the daemon has responded with these speakers.
    static func listing(_ speakers: DiscoveredSpeaker...) -> Snapshot {
        var snapshot = Snapshot()
        snapshot.availability = .available
        snapshot.speakers = speakers
        snapshot.isSettled = true
        return snapshot
    }

    static func without(_ sentence: String) -> Snapshot {
        var snapshot = Snapshot()
        snapshot.availability = .unavailable(DiscoveryError(.daemonMissing, sentence))
        return snapshot
    }
}

extension DiscoveredSpeaker {
    /// Returns a third-party speaker that supports every route; additional strings come first.
    static func announced(
        _ name: String, id: String = "02:00:00:00:00:01", _ extra: String..., address: String = "10.0.0.5"
    ) -> DiscoveredSpeaker {
        let strings =
            extra + ["features=0x405C4A00,0x5A340", "flags=0x4", "srcvers=366.0", "model=Box", "deviceid=\(id)"]
        let record = try! TXTRecord(strings: strings.map { Array($0.utf8) })
        return DiscoveredSpeaker(
            id: SpeakerID(id), name: name, traits: SpeakerTraits(record),
            endpoints: [NetworkEndpoint(NetworkAddress(address)!, port: 7000)])
    }
}
