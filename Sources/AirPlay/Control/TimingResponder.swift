internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// Tells one speaker the time in the manner of NTP. Must run before the session's
/// first SETUP, because some speakers ask during it.
final class TimingResponder: Sendable {
    private struct Exchange {
        var answers = 0
        var first: HostInstant?
        var last: HostInstant?
    }

    /// After its first answer a speaker is given this long to work with it.
    private static let settling: Duration = .milliseconds(100)
    /// The slowest receiver met asks every 3 s; three questions missed are a stall.
    private static let stall: Duration = .seconds(10)

    /// Questions read before the end is looked at again.
    private static let share = 64

    /// What is told: this computer's monotonic clock, bent where another speaker insists on a clock of its own.
    let served: ServedTimeline
    private let socket: DatagramSocket
    private let exchange = Lock(Exchange())
    private let news: PollableSignal
    private let isClosing = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)

    /// - Parameters:
    ///   - local: the address that requests leave from.
    ///   - remote: the only one that is answered.
    init(on local: IPv4Address, for remote: IPv4Address, telling served: ServedTimeline) throws(PTPError) {
        self.served = served
        socket = try SenderPorts.open(on: local)
        do throws(ExhaustionError) {
            news = try PollableSignal()
            // The thread keeps this object until `close`.
            let worker = try WorkerThread.start(name: "airplay timing", priority: .realtime(30)) { self.run(remote) }
            thread.withLock { $0 = worker }
        } catch {
            throw PTPError(.unavailable, "Speakers cannot be told the time: \(error.message).")
        }
    }

    /// The UDP port to be named in SETUP.
    var port: UInt16 { socket.port }

    /// The instant of the speaker's last question; nil before the first.
    var lastQuestion: HostInstant? { exchange.withLock { $0.last } }

    /// Ends answering and waits for the thread.
    func close() {
        isClosing.store(true, ordering: .releasing)
        news.raise()
        thread.withLock({ $0 })?.join()
    }

    /// How far the speaker is, and from when on it is ready. A speaker that never asks is never ready.
    func state(at now: HostInstant) -> (readiness: ClockReadiness, ready: HostInstant?) {
        let exchange = exchange.withLock { $0 }
        guard let first = exchange.first, let last = exchange.last else { return (.cold, nil) }
        let ready = first.advanced(by: Self.settling)
        if now - last >= Self.stall { return (.stalled, ready) }
        return (now >= ready ? .ready : .probing, ready)
    }

    private func run(_ remote: IPv4Address) {
        var buffer = [UInt8](repeating: 0, count: 64)
        while !isClosing.load(ordering: .acquiring) {
            _ = news.wait(until: nil, orReadable: socket.descriptor)
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
