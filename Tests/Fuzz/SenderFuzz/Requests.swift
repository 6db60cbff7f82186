import AirPlayWire
import FuzzSupport

@testable import AirPlay
@testable import AirPlayTransport

private let secret = SecretBytes([UInt8](repeating: 5, count: 32))

/// Requests on one connection, preceded by responses of the speaker: valid ones, invalid bytes, late ones, or none.
/// Each request gets its response or an error without delay. On an encrypted connection, bytes that were not encrypted
/// with the keys are never a response.
func ask(_ input: inout FuzzInput) {
    let line = SpeakerLine()
    let connection = line.connection
    var sealer: HAPFrameSealer?
    var (asked, isNumbered, isForged) = (0, false, false)
    // The number of responses sent with the keys before the first forged bytes, and the number received.
    var (honest, heard) = (0, 0)
    // Each request may wait for the timeout below.
    for _ in 0..<24 where !input.isEmpty {
        let choice = input.byte()
        let next = asked + 1
        switch choice % 8 {
        case 0, 1:
            // A valid response, possibly truncated and followed by other bytes.
            var answer = RTSPResponse(status: Int(input.byte()) + 200, body: input.piece())
            answer.headers.append("CSeq", String(next))
            honest += isForged ? 0 : 1
            let wire = sealer?.seal(answer.encoded()) ?? answer.encoded()
            line.say(choice & 8 == 0 ? wire : Array(wire.prefix(Int(input.short()))))
        case 2:
            // A response to another request, or without a sequence number.
            var answer = RTSPResponse(status: 200)
            if choice & 8 == 0 { answer.headers.append("CSeq", String(Int(input.byte()))) }
            honest += isForged ? 0 : 1
            line.say(sealer?.seal(answer.encoded()) ?? answer.encoded())
        case 3:
            let bytes = input.longPiece()
            isForged = isForged || sealer != nil && !bytes.isEmpty
            line.say(bytes)
        case 4:
            // Arbitrary bytes of the speaker itself, which may contain many responses.
            let bytes = input.longPiece()
            honest += isForged ? 0 : 1 << 16
            line.say(sealer?.seal(bytes) ?? bytes)
        case 5:
            guard sealer == nil else { break }
            let keys = ChannelKeys.control(from: secret)
            guard (try? connection.encrypt(with: keys)) != nil else {
                precondition(connection.isBroken, "who has said too much is not listened to")
                break
            }
            sealer = HAPFrameSealer(key: keys.reversed.write)
            (honest, heard) = (0, 0)
        case 6: line.hangUp()
        default: break
        }
        let wasBroken = connection.isBroken
        asked += wasBroken ? 0 : 1
        do throws(AirPlayError) {
            let answer = try connection.exchange("POST", "/feedback", timeout: .milliseconds(2))
            precondition(!wasBroken && !connection.isBroken, "nothing is heard on a broken connection")
            heard += 1
            precondition(sealer == nil || heard <= honest, "what is said without the keys is no answer")
            if let number = answer.sequence {
                precondition(number == asked, "an answer is that to the question")
                isNumbered = true
            } else {
                precondition(!isNumbered, "who numbers answers numbers all of them")
            }
            _ = try? answer.accepted("be asked").propertyList()
        } catch {
            precondition(!error.message.isEmpty)
            precondition(error.code == .timedOut || connection.isBroken, "only silence leaves a connection usable")
        }
        precondition(line.hear().count <= 4096, "a question is short")
    }
}

/// A speaker that does not know the secret answers all requests up to a session. It gets no session, and only a few
/// requests.
func pairForASession(_ input: inout FuzzInput) {
    let shape = input.byte()
    var configuration = AirPlaySession.Configuration(
        address: SpeakerAddress(host: "127.0.0.1", port: 7000), identity: SenderIdentity(rawValue: 0xA1, name: "Fuzz"))
    let identity = PairingIdentity(identifier: "A1B2C3D4E5F60718", seed: SecretBytes([UInt8](repeating: 7, count: 32)))
    configuration.pairingIdentity = identity
    if shape & 1 == 0 {
        configuration.pairing = (
            identity, PairedAccessory(identifier: [1], publicKey: [UInt8](repeating: 3, count: 32))
        )
    }
    if shape & 2 == 0 { configuration.password = "hunter22" }
    var answers = input
    var lines: [SpeakerLine] = []
    func connect() -> RTSPConnection {
        let line = SpeakerLine()
        line.say(answers.longPiece())
        line.hangUp()
        lines.append(line)
        precondition(lines.count <= 4, "a speaker is not tried for ever")
        return line.connection
    }
    let info = ReceiverInfo((try? PropertyList(binary: answers.piece())) ?? [:])
    let pairing = SessionPairing(configuration: configuration) { () throws(AirPlayError) in connect() }
    do throws(AirPlayError) {
        _ = try pairing.run(on: connect(), info: info)
        fatalError("a session with somebody who knows no secret")
    } catch {
        precondition(!error.message.isEmpty)
    }
    for line in lines { precondition(line.hear().count <= 16 << 10) }
}
