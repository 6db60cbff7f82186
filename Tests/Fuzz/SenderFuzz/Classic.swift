import AirPlayWire
import FuzzSupport
import SyncRendering

@testable import ClassicAirPlay

/// Responses of a receiver of classic AirPlay: ports, delays and challenges.
func askClassic(_ input: inout FuzzInput) {
    func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    let setup = ClassicSetup(["Transport": text(input.piece()), "Session": text(input.piece())])
    if let setup {
        precondition(setup.dataPort != 0 && setup.controlPort != 0, "a port is a port")
        precondition((setup.session?.count ?? 0) <= 128, "a session is bounded")
    }
    let shares = ClassicLatency(text(input.piece())).shares
    precondition(shares.reduce(.zero) { $0 + $1.duration } == .zero, "the receiver subtracts its delay")
    if let digest = DigestAuthentication(challenge: text(input.longPiece())) {
        precondition(digest.realm.utf8.count <= 256 && digest.nonce.utf8.count <= 256, "a challenge is bounded")
        let header = digest.authorization("SETUP", "rtsp://192.0.2.1/1", password: "secret")
        precondition(!header.contains("secret") || digest.realm.contains("secret") || digest.nonce.contains("secret"))
        var headers: RTSPHeaders = [:]
        headers.append("Authorization", header)
        let request = RTSPRequest("SETUP", "*", headers: headers).encoded()
        precondition(request.split(separator: 0x0A).count == 4, "a challenge adds no line to a request")
    }
}
