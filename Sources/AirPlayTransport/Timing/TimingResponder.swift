internal import AirPlayWire
package import MediaCore
package import PTP
package import Sockets

/// Answers the NTP timing requests of one speaker. Must run before the session's first SETUP: some speakers send
/// requests during it.
package final class TimingResponder: Sendable {
    private struct Exchange {
        var answers = 0
        var first: HostInstant?
        var last: HostInstant?
    }

    /// Settling time of a speaker after its first response.
    private static let settling: Duration = .milliseconds(100)
    /// The slowest known receiver sends a request every 3 s; three missing requests are a stall.
    private static let stall: Duration = .seconds(10)

    /// Maximum number of requests handled between two checks for `close`.
    private static let share = 64

    /// The served time: this computer's monotonic clock, steered if another speaker's clock is followed.
    package let served: ServedTimeline
    private let socket: DatagramSocket
    private let exchange = Lock(Exchange())
    private let thread: PollingThread

    /// Opens a socket and starts the thread.
    ///
    /// - Parameters:
    ///   - local: The local address of the session.
    ///   - remote: The only address that gets responses.
    /// - Throws: `PTPError` without a socket or thread.
    package init(on local: NetworkAddress, for remote: NetworkAddress, serving served: ServedTimeline) throws(PTPError)
    {
        self.served = served
        socket = try SenderPorts.open(on: local)
        do throws(ExhaustionError) {
            thread = try PollingThread(name: "airplay timing", priority: .realtime(30))
            // The thread retains this object until `close`.
            try thread.start { self.run(remote) }
        } catch {
            throw PTPError(.unavailable, "Cannot serve time to speakers: \(error.message).")
        }
    }

    /// The UDP port for SETUP.
    package var port: UInt16 { socket.port }

    /// When the last request arrived; nil before the first.
    package var lastQuestion: HostInstant? { exchange.withLock { $0.last } }

    /// Stops answering and joins the thread.
    package func close() { thread.stop() }

    /// Returns the synchronization state, and from when the speaker is ready. Without requests it stays `cold`.
    package func state(at now: HostInstant) -> (readiness: ClockReadiness, ready: HostInstant?) {
        let exchange = exchange.withLock { $0 }
        guard let first = exchange.first, let last = exchange.last else { return (.cold, nil) }
        let ready = first.advanced(by: Self.settling)
        if now - last >= Self.stall { return (.stalled, ready) }
        return (now >= ready ? .ready : .probing, ready)
    }

    private func run(_ remote: NetworkAddress) {
        var buffer = [UInt8](repeating: 0, count: 64)
        while !thread.isStopping {
            _ = thread.wake.wait(until: nil, orReadable: socket.descriptor)
            for _ in 0..<Self.share {
                guard let datagram = socket.receive(into: &buffer, by: served.clock) else { break }
                guard datagram.source == remote, let question = TimingRequest(Array(buffer[..<datagram.count])) else {
                    continue
                }
                func time(_ instant: HostInstant) -> UInt64 { served.instant(at: instant).networkTime }
                let answer = question.answer(received: time(datagram.received), sent: time(served.clock.now))
                socket.send(answer, to: remote, port: datagram.sourcePort)
                exchange.withLock {
                    $0.answers += 1
                    $0.first = $0.first ?? datagram.received
                    $0.last = datagram.received
                }
            }
        }
    }
}
