import Testing

@testable import AirPlayWire

@Suite struct RTSPTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func requestsAlwaysCountTheirBody() {
        let request = RTSPRequest("GET", "/info", headers: ["CSeq": "3"])
        #expect(request.encoded() == bytes("GET /info RTSP/1.0\r\nCSeq: 3\r\nContent-Length: 0\r\n\r\n"))
        let post = RTSPRequest("POST", "/feedback", body: [1, 2])
        #expect(post.encoded() == bytes("POST /feedback RTSP/1.0\r\nContent-Length: 2\r\n\r\n") + [1, 2])
    }

    @Test func anAnswerToAnEventSaysNoMoreThanItMust() {
        #expect(
            RTSPResponse(status: 200, headers: ["CSeq": "4"]).encoded() == bytes("RTSP/1.0 200 OK\r\nCSeq: 4\r\n\r\n"))
    }

    @Test func aHeaderValueCannotBeginAnotherHeader() {
        let request = RTSPRequest("GET", "/info", headers: ["Name": "a\r\nEvil: 1"])
        #expect(request.encoded() == bytes("GET /info RTSP/1.0\r\nName: aEvil: 1\r\nContent-Length: 0\r\n\r\n"))
    }

    @Test(arguments: [1, 2, 3, 17, 1000])
    func messagesCutAnywhereAreReadWhole(piece: Int) throws {
        let wire =
            bytes("RTSP/1.0 200 OK\r\ncseq:  12\r\nContent-Length: 3\r\n\r\nabc")
            + bytes("\r\nPOST /command RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 2\r\n\r\nxyHTTP/1.1 470\r\n\r\n")
        var parser = RTSPParser()
        var messages: [RTSPMessage] = []
        var rest = wire[...]
        while !rest.isEmpty {
            parser.append(rest.prefix(piece))
            rest = rest.dropFirst(piece)
            while let message = try parser.next() { messages.append(message) }
        }
        #expect(messages.count == 3)
        guard messages.count == 3, case .response(let first) = messages[0], case .request(let second) = messages[1],
            case .response(let third) = messages[2]
        else {
            Issue.record("\(messages)")
            return
        }
        #expect(first.sequence == 12)
        #expect(first.body == bytes("abc"))
        #expect((second.method, second.target, second.body) == ("POST", "/command", bytes("xy")))
        #expect((third.status, third.reason, third.version) == (470, "", "HTTP/1.1"))
        #expect(parser.heldBytes == 0)
    }

    @Test func anEndlessHeadIsRefusedAndStaysRefused() {
        var parser = RTSPParser()
        parser.append(bytes("RTSP/1.0 200 OK\r\nX: " + String(repeating: "a", count: 70_000)))
        let error = #expect(throws: WireError.self) { try parser.next() }
        #expect(error?.code == .limitExceeded)
        parser.append(bytes("\r\n\r\n"))
        #expect(throws: WireError.self) { try parser.next() }
        #expect(parser.heldBytes == 0)
    }

    @Test func whatBeginsLikeNoMessageIsRefusedWithoutWaitingForItsEnd() {
        for first: UInt8 in [0, 5, 0x20, 0x31, 0x40, 0x5B, 0x80, 0xFF] {
            var parser = RTSPParser()
            parser.append([first])
            #expect(throws: WireError.self) { try parser.next() }
        }
    }

    @Test func aHeadAndABodyOfJustTheLimitAreTaken() throws {
        let line = "RTSP/1.0 200 OK\r\nContent-Length: \(RTSPParser.bodyLimit)\r\nX: "
        var head = bytes(line)
        head += [UInt8](repeating: 0x61, count: RTSPParser.headLimit - head.count - 3) + bytes("\r\n\r\n")
        var parser = RTSPParser()
        parser.append(head)
        parser.append([UInt8](repeating: 1, count: RTSPParser.bodyLimit))
        guard case .response(let response)? = try parser.next() else {
            Issue.record("no answer")
            return
        }
        #expect(response.body.count == RTSPParser.bodyLimit)
    }

    @Test(arguments: ["99999999", "-1", "8388609", "1e3", ""])
    func absurdBodyLengthsAreRefusedBeforeAnyByteOfThem(length: String) {
        var parser = RTSPParser()
        parser.append(bytes("RTSP/1.0 200 OK\r\nContent-Length: \(length)\r\n\r\n"))
        #expect(throws: WireError.self) { try parser.next() }
    }

    @Test(arguments: [
        "hello\r\n\r\n", "RTSP/1.0 abc OK\r\n\r\n", "RTSP/1.0 200 OK\r\nno colon\r\n\r\n", "GET /x\r\n\r\n",
    ])
    func linesThatAreNoMessageAreRefused(text: String) {
        var parser = RTSPParser()
        parser.append(bytes(text))
        #expect(throws: WireError.self) { try parser.next() }
    }
}
