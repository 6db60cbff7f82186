import Glibc
import MediaCore
import Sockets
import Synchronization
import Testing

@testable import PTP

/// A host that sends at the maximum rate; from the PTP ports, because other ports are rejected immediately.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FloodTests {
    private static let ports: (event: UInt16, general: UInt16) = (32341, 32342)
    private let master = NetworkAddress("127.0.0.1")!

    /// Sends requests until it is stopped.
    private final class Flood: Sendable {
        private let isOver = Atomic<Bool>(false)
        private let count = Atomic<Int>(0)
        private let thread = Lock<WorkerThread?>(nil)

        init(from source: DatagramSocket, to target: NetworkAddress) {
            var writer = PTPMessageWriter(identity: ClockIdentity(rawValue: 0xF100D))
            writer.request(.delayRequest, sequence: 1)
            let bytes = writer.bytes
            thread.withLock {
                $0 = try! WorkerThread.start(name: "flood") { [self] in
                    while !isOver.load(ordering: .relaxed) {
                        source.send(bytes, to: target, port: source.port)
                        count.add(1, ordering: .relaxed)
                    }
                }
            }
        }

        var sent: Int { count.load(ordering: .relaxed) }

        func stop() {
            isOver.store(true, ordering: .relaxed)
            thread.withLock { $0 }?.join()
        }
    }

    /// Waits at most 20 s until another speaker has received a number of Sync messages. Returns their number and the
    /// elapsed time.
    private func syncs(_ wanted: Int, at listener: DatagramSocket) -> (count: Int, took: Duration) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while listener.receive(into: &buffer) != nil {}
        var count = 0
        let start = HostInstant.now
        let deadline = start.advanced(by: .seconds(20))
        while count < wanted, HostInstant.now < deadline {
            while let datagram = listener.receive(into: &buffer) {
                if PTPMessage(buffer[..<datagram.count])?.content == .sync { count += 1 }
            }
            var arrival = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&arrival, 1, Int32(max(0, (deadline - .now).inMilliseconds)))
        }
        return (count, .now - start)
    }

    /// From a stranger, and from a served speaker, whose requests are answered.
    @Test(arguments: [false, true]) func aFloodNeitherStopsTheBeatNorTheEnd(isServed: Bool) throws {
        let witness = NetworkAddress("127.0.0.3")!
        let flooder = NetworkAddress("127.0.0.2")!
        let listener = try PTPPorts.open(witness, Self.ports.event)
        let source = try PTPPorts.open(flooder, Self.ports.event)
        let instance = try PTPInstance(
            address: master, identity: ClockIdentity(rawValue: 1), eventPort: Self.ports.event,
            generalPort: Self.ports.general)
        instance.add(witness)
        if isServed { instance.add(flooder) }
        let quiet = syncs(6, at: listener)
        let flood = Flood(from: source, to: master)
        defer { flood.stop() }
        let loud = syncs(6, at: listener)
        let sent = flood.sent
        let asked = HostInstant.now
        instance.stop()
        let stopping = HostInstant.now - asked
        print("\(quiet) without a flood; \(loud) with \(sent) messages, stopped after \(stopping)")
        // A thread that answers the flood first sends none, and does not end before the flood.
        #expect(quiet.count >= 6 && loud.count >= 6)
        #expect(stopping < .seconds(10))
    }
}
