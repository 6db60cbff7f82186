import Testing

@testable import AirPlayWire

@Suite struct TLV8Tests {
    @Test func itemsHaveThePublishedBytes() throws {
        func encoded(_ name: String) throws -> [UInt8] { try Vectors("tlv8", name).bytes("encoded") }
        #expect(PairSetup(.transient).start() == (try encoded("pair_setup_m1_transient")))
        #expect(PairSetup(.persistent).start() == (try encoded("pair_setup_m1_pin")))
        let long = (0..<300).map { UInt8($0 % 251) }
        let message = TLV8([.init(.state, [3]), .init(.publicKey, long)])
        #expect(message.encoded() == (try encoded("fragmented")))
        #expect(try TLV8(decoding: encoded("fragmented")) == message)
    }

    @Test func neighboursOfOneTypeStayApartUnlessTheFirstWasFull() throws {
        let message = try TLV8(decoding: [1, 1, 0xAA, 1, 1, 0xBB])
        #expect(message.items.map(\.value) == [[0xAA], [0xBB]])
        let full = [UInt8](repeating: 9, count: 255)
        #expect(try TLV8(decoding: TLV8([.init(.salt, full)]).encoded())[.salt] == full)
    }

    @Test func cutAndOverlongMessagesAreRefused() throws {
        #expect(throws: WireError.self) { try TLV8(decoding: [6]) }
        #expect(throws: WireError.self) { try TLV8(decoding: [6, 2, 1]) }
        let part: [UInt8] = [3, 255] + [UInt8](repeating: 0, count: 255)
        let flood = Array(repeatElement(part, count: 300).joined())
        let error = #expect(throws: WireError.self) { try TLV8(decoding: flood) }
        #expect(error?.code == .limitExceeded)
        let many = Array(repeatElement([UInt8(1), 0], count: 300).joined())
        #expect(throws: WireError.self) { try TLV8(decoding: many) }
    }
}

@Suite struct PairSetupTests {
    @Test func transientPairingSpeaksThePublishedMessages() throws {
        let wire = try Vectors("pair_setup_wire")
        let inputs = try Vectors("srp6a_transient_3939", "inputs")
        let (salt, key) = try PairSetup.challenge(in: wire.bytes("m2"))
        #expect(salt == inputs.bytes("salt"))
        let (answer, _) = try SRPClient(password: "3939").answer(
            salt: salt, receiverKey: key, privateKey: SecretBytes(inputs.bytes("a")))
        #expect(PairSetup.m3(answer) == wire.bytes("m3"))
        #expect(try PairingMessage.read(wire.bytes("m4"), state: 4)[.proof].map(answer.verify) == true)
    }

    @Test func aWholeTransientExchangeAgreesOnOneSecret() throws {
        let server = SRPServer(password: PairSetup.transientPassword)
        var setup = PairSetup(.transient)
        #expect(setup.start() == [6, 1, 1, 0, 1, 0, 0x13, 1, 0x10])
        let m2 = TLV8([.init(.state, [2]), .init(.salt, server.salt), .init(.publicKey, server.publicKey)])
        let m3 = try TLV8(decoding: setup.respond(to: m2.encoded(), password: PairSetup.transientPassword))
        let publicKey = try #require(m3[.publicKey])
        let proof = try #require(m3[.proof])
        let accepted = try #require(try server.accept(senderKey: publicKey, proof: proof))
        let m4 = TLV8([.init(.state, [4]), .init(.proof, accepted.proof)])
        #expect(try setup.finish(m4.encoded()) == accepted.key)
    }

    /// Some receivers encode salt, key and proof as numbers without leading zeros; one proof of 256 has one.
    @Test func valuesWhoseLeadingZerosWereStrippedAreUnderstood() throws {
        let server = SRPServer(
            username: "Pair-Setup", password: "3939", salt: [UInt8](1...15),
            privateKey: SecretBytes([UInt8](repeating: 11, count: 32)))
        // Found by trial: with this key the receiver's proof starts with a zero.
        let (answer, isFull) = try SRPClient(password: "3939").answer(
            salt: server.salt, receiverKey: server.publicKey,
            privateKey: SecretBytes([UInt8](repeating: 86, count: 255) + [1]))
        let accepted = try #require(try server.accept(senderKey: answer.publicKey, proof: answer.proof))
        #expect(isFull && accepted.proof[0] == 0)
        var setup = PairSetup(.transient)
        setup.answer = answer
        let m4 = TLV8([.init(.state, [4]), .init(.proof, Array(accepted.proof.dropFirst()))])
        #expect(try setup.finish(m4.encoded()) == accepted.key)
    }

    @Test func aRefusalInsideAnAnswerNamesItsCause() throws {
        var setup = PairSetup(.transient)
        let refusal = try Vectors("tlv8", "error_auth").bytes("encoded")
        let error = #expect(throws: WireError.self) { try setup.respond(to: refusal, password: "3939") }
        #expect(error?.pairingError == .authentication)
        let backOff = TLV8([.init(.state, [2]), .init(.error, [3]), .init(.retryDelay, [30, 0])])
        let wait = #expect(throws: WireError.self) { try setup.respond(to: backOff.encoded(), password: "3939") }
        #expect(wait?.message.contains("30 s") == true)
    }

    @Test func aSpeakerThatDoesNotKnowThePasswordIsNotTrusted() throws {
        let server = SRPServer(password: "3939")
        var setup = PairSetup(.transient)
        let m2 = TLV8([.init(.state, [2]), .init(.salt, server.salt), .init(.publicKey, server.publicKey)])
        _ = try setup.respond(to: m2.encoded(), password: "3939")
        let forged = TLV8([.init(.state, [4]), .init(.proof, [UInt8](repeating: 7, count: 64))])
        let error = #expect(throws: WireError.self) { try setup.finish(forged.encoded()) }
        #expect(error?.code == .notAuthentic)
    }

    @Test func keysAreExchangedAsPublished() throws {
        let vector = try Vectors("pair_setup_m5_m6")
        let inputs = try Vectors("pair_setup_m5_m6", "inputs")
        let secret = SecretBytes(try Vectors("srp6a_pin_1234").bytes("K"))
        let identity = PairingIdentity(
            identifier: inputs.text("client_identifier"), seed: SecretBytes(inputs.bytes("client_ed25519_seed")))
        #expect(PairSetup.exchange(identity: identity, secret: secret) == vector.bytes("m5"))
        let accessory = try PairSetup.accessory(in: vector.bytes("m6"), secret: secret)
        #expect(accessory.identifier == Array(inputs.text("server_identifier").utf8))
        #expect(accessory.publicKey == (try Vectors("pair_verify")).bytes("server_ed25519_public"))
        var altered = vector.bytes("m6")
        altered[20] ^= 1
        #expect(throws: WireError.self) { try PairSetup.accessory(in: altered, secret: secret) }
    }
}

@Suite struct PairVerifyTests {
    private func verify(accessoryKey: [UInt8]? = nil) throws -> PairVerify {
        let inputs = try Vectors("pair_verify", "inputs")
        let key = try accessoryKey ?? Vectors("pair_verify").bytes("server_ed25519_public")
        return PairVerify(
            identity: PairingIdentity(
                identifier: inputs.text("client_identifier"), seed: SecretBytes(inputs.bytes("client_ed25519_seed"))),
            accessory: PairedAccessory(
                identifier: Array(inputs.text("server_identifier").utf8), publicKey: key),
            privateKey: SecretBytes(inputs.bytes("client_x25519_private")))
    }

    @Test func theExchangeHasThePublishedBytes() throws {
        let vector = try Vectors("pair_verify")
        var verify = try verify()
        #expect(verify.start() == vector.bytes("m1"))
        #expect(try verify.respond(to: vector.bytes("m2")) == vector.bytes("m3"))
        #expect(try verify.finish(vector.bytes("m4")) == SecretBytes(vector.bytes("shared_secret")))
    }

    @Test func anImpostorEndsTheAttempt() throws {
        var verify = try verify(accessoryKey: Vectors("pair_verify").bytes("client_ed25519_public"))
        let m2 = try Vectors("pair_verify").bytes("m2")
        let error = #expect(throws: WireError.self) { try verify.respond(to: m2) }
        #expect(error?.code == .notAuthentic)
        #expect(throws: WireError.self) { try verify.finish([6, 1, 4]) }
    }
}
