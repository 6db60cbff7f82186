import AirPlayWire
import FuzzSupport
import MediaCore

@testable import AirPlay
@testable import AirPlayTransport

/// Messages on the event connection of a speaker: each is reported once and answered once, and the end is reported
/// once. After bytes that were not encrypted with the session's keys nothing more is reported.
func hearNews(_ input: inout FuzzInput) {
    let line = SpeakerLine()
    let keys = ChannelKeys.events(from: SecretBytes([UInt8](repeating: 5, count: 32)))
    var sealer = HAPFrameSealer(key: keys.reversed.write)
    var (requests, isForged) = (0, false)
    for _ in 0..<16 where !input.isEmpty {
        switch input.byte() % 4 {
        case 0:
            let list: PropertyList = ["type": "volume", "value": .integer(Int64(input.byte()))]
            line.say(sealer.seal(RTSPRequest("POST", "/command", headers: [:], body: list.binary()).encoded()))
            requests += isForged ? 0 : 1
        case 1:
            // Any message encrypted by the speaker.
            line.say(sealer.seal(input.longPiece()))
            requests += isForged ? 0 : 1 << 16
        case 2:
            let bytes = input.piece()
            line.say(bytes)
            isForged = isForged || !bytes.isEmpty
        default: break
        }
    }
    line.hangUp()
    let heard = Lock((messages: 0, ends: 0))
    let ended = Signal()
    let channel = try! EventChannel(socket: line.socket, keys: keys) { event in
        if case .message(let list) = event { _ = RemoteCommand(event: list) }
        heard.withLock {
            if case .ended = event { $0.ends += 1 } else { $0.messages += $0.ends == 0 ? 1 : 1 << 20 }
        }
        if case .ended = event { ended.raise() }
    }
    // Waits until all input was read; `close` alone would truncate it.
    precondition(ended.wait(until: .now.advanced(by: .seconds(8))), "it comes to an end")
    channel.close()
    let (messages, ends) = heard.withLock { $0 }
    precondition(ends == 1 && messages <= requests, "nothing is heard that was not said, and the end once")
}

/// Requests of a DACP client: commands have the token, responses are one for each request, and bounded.
func hearRemoteControl(_ input: inout FuzzInput) {
    var conversation = RemoteControlConversation()
    var isOver = false
    for _ in 0..<64 where !input.isEmpty {
        let bytes: [UInt8]
        switch input.byte() % 4 {
        case 0: bytes = Array("GET /ctrl-int/1/".utf8)
        case 1: bytes = Array(" HTTP/1.1\r\nActive-Remote: 7\r\n\r\n".utf8)
        case 2: bytes = Array("setproperty?dmcp.device-volume=".utf8)
        default: bytes = input.longPiece()
        }
        let outcome = conversation.receive(bytes) { $0 == 7 }
        precondition(outcome.commands.allSatisfy { $0.token == 7 }, "a command has the token")
        precondition(outcome.commands.count <= 64 && outcome.responses.count <= 64 << 10, "a connection is bounded")
        precondition(!isOver || outcome.commands.isEmpty, "nothing is performed after an error")
        isOver = outcome.isOver
    }
}
