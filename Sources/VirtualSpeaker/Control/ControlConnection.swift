internal import MediaCore
internal import PTP
internal import Sockets
internal import Synchronization

/// One control connection of a sender, and the thread `speaker-control` that serves it.
final class ControlConnection: Sendable {
    private static let sendLimit: Duration = .seconds(5)
    /// Interval of the checks for quirks and timeouts.
    private static let beat: Duration = .milliseconds(100)

    private let stream: TCPSocket
    private let core: SpeakerCore
    private let server: ControlServer
    private let wakeup: PollableSignal
    /// The reason of the first call of `end`. Written by any thread, read by the connection's thread.
    private let endReason = Lock<String?>(nil)
    private let thread = Lock<WorkerThread?>(nil)
    /// Raw value of `Standing`. Written by the connection's thread, read by any thread.
    private let progress = Atomic<Int>(Standing.stranger.rawValue)

    /// The progress of the connection. Callable from any thread.
    var standing: Standing { Standing(rawValue: progress.load(ordering: .acquiring)) ?? .stranger }
    var source: NetworkAddress { stream.remote }

    init(stream: TCPSocket, core: SpeakerCore, server: ControlServer) throws(SpeakerError) {
        (self.stream, self.core, self.server) = (stream, core, server)
        wakeup = try SpeakerError.signal()
    }

    /// Starts the thread.
    ///
    /// - Throws: `exhausted` if the system refuses a thread; the connection must then be discarded.
    func start() throws(SpeakerError) {
        // Holding the lock across the start lets a thread that ends at once find its own handle in `run`.
        try thread.withLock { (thread) throws(SpeakerError) in
            thread = try SpeakerError.thread("speaker-control") { [self] in run() }
        }
    }

    /// Whether the end was requested.
    var isEnding: Bool { endReason.withLock { $0 != nil } }

    /// Requests the end of the connection and returns at once. Callable from any thread.
    func end(_ reason: String) {
        endReason.withLock { if $0 == nil { $0 = reason } }
        wakeup.raise()
    }

    /// Ends the connection to free its slot. Shuts the socket down at once; no further reply is sent.
    func close() {
        end("the connection was replaced by a newer one")
        stream.interrupt()
    }

    func join() { thread.withLock { $0 }?.join() }

    private func run() {
        let from = stream.remote.description
        core.record.record(.connected(from: from))
        let stage = SpeakerStage(core: core, sender: stream.remote) { [self] in server.acquire(self) }
        let reason = serve(stage)
        let breaking = core.isDead
        if breaking { stream.breakOff() }
        stage.end(breaking: breaking)
        if !breaking { stream.interrupt() }
        core.record.record(.disconnected(from: from, reason: reason))
        server.finished(self, thread: thread.withLock { $0 })
    }

    /// Answers requests until the connection ends. Returns the reason.
    private func serve(_ stage: SpeakerStage) -> String {
        var conversation = ControlConversation(backend: stage)
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        let began = HostInstant.now
        var timeout = RequestTimeouts(now: began)
        while true {
            let now = HostInstant.now
            if let freeze = core.freeze, freeze.began > began, now < freeze.ends.advanced(by: .seconds(1)) {
                _ = Poller.wait(reading: [wakeup.descriptor], until: freeze.ends.advanced(by: .seconds(1)))
                timeout.restart(at: .now)
            }
            _ = Poller.wait(
                reading: [wakeup.descriptor, stream.descriptor], until: now.advanced(by: Self.beat))
            if let reason = endReason.withLock({ $0 }) { return reason }
            if let reason = strike(stage) { return reason }
            switch stream.receiveNow(into: &buffer, limit: buffer.count) {
            case .ended: return "the sender closed the connection"
            case .nothing:
                if stage.isAbandoned { return "the sender did not answer an event" }
            case .bytes(let count):
                let before = conversation.requests
                let steps = conversation.receive(buffer[..<count])
                progress.store(conversation.session.standing.rawValue, ordering: .releasing)
                for step in steps {
                    // Checked per step: `sendCompletely` can block for `sendLimit` on a sender that reads slowly.
                    if let reason = endReason.withLock({ $0 }) { return reason }
                    switch step {
                    case .send(let bytes):
                        guard stream.sendCompletely(bytes, until: .now.advanced(by: Self.sendLimit)) else {
                            return "the sender accepts no responses"
                        }
                    case .wait(let duration):
                        _ = Poller.wait(reading: [wakeup.descriptor], until: .now.advanced(by: duration))
                    case .close: return conversation.ending ?? "ended"
                    }
                }
                timeout.heard(
                    completed: conversation.requests > before, isPartial: conversation.isPartial, at: .now)
            }
            if let reason = timeout.verdict(conversation.session.standing, at: .now) { return reason }
        }
    }

    /// Applies the quirks that end or freeze a playing session. Returns the reason to close the connection, or nil.
    private func strike(_ stage: SpeakerStage) -> String? {
        let quirks = core.configuration.quirks
        if core.isDead { return "the speaker died" }
        guard
            quirks.diesAfter != nil || quirks.takenOver != nil || quirks.freezes != nil
                || quirks.presses != nil,
            let playing = stage.playingFor
        else { return nil }
        if let limit = quirks.diesAfter, playing >= limit {
            core.isDead = true
            core.record.record(.died)
            return "the speaker died"
        }
        if let (after, lasting) = quirks.freezes, playing >= after, core.freeze == nil {
            core.freeze(for: lasting)
            stage.pause()
        }
        if let (after, command) = quirks.presses, playing >= after { stage.press(command) }
        if let (after, busyFor) = quirks.takenOver, playing >= after, !core.isTaken {
            core.occupy(for: busyFor)
            core.record.record(.takenOver)
            stage.sendRemoteCommand("paus")
            return "another sender took over"
        }
        return nil
    }
}
