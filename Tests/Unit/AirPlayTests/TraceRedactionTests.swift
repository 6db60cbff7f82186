import AirPlayWire
import MediaCore
import Testing

@testable import AirPlayTransport

@Suite struct TraceRedactionTests {
    private func text(_ list: PropertyList) -> String {
        var redaction = TraceRedaction()
        return redaction.body(list.binary(), of: "/info", type: nil).compact
    }

    @Test func whatIsNotKnownToBeHarmlessIsReplaced() {
        let written = text([
            "name": "Annas Stube", "deviceID": "AA:BB:CC:DD:EE:FF", "serialNumber": "C02XL0", "pk": .data([7, 7, 7]),
            "newInOS30": "at Anna's", "model": "AudioAccessory5,1", "features": 0x1C_3405_4A7F_DFF7,
            "macInteger": 0x1122_3344_5566, "serial": 3_232_235_523, "Annas-MacBook.local": 1, "real": .real(1e12),
            "groupID": 70_000, "eventPort": 49_153, "AA:BB:CC:DD:EE:FF": true,
            "nested": [["psi": "d5f2ab77-0000-4000-8000-0123456789ab", "volume": .real(-20.5), "isLeader": true]],
        ])
        for secret in [
            "Anna", "AA:BB", "C02XL0", "18837", "70000", "3232235523", "MacBook", "1000000000000", "d5f2ab77", "0,7",
            "7,7",
        ] {
            #expect(!written.contains(secret), "\(secret) in \(written)")
        }
        for fact in [
            "\"model\":\"AudioAccessory5,1\"", "\"features\":7935", "\"eventPort\":49153", "\"isLeader\":true",
            "\"pk\":{\"bytes\":3}",
        ] {
            #expect(
                written.contains(fact.replacing("7935", with: String(0x1C_3405_4A7F_DFF7))), "\(fact) in \(written)")
        }
    }

    @Test func equalValuesHaveEqualReplacements() {
        var redaction = TraceRedaction()
        let first = redaction.list(["a": "Anna", "b": "Bert"])
        let second = redaction.list(["c": "Bert", "d": "Anna"])
        #expect(first["a"]?.text == second["d"]?.text)
        #expect(first["b"]?.text == second["c"]?.text)
        #expect(first["a"]?.text != first["b"]?.text)
    }

    /// A model's name could be set to anything by a receiver's owner.
    @Test(arguments: [
        "AA:BB:CC:DD:EE:FF", "10.0.0.7 kitchen", "v10.0.0.7.", "192-168-0-3", "AABB.CCDD.EEFF", "aa bb cc dd ee ff",
        "d5f2ab7700004000", "fe80::1", "Küche",
        String(repeating: "a", count: 200),
    ])
    func aHarmlessMemberWithAnIdentifierIsReplaced(value: String) {
        #expect(text(["model": .string(value)]) == "{\"list\":{\"model\":\"<1>\"}}")
    }

    @Test(arguments: ["0x445F8A00,0x1C340", "366.0", "AppleTV14,1", "20L497", "Shairport Sync", "PTP"])
    func versionsAndModelsRemain(value: String) {
        #expect(text(["model": .string(value)]) == "{\"list\":{\"model\":\"\(value)\"}}")
    }

    @Test func headersAndTargetsKeepTheProtocolOnly() {
        var redaction = TraceRedaction()
        let headers = redaction.headers([
            "CSeq": "3", "Server": "AirTunes/366.0", "X-Apple-Client-Name": "anna-laptop",
            "DACP-ID": "A1B2C3D4E5F60718",
            "WWW-Authenticate": "Digest realm=\"anna\", nonce=\"12\"", "Session": "1",
        ])
        #expect(headers["CSeq"]?.text == "3")
        #expect(headers["Server"]?.text == "AirTunes/366.0")
        #expect(
            ["X-Apple-Client-Name", "DACP-ID", "WWW-Authenticate", "Session"].allSatisfy {
                headers[$0]?.text?.hasPrefix("<") == true
            })
        #expect(redaction.target("/pair-setup") == "/pair-setup")
        #expect(redaction.target("/info?txt=anna") == "/info")
        #expect(redaction.target("rtsp://192.168.0.3/12345") == "<session>")
    }

    @Test func pairingMessagesAreTypesAndSizes() {
        var redaction = TraceRedaction()
        let message = TLV8([.init(.state, [4]), .init(.proof, [UInt8](repeating: 9, count: 64)), .init(.error, [2])])
        let written = redaction.body(message.encoded(), of: "/pair-setup", type: nil).compact
        #expect(written.contains("{\"type\":6,\"bytes\":1,\"value\":[4]}"), "\(written)")
        #expect(written.contains("{\"type\":4,\"bytes\":64,\"value\":null}"), "\(written)")
        #expect(!written.contains("9,9"))
    }

    @Test func parametersKeepVolumeAndProgress() {
        var redaction = TraceRedaction()
        let body = Array("volume: -20.5\r\nname: Anna\r\nprogress: 1/2/3\r\n".utf8)
        let written = redaction.body(body, of: "<session>", type: "text/parameters").compact
        #expect(written.contains("\"volume\":\"-20.5\"") && written.contains("\"progress\":\"1/2/3\""), "\(written)")
        #expect(!written.contains("Anna"))
        let odd = redaction.body(Array(":\r\n:Anna\r\nAnna\r\n\r\n::\r\n".utf8), of: "/x", type: "text/parameters")
        #expect(!odd.compact.contains("Anna"))
    }

    @Test func aSpeakerWithoutEndDoesNotFillMemory() {
        let trace = ConversationTrace()
        let list = PropertyList.array((0..<256).map { .string("value \($0) " + String(repeating: "x", count: 5000)) })
        for _ in 0..<4000 { trace.record(event: list) }
        let text = trace.text(release: "0")
        #expect(text.utf8.count < 5 << 20)
        let isCounted = text.contains("\"omitted\":")
        #expect(isCounted)
    }
}
