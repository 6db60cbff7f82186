import AirPlay
import AirPlayTransport
import AirPlayWire
import FuzzSupport

private let sender = PairingIdentity(
    identifier: "A1B2C3D4E5F60718", seed: SecretBytes([UInt8](repeating: 7, count: 32)))
private let speaker = PairingIdentity(
    identifier: "11:22:33:44:55:66", seed: SecretBytes([UInt8](repeating: 9, count: 32)))
private let accessory = PairedAccessory(identifier: Array(speaker.identifier.utf8), publicKey: speaker.publicKey)

/// A pairing with a speaker through a man in the middle that modifies, drops, repeats and invents messages without
/// knowing a secret. The procedure ends, and yields a secret or a key only if the speaker has the same one.
func pair(_ input: inout FuzzInput) {
    let shape = input.byte()
    let password = "hunter22"
    let (goal, admission): (PairingProcedure.Goal, PairSetupResponder.Admission) =
        switch shape % 8 {
        // The computation of pair-setup takes 60 ms; pair-verify takes almost none.
        case 0...4: (.session(stored: accessory, password: shape & 8 == 0 ? nil : password), .open)
        case 5:
            (
                .session(stored: nil, password: shape & 8 == 0 ? nil : password),
                shape & 16 == 0 ? .open : .password(password)
            )
        case 6: (.introduction(password: password), shape & 8 == 0 ? .password(password) : .pin(password))
        default: (.registration(pin: shape & 8 == 0 ? nil : "1234"), .pin("1234"))
        }
    var traits = SpeakerTraits()
    if shape & 32 != 0 { traits.model = "AudioAccessory5,1" }
    if shape & 64 != 0 { traits.status = [.passwordRequired] }
    if shape & 128 != 0 { traits.status = [.pinRequired] }
    var procedure = PairingProcedure(goal, identity: sender, traits: traits)
    var wire = Wire(admission: admission)
    var steps = 0
    do throws(AirPlayError) {
        var step = try procedure.begin()
        while true {
            steps += 1
            precondition(steps <= 24, "a pairing comes to an end")
            switch step {
            case .send(let request):
                if case .session(_?, _) = goal {
                    precondition(
                        request.target == "/pair-verify", "who was paired is asked for its proof and nothing else")
                }
                step = try procedure.receive(wire.carry(request, &input))
            case .reconnect:
                wire.reconnect()
                step = procedure.reconnected()
            case .askForPIN:
                guard case .registration(nil) = goal else { fatalError("a PIN is asked for where there is none") }
                step = procedure.answer(pin: "1234")
            case .finished(let result):
                // If the last message, or the request for a transient pairing, is dropped, the speaker does not use the
                // secret, which is still known to no third party.
                let isTheirs = wire.secret == result.secret || wire.secret == nil && wire.hasProvedItself
                precondition(isTheirs, "a secret is the speaker's")
                switch goal {
                case .session(_?, _), .session(nil, nil), .registration: precondition(!result.usedPassword)
                case .session, .introduction: break
                }
                precondition(procedure.learned.map { $0 == accessory } ?? true, "keys are those of the speaker")
                return
            }
        }
    } catch {
        precondition(!error.problem.isEmpty && (procedure.learned.map { $0 == accessory } ?? true))
    }
}

/// The speaker and the man in the middle.
private struct Wire {
    let admission: PairSetupResponder.Admission
    private var setUp: PairSetupResponder
    private var verify = PairVerifyResponder(identity: speaker)
    private var known: [[UInt8]: [UInt8]] = [Array(sender.identifier.utf8): sender.publicKey]
    private var replies: [PairingReply] = []
    /// True if the speaker's proof was delivered on this connection.
    private(set) var hasProvedItself = false
    /// True if the previous response contained the speaker's proof.
    private var isProof = false
    /// The speaker's secret of this connection.
    private(set) var secret: SecretBytes?

    init(admission: PairSetupResponder.Admission) {
        self.admission = admission
        setUp = PairSetupResponder(admission: admission, identity: speaker)
    }

    mutating func reconnect() {
        setUp = PairSetupResponder(admission: admission, identity: speaker)
        verify = PairVerifyResponder(identity: speaker)
        (secret, hasProvedItself) = (nil, false)
    }

    mutating func carry(_ request: PairingRequest, _ input: inout FuzzInput) -> PairingReply {
        let choice = input.byte()
        var asked = request.body
        if choice & 0x80 != 0, !asked.isEmpty { asked[Int(input.byte()) % asked.count] ^= 1 << (input.byte() % 8) }
        // Invented responses do not involve the speaker.
        switch choice % 12 {
        case 6: return PairingReply(status: Int(input.short() % 600))
        case 7: return PairingReply(body: input.piece())
        case 8:
            return PairingReply(body: TLV8([.init(.state, [input.byte()]), .init(.error, [input.byte()])]).encoded())
        case 9:
            let items = [TLV8.Tag.salt, .publicKey, .proof, .encryptedData].map { TLV8.Item($0, input.piece()) }
            return PairingReply(body: TLV8([.init(.state, [input.byte()])] + items).encoded())
        default: break
        }
        var reply = answer(asked, to: request.target)
        if choice % 12 == 10 { reply = answer(asked, to: request.target) }
        let said = reply
        switch choice % 12 {
        case 1:
            guard !reply.body.isEmpty else { break }
            reply.body[Int(input.short()) % reply.body.count] ^= 1 << (input.byte() % 8)
        case 2: reply.body = Array(reply.body.prefix(Int(input.short())))
        case 3: reply.body += input.piece()
        case 4: if let earlier = replies.last { reply = earlier }
        case 5: if !replies.isEmpty { reply = replies[Int(input.byte()) % replies.count] }
        default: break
        }
        if reply == said, request.target == "/pair-verify" || isProof { hasProvedItself = true }
        replies.append(reply)
        return reply
    }

    private mutating func answer(_ body: [UInt8], to target: String) -> PairingReply {
        switch target {
        case "/pair-verify":
            let known = known
            let reply = verify.respond(to: body) { known[$0] }
            secret = reply.secret ?? secret
            return PairingReply(body: reply.body)
        case "/pair-setup":
            let reply = setUp.respond(to: body)
            isProof = reply.isProven
            secret = reply.transientSecret ?? secret
            if let paired = reply.paired {
                precondition(paired.publicKey == sender.publicKey, "the speaker keeps the key of the sender")
                known[paired.identifier] = paired.publicKey
            }
            return PairingReply(status: reply.needsPIN ? 470 : 200, body: reply.body)
        default: return PairingReply()
        }
    }
}
