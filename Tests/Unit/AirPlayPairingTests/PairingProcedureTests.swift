import AirPlay
import AirPlayTransport
import MediaCore
import Testing

@testable import AirPlayWire

@Suite struct PairingProcedureTests {
    private let identity = PairingIdentity.generate(identifier: "0211223344556677")
    private let accessory = SimulatedAccessory()

    private func traits(_ strings: String...) throws -> SpeakerTraits {
        SpeakerTraits(try TXTRecord(strings: strings.map { Array($0.utf8) }))
    }

    private func session(
        stored: PairedAccessory? = nil, password: String? = nil, _ traits: SpeakerTraits = SpeakerTraits()
    ) -> PairingProcedure {
        PairingProcedure(.session(stored: stored, password: password), identity: identity, traits: traits)
    }

    private func failure(of procedure: inout PairingProcedure) -> AirPlayError? {
        do {
            _ = try accessory.run(&procedure)
            return nil
        } catch {
            return error as? AirPlayError
        }
    }

    /// Registers this sender at the accessory, as `talkie pair` does.
    private func register() throws -> PairedAccessory {
        accessory.admission = .pin("1234")
        var procedure = PairingProcedure(.registration(pin: "1234"), identity: identity, traits: SpeakerTraits())
        _ = try accessory.run(&procedure)
        return try #require(procedure.learned)
    }

    @Test func anOpenSpeakerAcceptsEverySender() throws {
        var procedure = session()
        let result = try accessory.run(&procedure)
        #expect(result.secret == accessory.secret)
        #expect(!result.usedPassword)
        #expect(accessory.requests == ["/pair-setup 4", "/pair-setup 4"])
        #expect(accessory.connections == 1)
    }

    @Test func pairingByPINAsksReconnectsKeepsKeysAndProvesThem() throws {
        accessory.admission = .pin("1234")
        var procedure = PairingProcedure(.registration(pin: nil), identity: identity, traits: SpeakerTraits())
        let result = try accessory.run(&procedure, pin: "1234")
        #expect(procedure.learned == accessory.accessory)
        #expect(accessory.knows[Array("0211223344556677".utf8)] == identity.publicKey)
        #expect(result.secret == accessory.secret)
        #expect(
            accessory.requests == [
                "/pair-pin-start 3", "/pair-setup 3", "/pair-setup 3", "/pair-setup 3", "/pair-verify 3",
                "/pair-verify 3",
            ])
        // No connection is open while the PIN is typed, and verification needs an unencrypted connection.
        #expect(accessory.connections == 3)
    }

    @Test func aPairedSpeakerIsVerifiedAndNothingElse() throws {
        let stored = try register()
        var procedure = session(stored: stored)
        let result = try accessory.run(&procedure)
        #expect(result.secret == accessory.secret)
        #expect(accessory.requests.suffix(2) == ["/pair-verify 3", "/pair-verify 3"])
    }

    @Test func anImpostorEndsTheAttemptAndTheKeysStay() throws {
        let stored = try register()
        accessory.isImpostor = true
        accessory.admission = .open
        var procedure = session(stored: stored)
        #expect(failure(of: &procedure)?.code == .notAuthentic)
        #expect(accessory.requests.last == "/pair-verify 3")
    }

    @Test(arguments: 1...3) func anAlteredAnswerOfPairingTeachesNoKeys(_ number: Int) throws {
        accessory.admission = .pin("1234")
        accessory.damagedAnswer = number
        var procedure = PairingProcedure(.registration(pin: "1234"), identity: identity, traits: SpeakerTraits())
        #expect(throws: AirPlayError.self) { try accessory.run(&procedure) }
        #expect(procedure.learned == nil)
    }

    /// Responses with which an impostor could get the audio of a paired speaker, or a password.
    enum Excuse: String, CaseIterable { case unknownKeys, status470, status401, ownFlags }

    @Test(arguments: Excuse.allCases) func aPairedSpeakerIsNeverDrivenByLess(_ excuse: Excuse) throws {
        let stored = try register()
        let before = accessory.requests.count
        accessory.removeAllPairings()
        accessory.admission = .open
        if excuse == .status470 { accessory.status = 470 }
        if excuse == .status401 { accessory.status = 401 }
        let own = excuse == .ownFlags ? try traits("flags=0x4", "pw=false", "model=AudioAccessory5,1") : SpeakerTraits()
        for password in [nil, "sesame"] {
            var procedure = session(stored: stored, password: password, own)
            let refused = failure(of: &procedure)
            #expect(refused?.code == .notAuthentic && refused?.remedy?.action == .pairAgain)
            #expect(refused?.message.contains("pair with it again") == true)
            #expect(accessory.requests[before...].allSatisfy { $0 == "/pair-verify 3" }, "\(accessory.requests)")
        }
    }

    @Test(arguments: Excuse.allCases) func aSpeakerWithAPasswordHasToKnowItWhateverItSays(_ excuse: Excuse) throws {
        accessory.admission = .open
        if excuse == .status470 { accessory.status = 470 }
        if excuse == .status401 { accessory.status = 401 }
        let says: [[String]] =
            excuse == .ownFlags
            ? [
                ["pw=false"], ["model=AudioAccessory5,1"], ["flags=0x84"], ["flags=0x80", "model=AppleTV11,1"],
                ["pw=true"],
            ]
            : [[]]
        for strings in says {
            let own = SpeakerTraits(try TXTRecord(strings: strings.map { Array($0.utf8) }))
            var procedure = session(password: "sesame", own)
            #expect([.notAuthentic, .pairingRequired].contains(failure(of: &procedure)?.code), "\(strings)")
        }
    }

    @Test func aTransportErrorNeverCostsKeys() throws {
        let stored = try register()
        accessory.status = 503
        var procedure = session(stored: stored)
        #expect(failure(of: &procedure)?.code == .busy)
    }

    @Test func aWrongPasswordIsCalledWrongAlsoByASpeakerThatAcceptsNoFurtherAttempt() throws {
        func refused(_ error: PairingError) -> PairingReply {
            PairingReply(
                status: 200, body: TLV8([.init(.state, [2]), .init(.error, [error.rawValue])]).encoded())
        }
        for blocked in [PairingError.backOff, .maximumTries] {
            var procedure = PairingProcedure(
                .introduction(password: "guess"), identity: identity, traits: SpeakerTraits())
            _ = try procedure.begin()
            _ = try procedure.receive(refused(.authentication))
            _ = procedure.reconnected()
            let failure = #expect(throws: AirPlayError.self) { _ = try procedure.receive(refused(blocked)) }
            #expect(failure?.code == .notAuthentic && failure?.remedy?.action == .correctPassword)
            // Without a rejection nothing is known of the password.
            var other = PairingProcedure(.introduction(password: "guess"), identity: identity, traits: SpeakerTraits())
            _ = try other.begin()
            let refusal = #expect(throws: AirPlayError.self) { _ = try other.receive(refused(blocked)) }
            #expect(refusal?.code == .refused)
        }
    }

    @Test func aWrongPINSaysSo() throws {
        accessory.admission = .pin("1234")
        var procedure = PairingProcedure(.registration(pin: "9999"), identity: identity, traits: SpeakerTraits())
        let refused = failure(of: &procedure)
        #expect(refused?.code == .notAuthentic)
        #expect(refused?.message.contains("PIN") == true)
        #expect(procedure.learned == nil)
    }

    @Test func aSpeakerThatRequiresAPINIsRecognizedBeforeAndAfterPairing() throws {
        var announced = session(try traits("flags=0x8"))
        #expect(failure(of: &announced)?.remedy?.action == .pairByPIN)
        #expect(accessory.requests.isEmpty)
        accessory.refusesTransient = true
        var surprised = session()
        #expect(failure(of: &surprised)?.remedy?.action == .pairByPIN)
    }

    @Test func aPasswordReplacesTheDefaultOne() throws {
        accessory.admission = .password("sesame")
        var without = session(try traits("pw=true"))
        #expect(failure(of: &without)?.remedy?.action == .givePassword)
        var procedure = session(password: "sesame", try traits("pw=true"))
        let result = try accessory.run(&procedure)
        #expect(result.usedPassword)
        #expect(result.secret == accessory.secret)
        var wrong = session(password: "open", try traits("pw=true"))
        #expect(failure(of: &wrong)?.code == .notAuthentic)
    }

    @Test func anUnneededPasswordIsReported() throws {
        func introduction(_ password: String) -> PairingProcedure {
            PairingProcedure(.introduction(password: password), identity: identity, traits: SpeakerTraits())
        }
        var needless = introduction("sesame")
        #expect(try accessory.run(&needless).usedPassword == false)
        #expect(accessory.connections == 2)
        accessory.admission = .password("sesame")
        var right = introduction("sesame")
        #expect(try accessory.run(&right).usedPassword)
        var wrong = introduction("open")
        #expect(failure(of: &wrong)?.code == .notAuthentic)
    }

    @Test func aPasswordIsTriedWhereNoneIsAnnounced() throws {
        accessory.admission = .password("sesame")
        var silent = session(password: "sesame")
        #expect(try accessory.run(&silent).usedPassword)
    }

    @Test func aPasswordThatIsAPINPairsPermanently() throws {
        accessory.refusesTransient = true
        accessory.admission = .password("sesame")
        var procedure = session(password: "sesame", try traits("flags=0x80"))
        let result = try accessory.run(&procedure)
        #expect(procedure.learned == accessory.accessory)
        #expect(result.usedPassword)
    }

    @Test func aHomePodStartsWithTransientPairing() throws {
        var procedure = session(try traits("model=AudioAccessory5,1", "pw=true"))
        #expect(try !accessory.run(&procedure).usedPassword)
    }

    @Test func aSpeakerThatRefusesPairingIsNotRetried() throws {
        accessory.status = 403
        var procedure = session(password: "x", try traits("pw=true"))
        #expect(failure(of: &procedure)?.status == 403)
        #expect(accessory.requests.count == 1)
    }

    @Test func anUnsolicitedResponseIsRefused() {
        var procedure = session()
        #expect(throws: AirPlayError.self) { try procedure.receive(PairingReply()) }
    }
}

@Suite struct AccessorySignatureTests {
    /// Returns the last message of pairing, sealed with the right key and signed by a given identity.
    private func lastMessage(signedBy signer: PairingIdentity, secret: SecretBytes) -> [UInt8] {
        let announced = PairingIdentity(identifier: "11:22", seed: SecretBytes([UInt8](repeating: 1, count: 32)))
        let transcript = KeyDerivation.key(
            from: secret, salt: "Pair-Setup-Accessory-Sign-Salt", info: "Pair-Setup-Accessory-Sign-Info")
        let signed = transcript.withBytes { Array($0) } + Array("11:22".utf8) + announced.publicKey
        let inner = TLV8([
            .init(.identifier, Array("11:22".utf8)), .init(.publicKey, announced.publicKey),
            .init(.signature, signer.sign(signed)),
        ])
        let key = KeyDerivation.key(from: secret, salt: "Pair-Setup-Encrypt-Salt", info: "Pair-Setup-Encrypt-Info")
        let sealed = ChaChaPoly.seal(inner.encoded(), label: "PS-Msg06", key: key)
        return TLV8([.init(.state, [6]), .init(.encryptedData, sealed)]).encoded()
    }

    @Test func onlyTheHolderOfTheAnnouncedKeyIsBelieved() throws {
        let secret = SecretBytes.random(count: 64)
        let owner = PairingIdentity(identifier: "11:22", seed: SecretBytes([UInt8](repeating: 1, count: 32)))
        let believed = try PairSetup.accessory(in: lastMessage(signedBy: owner, secret: secret), secret: secret)
        #expect(believed.publicKey == owner.publicKey)
        let stranger = PairingIdentity.generate(identifier: "11:22")
        let error = #expect(throws: WireError.self) {
            try PairSetup.accessory(in: lastMessage(signedBy: stranger, secret: secret), secret: secret)
        }
        #expect(error?.code == .notAuthentic)
    }
}
