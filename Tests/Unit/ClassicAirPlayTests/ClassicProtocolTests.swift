import AirPlayTransport
import AirPlayWire
import MediaCore
import Sockets
import SyncRendering
import Testing

@testable import ClassicAirPlay

/// What a classic session sends and reads.
struct ClassicProtocolTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Hexadecimal.bytes(text)) }

    @Test func digestsAreThoseOfRFC2069() throws {
        let digest = try #require(
            DigestAuthentication(challenge: #"Digest realm="raop", nonce="0123456789abcdef""#))
        let header = digest.authorization("ANNOUNCE", "rtsp://192.0.2.20/1234567890", password: "secret")
        #expect(
            header == #"Digest username="iTunes", realm="raop", nonce="0123456789abcdef", "#
                + #"uri="rtsp://192.0.2.20/1234567890", response="a9518739cd7c10f020c1ce0013913ff7""#)
        let other = try #require(DigestAuthentication(challenge: #"digest nonce=0123456789abcdef , realm="x y""#))
        #expect(other.realm == "x y" && other.nonce == "0123456789abcdef")
        #expect(other.authorization("GET", "/", password: "").contains(#"username="AirPlay""#))
        let old = digest.authorization("GET", "/", password: "secret", isUpperCase: true)
        #expect(old.split(separator: "\"").last.map { $0 == $0.uppercased() } == true)
    }

    @Test(arguments: [
        "", "Basic realm=\"raop\"", "Digest realm=\"raop\"", "Digest nonce=\"1\"",
        "Digest realm=\"" + String(repeating: "x", count: 300) + "\", nonce=\"1\"",
        String(repeating: "Digest ", count: 300),
    ]) func otherChallengesAreNotAnswered(challenge: String) {
        #expect(DigestAuthentication(challenge: challenge) == nil)
    }

    @Test func theKeyIsEncryptedForTheFirstAirPortExpress() throws {
        // Computed from RFC 8017 by another program.
        let expected =
            "55abb382307f035ebcb8a0b47f09dcb7a7d669ce14d11402ef0e15253802b99a3b7df4563c4e3874eeab51d1f1f8e3e62dbd8ac1"
            + "a453a026570b30837aca4e42a584e79af0fb71306955551a6f2ca9568630e4953930e18add7631c6045d62ad44dbbfb258c2d920"
            + "75d9c8ad319c628dd1e106f1be1f17aa794bc6a4fff06978fec6cedf5cd3e4d47cc62f6a26ba95594f4880540fd934935f7e038e"
            + "f3a1bcf600d9354038c947a142e12bccfb38725f2b8a51152ddcf6c35b39b54bd200842bc923c0558af9bb41d61a00989c737d55"
            + "0c990b83e8cb7f6e7bda2e48ecfdf6c3a2d9fd5646dc6a883683d5abcdd89292b6713093f03da2a7afbd065fc91e67f2"
        #expect(AirPortKey.encrypt(Array(0..<16), seed: Array(0..<20)) == (try bytes(expected)))
        #expect(AirPortKey.encrypt([UInt8](repeating: 0, count: 215)) == nil)
    }

    @Test func wholeBlocksAreEncryptedAndEachPacketBeginsAnew() throws {
        let cipher = try #require(
            LegacyCryptography.Cipher(
                key: try bytes("00112233445566778899aabbccddeeff"),
                vector: try bytes("0f0e0d0c0b0a09080706050403020100")))
        let clear = try bytes("0123456789abcdeffedcba9876543210ffeeddccbbaa99887766554433221100")
        var first = [1, 2] + clear + [9, 8, 7]
        cipher.encrypt(&first, from: 2)
        let expected = try bytes("6b2579c8a2ddb3f27d6c11e33c607e0c3a05a3e199ec4731fc1b31d17f905d45")
        #expect(first == [1, 2] + expected + [9, 8, 7])
        var second = clear
        cipher.encrypt(&second, from: 0)
        #expect(second == expected)
        var short: [UInt8] = [1, 2, 3]
        cipher.encrypt(&short, from: 0)
        #expect(short == [1, 2, 3])
        #expect(LegacyCryptography.Cipher(key: [1], vector: [2]) == nil)
    }

    @Test func aPacketHasItsHeaderAndItsSound() {
        var packetizer = ClassicPacketizer(firstSequence: 0xFFFF, source: 0x0102_0304, cipher: nil)
        var wire: [UInt8] = []
        [UInt8](arrayLiteral: 5, 6).withUnsafeBufferPointer {
            packetizer.append($0, timestamp: RTPTimestamp(rawValue: 0xA0B0_C0D0), marked: true, to: &wire)
        }
        #expect(wire == [0x80, 0xE0, 0xFF, 0xFF, 0xA0, 0xB0, 0xC0, 0xD0, 1, 2, 3, 4, 5, 6])
        #expect(packetizer.nextSequence == 0)
        wire = []
        [UInt8](arrayLiteral: 5).withUnsafeBufferPointer {
            packetizer.append($0, timestamp: RTPTimestamp(rawValue: 1), marked: false, to: &wire)
        }
        #expect(wire.prefix(4) == [0x80, 0x60, 0, 0])
    }

    @Test func theSessionDescriptionNamesFormatAndKey() throws {
        var description = SessionDescription(
            session: 7, local: NetworkAddress("192.0.2.1")!, remote: NetworkAddress("192.0.2.2")!,
            format: .lossless44100, security: nil)
        let clear = String(decoding: try #require(description.body), as: UTF8.self)
        #expect(clear.hasPrefix("v=0\r\no=iTunes 7 0 IN IP4 192.0.2.1\r\ns=iTunes\r\nc=IN IP4 192.0.2.2\r\n"))
        #expect(clear.hasSuffix("a=fmtp:96 352 0 16 40 10 14 2 255 0 0 44100\r\n"))
        (description.local, description.remote) = (NetworkAddress("fe80::1")!, NetworkAddress("fe80::2")!)
        let overIPv6 = String(decoding: try #require(description.body), as: UTF8.self)
        #expect(overIPv6.hasPrefix("v=0\r\no=iTunes 7 0 IN IP6 fe80::1\r\ns=iTunes\r\nc=IN IP6 fe80::2\r\n"))
        description.security = StreamSecurity(key: Array(0..<16), vector: Array(16..<32))
        let sealed = String(decoding: try #require(description.body), as: UTF8.self)
        #expect(sealed.contains("a=aesiv:EBESExQVFhcYGRobHB0eHw\r\n"))
        let key = try #require(sealed.components("a=rsaaeskey:"))
        #expect(Base64.bytes(key)?.count == 256)
    }

    @Test func aSetupNeedsADataPortAndForgivesTheRest() throws {
        func setup(_ headers: RTSPHeaders) -> ClassicSetup? { ClassicSetup(headers) }
        let whole = try #require(
            setup([
                "Session": "DEADBEEF;timeout=60",
                "Transport": "RTP/AVP/UDP;unicast;mode=record;server_port=6000; control_port=6001;timing_port=0",
            ]))
        #expect(whole.session == "DEADBEEF" && whole.dataPort == 6000 && whole.controlPort == 6001)
        #expect(try #require(setup(["Transport": "server_port=6000"])).controlPort == 6000)
        for bad in ["", "server_port=0", "server_port=70000", "server_port=-1", "server_port", "control_port=6001"] {
            #expect(setup(["Transport": bad]) == nil, "\(bad)")
        }
        #expect(setup(["Transport": String(repeating: "x", count: 600) + ";server_port=6000"]) == nil)
    }

    @Test func theProtocolsDelayIsStatedAndSubtractedByTheReceiver() {
        for text in [nil, "11025", "22050", "-1", "x", "999999999999"] {
            let shares = ClassicLatency(text).shares
            #expect(shares.count == 3)
            #expect(shares.reduce(.zero) { $0 + $1.duration } == .zero)
            #expect(shares[0].duration == .seconds(2))
        }
        #expect(ClassicLatency("22050").shares[1].duration == .milliseconds(500))
        #expect(ClassicLatency("22050").shares[1].source == .reported)
        #expect(ClassicLatency("-1").shares[1].source == .assumed)
        #expect(ClassicLatency.depth == .milliseconds(2250))
    }
}

extension String {
    /// Returns the rest of the line after a prefix.
    fileprivate func components(_ prefix: String) -> String? {
        split(separator: "\r\n").first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}
