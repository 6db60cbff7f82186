internal import AirPlayWire
internal import MediaCore
internal import PTP

/// Why a request is refused: an RTSP status (RFC 2326, section 7.1.1, and what AirPlay's receivers add).
struct SessionRefusal: Error, Hashable {
    let status: Int

    static let badRequest = SessionRefusal(status: 400)
    static let busy = SessionRefusal(status: 453)
    static let noSession = SessionRefusal(status: 454)
    static let wrongState = SessionRefusal(status: 455)
    static let pairingRequired = SessionRefusal(status: 470)
    static let failed = SessionRefusal(status: 500)
    static let notImplemented = SessionRefusal(status: 501)
}

/// How a sender wants its time to be known.
enum SessionTiming: Hashable, Sendable {
    case ptp
    /// The sender answers questions on this UDP port.
    case ntp(port: UInt16)
}

/// A stream as the second SETUP asks for it, checked.
struct StreamRequest: Sendable {
    var kind: StreamKind
    var format: PacketFormat
    /// 32 bytes.
    var key: SecretBytes
}

struct StreamAnswer: Hashable, Sendable {
    var dataPort: UInt16
    var controlPort: UInt16
    /// Of a buffered stream.
    var bufferSize: Int?
}

/// What a session asks of the world: sockets, clocks, sound. Called by one connection's thread.
///
/// The speaker's own does it; a test writes down what was asked.
protocol SessionBackend: AnyObject {
    var configuration: SpeakerConfiguration { get }
    var identity: SpeakerIdentity { get }
    var offersPTP: Bool { get }
    /// What the sender's address is, as seen from here.
    var senderAddress: String { get }
    var isBusy: Bool { get }
    var volume: Double { get set }

    /// Why a try to pair must wait; nil when it may go on. A proof is counted by asking.
    func judge(_ step: PairSetupResponder.Step) -> PairSetupResponder.Refusal?
    /// The sender has proved that it knows the secret.
    func notePairingProof()
    func pairedKey(of sender: [UInt8]) -> [UInt8]?
    func keep(_ paired: PairedAccessory)

    /// The session begins; the port on which events can be had. Another sender's session ends for it.
    func begin(_ timing: SessionTiming, secret: SecretBytes) throws(SessionRefusal) -> UInt16
    /// Whether the sender has connected to the event port; waits a moment for it.
    func hasEventConnection() -> Bool
    func open(_ request: StreamRequest) throws(SessionRefusal) -> StreamAnswer
    var stream: (kind: StreamKind, sampleRate: Int)? { get }
    var isClockLocked: Bool { get }
    /// False when the anchor lies further away than any film is long; the one before it stays.
    func play(_ anchor: PlayoutAnchor) -> Bool
    func pause()
    func flushBuffered(from: UInt32?, until: UInt32)
    func flushRealtime(until: RTPTimestamp)
    func closeStream()
    func note(_ event: SpeakerEvent)
}
