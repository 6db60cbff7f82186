import Foundation
import Testing

@testable import AirPlayWire

@Suite struct SRPTests {
    @Test(arguments: ["srp6a_transient_3939", "srp6a_pin_1234", "srp6a_short_A", "srp6a_short_S"])
    func bothSidesReproduceThePublishedExchange(name: String) throws {
        let vector = try Vectors(name)
        let inputs = try Vectors(name, "inputs")
        let client = SRPClient(password: inputs.text("password"))
        let (answer, isFull) = try client.answer(
            salt: inputs.bytes("salt"), receiverKey: vector.bytes("B"), privateKey: SecretBytes(inputs.bytes("a")))
        #expect(answer.publicKey == vector.bytes("A"))
        #expect(answer.proof == vector.bytes("M1"))
        #expect(answer.sessionKey == SecretBytes(vector.bytes("K")))
        #expect(answer.verify(vector.bytes("M2")))
        #expect(!answer.verify(vector.bytes("M1")))
        #expect(isFull == !name.contains("short"))

        let server = SRPServer(
            username: "Pair-Setup", password: inputs.text("password"), salt: inputs.bytes("salt"),
            privateKey: SecretBytes(inputs.bytes("b")))
        #expect(server.publicKey == vector.bytes("B"))
        let accepted = try #require(try server.accept(senderKey: answer.publicKey, proof: answer.proof))
        #expect(accepted.proof == vector.bytes("M2"))
        #expect(accepted.key == answer.sessionKey)
    }

    @Test func theIndependentPublishedExampleAgrees() throws {
        let vector = try Vectors("srp6a_published_check")
        let text = vector.text("inputs")
        func input(_ name: String) throws -> [UInt8] {
            let range = try #require(text.range(of: "\(name) "))
            return Array(hex: String(text[range.upperBound...].prefix { $0.isHexDigit }))
        }
        let client = SRPClient(username: "alice", password: "password123")
        let server = SRPServer(
            username: "alice", password: "password123", salt: try input("salt"), privateKey: SecretBytes(try input("b"))
        )
        let (answer, _) = try client.answer(
            salt: try input("salt"), receiverKey: server.publicKey, privateKey: SecretBytes(try input(" a")))
        #expect(Array(answer.publicKey.prefix(16)) == vector.bytes("A_first_16_bytes"))
        #expect(answer.proof == vector.bytes("M1"))
        #expect(answer.sessionKey == SecretBytes(vector.bytes("K")))
        #expect(answer.verify(vector.bytes("M2")))
    }

    @Test func aWrongPasswordIsNoticedByTheReceiver() throws {
        let server = SRPServer(password: "1234")
        let answer = try SRPClient(password: "4321").answer(salt: server.salt, receiverKey: server.publicKey)
        #expect(try server.accept(senderKey: answer.publicKey, proof: answer.proof) == nil)
    }

    @Test func publicKeysThatAreZeroModuloTheGroupAreRefused() throws {
        let client = SRPClient(password: "3939")
        for trick in [[], [0], SRPGroup.modulus, [UInt8](repeating: 0, count: 384)] {
            #expect(throws: WireError.self) { try client.answer(salt: [1], receiverKey: trick) }
        }
        #expect(throws: WireError.self) {
            try client.answer(salt: [1], receiverKey: [UInt8](repeating: 1, count: 385))
        }
        #expect(throws: WireError.self) {
            try SRPServer(password: "3939").accept(senderKey: SRPGroup.modulus, proof: [UInt8](repeating: 0, count: 64))
        }
    }

    @Test func everyAnswerHasFullLengthSoThatNoReceiverCanDisagreeAboutZeros() throws {
        let server = SRPServer(password: "3939")
        let answer = try SRPClient(password: "3939").answer(salt: server.salt, receiverKey: server.publicKey)
        #expect(answer.publicKey.count == 384)
        #expect(server.publicKey.count == 384)
    }
}

@Suite struct ChannelKeyTests {
    @Test(arguments: ["hkdf_sha512_transient", "hkdf_sha512_pair_verify"])
    func everyChannelDerivesItsPublishedKeys(name: String) throws {
        let vector = try Vectors(name)
        let secret = SecretBytes(vector.bytes("ikm"))
        func key(_ section: String) throws -> SecretBytes { SecretBytes(try Vectors(name, section).bytes("key")) }
        let control = ChannelKeys.control(from: secret)
        #expect(control.write == (try key("control_write")))
        #expect(control.read == (try key("control_read")))
        let events = ChannelKeys.events(from: secret)
        #expect(events.write == (try key("events_read")))
        #expect(events.read == (try key("events_write")))
        #expect(ChannelKeys.audio(from: secret) == SecretBytes(vector.bytes("audio_key_shk")))
    }
}

@Suite struct HAPFrameTests {
    @Test func framesHaveThePublishedBytes() throws {
        let vector = try Vectors("hap_frames")
        let first = try Vectors("hap_frames", "first")
        var sealer = HAPFrameSealer(key: SecretBytes(vector.bytes("key")))
        #expect(sealer.seal(first.bytes("plaintext")) == first.bytes("wire"))
        let second = try Vectors("hap_frames", "second")
        let wire = sealer.seal((0..<1100).map { UInt8($0 % 256) })
        #expect(wire.count == second.int("wire_length"))
        #expect(Array(wire.prefix(34)) == second.bytes("wire_first_34_bytes"))
        #expect(Array(wire.suffix(second.bytes("wire_last_frame").count)) == second.bytes("wire_last_frame"))
    }

    @Test(arguments: [1, 7, 1023, 5000])
    func framesCutAnywhereGiveTheWholePlaintext(piece: Int) throws {
        let key = SecretBytes.random(count: 32)
        var sealer = HAPFrameSealer(key: key)
        var opener = HAPFrameOpener(key: key)
        let message = (0..<4000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var rest = sealer.seal(message)[...]
        var opened: [UInt8] = []
        while !rest.isEmpty {
            opened += try opener.open(rest.prefix(piece))
            rest = rest.dropFirst(piece)
        }
        #expect(opened == message)
    }

    @Test func anAlteredFrameEndsTheChannelPermanently() throws {
        let key = SecretBytes.random(count: 32)
        var sealer = HAPFrameSealer(key: key)
        var opener = HAPFrameOpener(key: key)
        var wire = sealer.seal([1, 2, 3])
        wire[3] ^= 1
        #expect(throws: WireError.self) { try opener.open(wire) }
        #expect(throws: WireError.self) { try opener.open(sealer.seal([4])) }
    }

    @Test func aFrameSentTwiceIsRefused() throws {
        let key = SecretBytes.random(count: 32)
        var sealer = HAPFrameSealer(key: key)
        var opener = HAPFrameOpener(key: key)
        let wire = sealer.seal([1, 2, 3])
        #expect(try opener.open(wire) == [1, 2, 3])
        #expect(throws: WireError.self) { try opener.open(wire) }
    }
}
