internal import AirPlayWire
internal import MediaCore
internal import PTP

/// A refused request: an RTSP status (RFC 2326, section 7.1.1, and the additions of AirPlay receivers).
struct SessionRefusal: Error, Hashable {
    let status: Int
    /// What becomes of the response; nil: it is sent.
    var fault: SpeakerQuirks.ReplyFault?

    static let badRequest = SessionRefusal(status: 400)
    static let busy = SessionRefusal(status: 453)
    static let noSession = SessionRefusal(status: 454)
    static let wrongState = SessionRefusal(status: 455)
    static let pairingRequired = SessionRefusal(status: 470)
    static let failed = SessionRefusal(status: 500)
    static let notImplemented = SessionRefusal(status: 501)
}

/// The timing protocol that a sender selects in SETUP.
enum SessionTiming: Hashable, Sendable {
    case ptp
    /// The sender answers timing requests on this UDP port.
    case ntp(port: UInt16)
}

/// A validated stream of the second SETUP.
struct StreamRequest: Sendable {
    var kind: StreamKind
    var format: PacketFormat
    /// 32 bytes; nil: the stream is not encrypted.
    var key: SecretBytes?
}

/// The response to a stream's SETUP: UDP or TCP ports of the speaker.
struct StreamAnswer: Hashable, Sendable {
    var dataPort: UInt16
    var controlPort: UInt16
    /// Bytes; buffered streams only.
    var bufferSize: Int?
}

/// The services that a session needs: sockets, clocks, audio. Called by one connection's thread.
///
/// `SpeakerStage` is the implementation of the speaker; tests use one that records calls.
protocol SessionBackend: AnyObject {
    var configuration: SpeakerConfiguration { get }
    var identity: SpeakerIdentity { get }
    var offersPTP: Bool { get }
    /// The sender's address as the speaker sees it.
    var senderAddress: String { get }
    var isBusy: Bool { get }
    var volume: Double { get set }

    /// Returns the delay before a pairing step may proceed, or nil. The call itself counts the challenge or proof.
    func judge(_ step: PairSetupResponder.Step) -> PairSetupResponder.Refusal?
    /// Refunds the counted proof after the sender has proved knowledge of the secret.
    func refundProof()
    func pairedKey(of sender: [UInt8]) -> [UInt8]?
    func store(_ paired: PairedAccessory)

    /// Begins the session and returns the TCP port of the event channel; 0 without a secret. Ends the session of
    /// another sender.
    func begin(_ timing: SessionTiming, secret: SecretBytes?) throws(SessionRefusal) -> UInt16
    /// Returns whether the sender has connected to the event port; may block for a short time.
    func hasEventConnection() -> Bool
    func open(_ request: StreamRequest) throws(SessionRefusal) -> StreamAnswer
    var stream: (kind: StreamKind, sampleRate: Int)? { get }
    var isClockLocked: Bool { get }
    /// Returns false if the anchor is out of range; the previous one then remains in effect.
    func play(_ anchor: PlayoutAnchor) -> Bool
    func pause()
    func flushBuffered(from: UInt32?, until: UInt32)
    func flushRealtime(until: RTPTimestamp)
    func closeStream()
    func record(_ event: SpeakerEvent)
}
