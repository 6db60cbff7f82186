import Glibc
import MediaCore
import Sockets
import Synchronization
import Testing

@testable import PTP

/// A host that sends at the maximum rate; from the PTP ports, because other ports are rejected immediately.
@Suite(.serialized, .timeLimit(.minutes(1))) struct FloodTests {
    private static let ports: (event: UInt16, general: UInt16) = (32341, 32342)
    private let master = IPv4Address("127.0.0.1")!

    /// Sends requests until it is stopped.
    private final class Flood: Sendable {
        private let isOver = Atomic<Bool>(false)
        private let count = Atomic<Int>(0)
        private let thread = Lock<WorkerThread?>(nil)

        init(from source: DatagramSocket, to target: IPv4Address) {
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

    /// Returns the number of Sync messages that another speaker receives within a duration.
    private func syncs(at listener: DatagramSocket, in time: Duration) -> Int {
        var buffer = [UInt8](repeating: 0, count: 2048)
        while listener.receive(into: &buffer) != nil {}
        var count = 0
        let end = HostInstant.now.advanced(by: time)
        while HostInstant.now < end {
            while let datagram = listener.receive(into: &buffer) {
                if PTPMessage(buffer[..<datagram.count])?.content == .sync { count += 1 }
            }
            var arrival = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
            poll(&arrival, 1, Int32(max(0, (end - .now).inMilliseconds)))
        }
        return count
    }

    /// From a stranger, and from a served speaker, whose requests are answered.
    @Test(arguments: [false, true]) func aFloodNeitherStopsTheBeatNorTheEnd(isServed: Bool) throws {
        let witness = IPv4Address("127.0.0.3")!
        let flooder = IPv4Address("127.0.0.2")!
        let listener = try PTPPorts.open(witness, Self.ports.event)
        let source = try PTPPorts.open(flooder, Self.ports.event)
        let instance = try PTPInstance(
            address: master, identity: ClockIdentity(rawValue: 1), eventPort: Self.ports.event,
            generalPort: Self.ports.general)
        instance.add(witness)
        if isServed { instance.add(flooder) }
        let quiet = syncs(at: listener, in: .milliseconds(1000))
        let flood = Flood(from: source, to: master)
        defer { flood.stop() }
        let began = HostInstant.now
        let loud = syncs(at: listener, in: .milliseconds(1000))
        let rate = Double(flood.sent) / (HostInstant.now - began).inMilliseconds * 1000
        let asked = HostInstant.now
        instance.stop()
        let stopping = HostInstant.now - asked
        print("flood of \(Int(rate)) a second: \(loud) beats instead of \(quiet), stopped after \(stopping)")
        #expect(quiet >= 6)
        #expect(loud * 2 >= quiet)
        #expect(stopping < .milliseconds(500))
    }
}
