internal import MediaCore
internal import Sockets

/// The connection of one client: its socket, its input and its session. Confined to the server's thread.
final class IPCConnection {
    let stream: LocalStream
    let output: IPCOutput
    private let session: IPCSession
    private var splitter = LineSplitter()
    /// Lines that are being sent.
    private var unsent: ArraySlice<UInt8> = []
    /// Whether lines may wait to be executed.
    private var hasMore = false
    /// Whether the client sends nothing more.
    private var hasEnded = false
    private var isLost = false

    init(_ stream: LocalStream, _ output: IPCOutput, _ session: IPCSession) {
        (self.stream, self.output, self.session) = (stream, output, session)
    }

    /// Whether the next request can be executed: all lines are sent, and the preceding request has ended.
    private var isReady: Bool { unsent.isEmpty && output.isReady }
    /// Whether input can be read: not while requests wait, so that the client waits too.
    var wantsInput: Bool { !hasEnded && !splitter.isFull && isReady }
    /// Whether lines wait to be sent.
    var wantsOutput: Bool { !unsent.isEmpty || output.hasPending }
    /// Whether the connection is to be closed: it is lost, the client reads nothing, or has its last reply.
    var isFinished: Bool { isBroken || (hasEnded && !hasMore && output.isIdle && !wantsOutput) }
    private var isBroken: Bool { isLost || output.isOverflowing }

    /// Reads what has arrived.
    func receive(into buffer: inout [UInt8]) {
        switch stream.receiveNow(into: &buffer, limit: buffer.count) {
        case .bytes(let count):
            splitter.add(buffer[..<count])
            hasMore = true
        case .nothing: break
        case .ended: hasEnded = true
        }
    }

    /// Executes requests and sends their replies, as far as possible.
    func proceed() {
        repeat {
            while !isBroken, isReady {
                guard let line = splitter.next() else {
                    hasMore = false
                    break
                }
                hasMore = true
                session.execute(line)
            }
            send()
        } while hasMore && isReady && !isBroken
    }

    /// Sends as much as fits.
    func send() {
        while !isLost {
            if unsent.isEmpty { unsent = output.removeAll()[...] }
            guard !unsent.isEmpty else { return }
            switch unsent.withUnsafeBytes({ stream.send($0) }) {
            case .moved(let count): unsent = unsent.dropFirst(count)
            case .blocked: return
            case .ended: isLost = true
            }
        }
    }

    /// Ends the session.
    func close() { session.close() }
}
