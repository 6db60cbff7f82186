import AirPlay
import AirPlayTransport
import AirPlayWire
import Testing

/// The accessory's end of pairing with the behaviour of real receivers, for successive connections.
final class SimulatedAccessory {
    /// The admission policy.
    var admission: PairSetupResponder.Admission = .open
    /// Answers transient pairing with status 470, regardless of the admission.
    var refusesTransient = false
    /// Proves an identity other than its own.
    var isImpostor = false
    /// Modifies a byte of each response with this number on a connection.
    var damagedAnswer: Int?
    /// The status of every response if it is not 200.
    var status = 200

    private(set) var requests: [String] = []
    private(set) var connections = 1
    private(set) var secret: SecretBytes?
    private(set) var knows: [[UInt8]: [UInt8]] = [:]

    private let key = PairingIdentity.generate(identifier: "11:22:33:44:55:66")
    private let strangersKey = PairingIdentity.generate(identifier: "11:22:33:44:55:66")
    private var setUp: PairSetupResponder?
    private var verify: PairVerifyResponder?
    private var isWedged = false
    private var answers = 0

    var accessory: PairedAccessory {
        PairedAccessory(identifier: Array(key.identifier.utf8), publicKey: key.publicKey)
    }

    func removeAllPairings() { knows = [:] }

    private func reconnect() {
        connections += 1
        (setUp, verify, isWedged, answers) = (nil, nil, false, 0)
    }

    private func answer(_ request: PairingRequest) throws -> PairingReply {
        requests.append("\(request.target) \(request.headers["X-Apple-HKP"] ?? "-")")
        if status != 200 { return PairingReply(status: status) }
        // After a rejection most receivers send no valid responses on that connection.
        try #require(!isWedged, "a connection on which pairing was refused was used again")
        if request.target == "/pair-pin-start" { return PairingReply() }
        answers += 1
        var body: [UInt8]
        if request.target == "/pair-verify" {
            if verify == nil { verify = PairVerifyResponder(identity: isImpostor ? strangersKey : key) }
            let reply = verify!.respond(to: request.body) { [knows] in knows[$0] }
            secret = reply.secret ?? secret
            body = reply.body
        } else {
            if refusesTransient, request.headers["X-Apple-HKP"] == "4" {
                isWedged = true
                return PairingReply(status: 470)
            }
            if setUp == nil { setUp = PairSetupResponder(admission: admission, identity: key) }
            let reply = setUp!.respond(to: request.body)
            if let paired = reply.paired { knows[paired.identifier] = paired.publicKey }
            secret = reply.transientSecret ?? secret
            if reply.needsPIN {
                isWedged = true
                return PairingReply(status: 470)
            }
            body = reply.body
        }
        if try TLV8(decoding: body)[.error] != nil { isWedged = true }
        if answers == damagedAnswer { body[body.count - 5] ^= 1 }
        return PairingReply(body: body)
    }

    /// Exchanges a procedure's messages with this accessory until it is finished.
    func run(_ procedure: inout PairingProcedure, pin: String? = nil) throws -> PairingProcedure.Result {
        // Each procedure starts on a new connection.
        if !requests.isEmpty { reconnect() }
        var step = try procedure.begin()
        for _ in 0..<40 {
            switch step {
            case .send(let request): step = try procedure.receive(answer(request))
            case .reconnect:
                reconnect()
                step = procedure.reconnected()
            case .askForPIN: step = procedure.answer(pin: try #require(pin))
            case .finished(let result): return result
            }
        }
        throw AirPlayError(.protocolViolation, "the procedure does not come to an end")
    }
}
