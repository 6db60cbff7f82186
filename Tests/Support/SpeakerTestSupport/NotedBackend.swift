package import AirPlayWire
package import MediaCore
internal import PTP
internal import Sockets

@testable package import VirtualSpeaker

/// A session backend that only records the requests of a session.
package final class NotedBackend: SessionBackend {
    package enum Asked: Hashable {
        case begin(SessionTiming)
        case open(StreamKind, String)
        case play(PlayoutAnchor)
        case pause
        case flushBuffered(from: UInt32?, until: UInt32)
        case flushRealtime(RTPTimestamp)
        case closeStream
    }

    package let configuration: SpeakerConfiguration
    package let identity = SpeakerIdentity(name: "Test")
    package let offersPTP: Bool
    package let senderAddress = "127.0.0.1"
    package let isBusy = false
    package var volume: Double = 0
    package var isClockLocked = true
    package var hasEvents = true
    package private(set) var asked: [Asked] = []
    package private(set) var events: [SpeakerEvent] = []
    package private(set) var stream: (kind: StreamKind, sampleRate: Int)?
    /// The time of all events.
    package var now = HostInstant(nanoseconds: 0)
    /// False rejects every anchor as too far away.
    package var takesAnchors = true
    private var attempts = PairingAttempts()
    private let address = NetworkAddress.loopback
    private var paired: [[UInt8]: [UInt8]] = [:]

    package init(_ configuration: SpeakerConfiguration = SpeakerConfiguration(), offersPTP: Bool = true) {
        self.configuration = configuration
        self.offersPTP = offersPTP
    }

    package func judge(_ step: PairSetupResponder.Step) -> PairSetupResponder.Refusal? {
        let refusal =
            step == .proof ? attempts.countAttempt(address, at: now) : attempts.refusal(of: address, at: now)
        return refusal.map { PairSetupResponder.Refusal($0.error, after: $0.wait) }
    }

    package func refundProof() { attempts.succeeded(address) }

    package func pairedKey(of sender: [UInt8]) -> [UInt8]? { paired[sender] }
    package func store(_ accessory: PairedAccessory) { paired[accessory.identifier] = accessory.publicKey }

    package func begin(_ timing: SessionTiming, secret: SecretBytes?) throws(SessionRefusal) -> UInt16 {
        asked.append(.begin(timing))
        return 5001
    }

    package func hasEventConnection() -> Bool { hasEvents }

    package func open(_ request: StreamRequest) throws(SessionRefusal) -> StreamAnswer {
        asked.append(.open(request.kind, request.format.name))
        stream = (request.kind, request.format.sampleRate)
        return StreamAnswer(
            dataPort: 5002, controlPort: 5003, bufferSize: request.kind == .buffered ? 8 << 20 : nil)
    }

    package func play(_ anchor: PlayoutAnchor) -> Bool {
        guard takesAnchors else { return false }
        asked.append(.play(anchor))
        return true
    }
    package func pause() { asked.append(.pause) }
    package func flushBuffered(from: UInt32?, until: UInt32) {
        asked.append(.flushBuffered(from: from, until: until))
    }
    package func flushRealtime(until: RTPTimestamp) { asked.append(.flushRealtime(until)) }
    package func closeStream() {
        asked.append(.closeStream)
        stream = nil
    }
    package func record(_ event: SpeakerEvent) { if events.count < 1000 { events.append(event) } }
}
