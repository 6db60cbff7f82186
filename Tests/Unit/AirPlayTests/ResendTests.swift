import AirPlayWire
import Glibc
import MediaCore
import PTP
import Sockets
import Testing

@testable import AirPlay
@testable import AirPlayTransport

/// Retransmissions go only to the receiver of the stream, and are limited to what it can use.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ResendTests {
    private static let format = StreamFormat.lossless44100
    private static let packets = 500

    /// Both ends of a stream whose packets have all been sent.
    private struct Stream {
        let sender: RealtimeSender
        let control: DatagramSocket
        /// A socket of another program on the receiver's host.
        let other: DatagramSocket
        let ours: NetworkAddress
        let port: UInt16
        let first: UInt16

        init() throws {
            ours = NetworkAddress("127.0.0.1")!
            let theirs = NetworkAddress("127.0.0.2")!
            control = try DatagramSocket(address: theirs, port: 0)
            other = try DatagramSocket(address: theirs, port: 0)
            let data = try DatagramSocket(address: theirs, port: 0)
            let own = try DatagramSocket(address: ours, port: 0)
            port = own.port
            let store = PacketStore(bytes: 1 << 20, packets: 1024)
            for index in 0..<ResendTests.packets {
                let sound = [UInt8](repeating: UInt8(truncatingIfNeeded: index), count: 64)
                let timestamp = RTPTimestamp(rawValue: UInt32(index * ResendTests.format.framesPerPacket))
                _ = sound.withUnsafeBytes { store.append($0, timestamp: timestamp) }
            }
            let ends = RealtimeSender.Ends(
                control: own, data: try DatagramSocket(address: ours, port: 0), remote: theirs, dataPort: data.port,
                controlPort: control.port)
            let mapping = ClockMapping(
                sourceAnchor: HostInstant(nanoseconds: 0), targetAnchor: PTPInstant(nanoseconds: 0))
            sender = try RealtimeSender(
                ends: ends,
                packetizer: RealtimePacketizer(
                    key: SecretBytes([UInt8](repeating: 7, count: 32)), source: 0,
                    firstSequence: .random(in: 0 ... .max)),
                format: ResendTests.format, depth: RealtimeSender.depth, store: store,
                clock: { PTPTimeline(grandmaster: nil, mapping: mapping) },
                onWritable: {})
            first = sender.next.sequence
            let heard = HostInstant.now.advanced(by: .milliseconds(100))
            sender.play(
                .init(
                    position: RTPTimestamp(rawValue: 0), instant: PTPInstant(nanoseconds: heard.nanoseconds),
                    grandmaster: nil))
            // Packets within the queue's depth are sent at one per millisecond; 80 are more than are requested below.
            let sent = ResendTests.eventually { [sender, first] in sender.next.sequence &- first >= 80 }
            try #require(sent)
            sender.halt()
        }

        func requestResend(of count: UInt16, from socket: DatagramSocket) {
            socket.send(
                ResendRequest.bytes(sequence: 1, firstMissing: first, count: count), to: ours, port: port)
        }

        /// Returns the number of retransmitted packets that arrived at a socket.
        func answers(at socket: DatagramSocket) -> Int {
            var buffer = [UInt8](repeating: 0, count: 2048)
            var count = 0
            while let datagram = socket.receive(into: &buffer) {
                if datagram.count > 4, buffer[0] == 0x80, buffer[1] == 0xD6 { count += 1 }
            }
            return count
        }
    }

    private static func eventually(_ condition: () -> Bool) -> Bool {
        let deadline = HostInstant.now.advanced(by: .seconds(10))
        while HostInstant.now < deadline {
            if condition() { return true }
            sched_yield()
        }
        return condition()
    }

    @Test func requestsOfAnotherProgramGetNoAnswer() throws {
        let stream = try Stream()
        defer { stream.sender.close() }
        stream.requestResend(of: 10, from: stream.other)
        // This request is read after the other one: when it is answered, both have been read.
        stream.requestResend(of: 2, from: stream.control)
        var (answers, strays) = (0, 0)
        let answered = Self.eventually {
            answers += stream.answers(at: stream.control)
            strays += stream.answers(at: stream.other)
            return answers >= 2
        }
        #expect(answered && answers == 2 && strays == 0)
        #expect(stream.sender.resentPackets == 2)
    }

    @Test func manyRequestsGetNoMoreThanTheStreamHas() throws {
        let stream = try Stream()
        defer { stream.sender.close() }
        let began = HostInstant.now
        for _ in 0..<200 { stream.requestResend(of: 60, from: stream.control) }
        _ = Self.eventually {
            HostInstant.now - began >= .milliseconds(300) && stream.sender.resentPackets >= 60
        }
        // Read first: more may be sent until the time is read.
        let sent = Double(stream.sender.resentPackets)
        let elapsed = HostInstant.now - began
        // The packets of the queue, 600 ms or 76 packets, and those of the time since.
        let fair = (RealtimeSender.depth + elapsed).inMilliseconds / (352 * 1000 / 44100) + 2
        print("resends: \(sent) of \(200 * 60) asked for, \(fair) are fair")
        #expect(sent >= 60 && sent <= fair)
    }

    @Test func anAllowanceIsSpentAndComesBackAsSoundPasses() {
        let began = HostInstant(nanoseconds: 1_000_000_000_000)
        var allowance = ResendAllowance(packet: .milliseconds(8), queue: .milliseconds(600), at: began)
        func spend(at now: HostInstant) -> Int {
            var count = 0
            while allowance.consumeToken(at: now) { count += 1 }
            return count
        }
        #expect(spend(at: began) == 75)
        #expect(spend(at: began) == 0)
        #expect(spend(at: began.advanced(by: .milliseconds(80))) == 10)
        #expect(spend(at: began) == 0, "a clock that went back gives nothing")
        #expect(spend(at: began.advanced(by: .seconds(3600))) == 75)
    }
}
