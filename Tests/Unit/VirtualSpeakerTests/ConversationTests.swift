import AirPlayWire
import MediaCore
import SpeakerTestSupport
import Testing

@testable import VirtualSpeaker

/// A sender in a test: pairs in a conversation and then encrypts.
private struct Sender {
    var conversation: ControlConversation
    var sealer: HAPFrameSealer?
    var opener: HAPFrameOpener?

    init(_ backend: NotedBackend) { conversation = ControlConversation(backend: backend) }

    /// Returns the response to a request; nil if there is none.
    mutating func request(_ request: RTSPRequest) throws -> RTSPResponse? {
        let plain = request.encoded()
        let bytes = sealer?.seal(plain) ?? plain
        var parser = RTSPParser()
        for case .send(let sent) in conversation.receive(bytes) {
            parser.append(try opener?.open(sent) ?? sent)
        }
        guard case .response(let response)? = try parser.next() else { return nil }
        return response
    }

    /// Performs transient pairing; returns false if the speaker rejected the password.
    mutating func pair(_ password: String) throws -> Bool {
        var setup = PairSetup(.transient)
        let challenge = try #require(try request(RTSPRequest("POST", "/pair-setup", body: setup.start())))
        guard challenge.status == 200 else { return false }
        let answer = try setup.respond(to: challenge.body, password: password)
        let last = try #require(try request(RTSPRequest("POST", "/pair-setup", body: answer)))
        guard let secret = try? setup.finish(last.body) else { return false }
        let keys = ChannelKeys.control(from: secret)
        sealer = HAPFrameSealer(key: keys.write)
        opener = HAPFrameOpener(key: keys.read)
        return true
    }
}

@Suite struct ControlConversationTests {
    private func configuration(
        _ admission: PairSetupResponder.Admission = .open, faults: [String: SpeakerQuirks.ReplyFault] = [:]
    ) -> SpeakerConfiguration {
        var configuration = SpeakerConfiguration(admission: admission)
        configuration.quirks.replyFaults = faults
        return configuration
    }

    @Test func afterTransientPairingEverythingIsEncrypted() throws {
        var sender = Sender(NotedBackend())
        #expect(try sender.pair(PairSetup.transientPassword))
        #expect(try sender.request(RTSPRequest("POST", "/feedback"))?.status == 200)
    }

    @Test func aPasswordReplacesTheDefaultOne() throws {
        var knowing = Sender(NotedBackend(configuration(.password("open sesame"))))
        #expect(try knowing.pair("open sesame"))
        var guessing = Sender(NotedBackend(configuration(.password("open sesame"))))
        #expect(try !guessing.pair(PairSetup.transientPassword))
        #expect(try guessing.request(RTSPRequest("POST", "/feedback"))?.status == 470)
    }

    @Test func aSpeakerWithAPINTurnsTransientPairingAwayAndKeepsTheRealOne() throws {
        let backend = NotedBackend(configuration(.pin("4711")))
        var transient = Sender(backend)
        #expect(try !transient.pair(PairSetup.transientPassword))

        var pairing = Sender(backend)
        let identity = PairingIdentity.generate(identifier: "0123456789ABCDEF")
        var setup = PairSetup(.persistent)
        func request(_ body: [UInt8]) throws -> [UInt8] {
            try #require(try pairing.request(RTSPRequest("POST", "/pair-setup", body: body))).body
        }
        let proof = try setup.respond(to: try request(setup.start()), password: "4711")
        let secret = try setup.finish(try request(proof))
        let accessory = try PairSetup.accessory(
            in: try request(PairSetup.exchange(identity: identity, secret: secret)), secret: secret)

        var later = Sender(backend)
        var verify = PairVerify(identity: identity, accessory: accessory)
        let first = try #require(try later.request(RTSPRequest("POST", "/pair-verify", body: verify.start())))
        let second = try #require(
            try later.request(RTSPRequest("POST", "/pair-verify", body: try verify.respond(to: first.body))))
        let keys = ChannelKeys.control(from: try verify.finish(second.body))
        later.sealer = HAPFrameSealer(key: keys.write)
        later.opener = HAPFrameOpener(key: keys.read)
        #expect(try later.request(RTSPRequest("POST", "/feedback"))?.status == 200)
    }

    @Test func anUnpairedSenderCannotVerify() throws {
        let backend = NotedBackend(configuration(.pin("4711")))
        var sender = Sender(backend)
        let identity = PairingIdentity.generate(identifier: "0123456789ABCDEF")
        let accessory = PairedAccessory(
            identifier: Array(backend.identity.pairing.identifier.utf8), publicKey: backend.identity.pairing.publicKey)
        var verify = PairVerify(identity: identity, accessory: accessory)
        let first = try #require(try sender.request(RTSPRequest("POST", "/pair-verify", body: verify.start())))
        let second = try #require(
            try sender.request(RTSPRequest("POST", "/pair-verify", body: try verify.respond(to: first.body))))
        #expect(throws: WireError.self) { try verify.finish(second.body) }
        #expect(try sender.request(RTSPRequest("POST", "/feedback"))?.status == 470)
    }

    @Test func repliesGoWrongInTheWayTheQuirkNames() throws {
        func steps(_ fault: SpeakerQuirks.ReplyFault) -> [ControlConversation.Step] {
            var conversation = ControlConversation(backend: NotedBackend(configuration(faults: ["/info": fault])))
            return conversation.receive(RTSPRequest("GET", "/info").encoded())
        }
        #expect(steps(.silence).isEmpty)
        guard case .wait(.seconds(2))? = steps(.slow(.seconds(2))).first else {
            Issue.record("a slow reply waits first")
            return
        }
        guard case .close? = steps(.truncated).last else {
            Issue.record("a cut reply ends the connection")
            return
        }
        guard case .send(let bytes)? = steps(.status(503)).first else {
            Issue.record("a status is sent")
            return
        }
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("RTSP/1.0 503 "))
    }

    /// Sends the head of a request without its body; returns true if the speaker accepts it.
    private func takesBody(of bytes: Int, _ sender: inout Sender) -> Bool {
        let head = Array("SET_PARAMETER rtsp://127.0.0.1/1 RTSP/1.0\r\nContent-Length: \(bytes)\r\n\r\n".utf8)
        _ = sender.conversation.receive(sender.sealer?.seal(head) ?? head)
        return sender.conversation.ending == nil
    }

    @Test func onlyASessionMaySendMuch() throws {
        let small = ControlConversation.smallBody
        var stranger = Sender(NotedBackend())
        #expect(takesBody(of: small, &stranger))
        stranger = Sender(NotedBackend())
        #expect(!takesBody(of: small + 1, &stranger))

        var paired = Sender(NotedBackend())
        #expect(try paired.pair(PairSetup.transientPassword))
        #expect(!takesBody(of: small + 1, &paired))

        for excess in 0...1 {
            var begun = Sender(NotedBackend())
            #expect(try begun.pair(PairSetup.transientPassword))
            let setup: PropertyList = ["timingProtocol": "NTP", "timingPort": 6002]
            let answer = try begun.request(RTSPRequest("SETUP", "rtsp://127.0.0.1/1", body: setup.binary()))
            #expect(answer?.status == 200)
            #expect(takesBody(of: RTSPParser.bodyLimit + excess, &begun) == (excess == 0))
        }
    }

    @Test(arguments: [PairSetupResponder.Admission.pin("4711"), .password("4711")])
    func guessingASecretTakesLongerAndLongerOnHoweverManyConnections(_ admission: PairSetupResponder.Admission) throws {
        let backend = NotedBackend(configuration(admission))
        func attempt(_ secret: String) throws -> WireError? {
            var sender = Sender(backend)
            let isPIN = if case .pin = admission { true } else { false }
            var setup = PairSetup(isPIN ? .persistent : .transient)
            do {
                let challenge = try #require(
                    try sender.request(RTSPRequest("POST", "/pair-setup", body: setup.start())))
                let proof = try setup.respond(to: challenge.body, password: secret)
                let last = try #require(try sender.request(RTSPRequest("POST", "/pair-setup", body: proof)))
                _ = try setup.finish(last.body)
                return nil
            } catch let error as WireError {
                return error
            }
        }
        for _ in 0..<5 { #expect(try attempt("0000")?.pairingError == .authentication) }
        let refusal = try #require(try attempt("4711"))
        #expect(refusal.pairingError == .backOff)
        #expect(refusal.message.contains("5 s"))
        for round in 0..<5 {
            backend.now = backend.now.advanced(by: .seconds(5 << round))
            #expect(try attempt("0000")?.pairingError == .authentication, "round \(round)")
        }
        #expect(try attempt("4711")?.pairingError == .maximumTries)
        backend.now = backend.now.advanced(by: PairingAttempts.pardon)
        #expect(try attempt("4711") == nil)
        for _ in 0..<3 { #expect(try attempt("0000")?.pairingError == .authentication) }
    }

    @Test func theDefaultSecretIsNotRateLimited() throws {
        let backend = NotedBackend()
        for _ in 0..<20 {
            var guessing = Sender(backend)
            #expect(try !guessing.pair("4711"))
        }
        var knowing = Sender(backend)
        #expect(try knowing.pair(PairSetup.transientPassword))
    }

    @Test func bytesThatAreNoRequestEndTheConnection() {
        var conversation = ControlConversation(backend: NotedBackend())
        let steps = conversation.receive(Array("hello\r\n\r\n".utf8))
        guard case .close? = steps.last else {
            Issue.record("nonsense must end the connection")
            return
        }
        #expect(conversation.ending != nil)
    }
}
