internal import AirPlayWire
internal import MediaCore
internal import Sockets

/// The connection on which a speaker tells its news. Each message is answered at once, on a thread of its own:
/// some speakers wait for the answer before they go on, others hang up after 25 s without one.
final class EventChannel: Sendable {
    /// What came.
    enum Event: Sendable {
        case message(PropertyList)
        /// Nothing more comes, and why.
        case ended(AirPlayError)
    }

    private let socket: TCPSocket
    private let thread: WorkerThread

    /// - Throws: when the system gives no thread; the socket is let go.
    init(
        socket: TCPSocket, keys: ChannelKeys, handler: @escaping @Sendable (Event) -> Void
    ) throws(ExhaustionError) {
        self.socket = socket
        thread = try WorkerThread.start(name: "airplay events") {
            let error: AirPlayError
            do throws(WireError) {
                try Self.run(socket, keys, handler)
                error = AirPlayError(.ended, "The speaker has ended the session; somebody else may have taken it.")
            } catch let refusal {
                error = AirPlayError(.protocolViolation, refusal.message)
            }
            handler(.ended(error))
        }
    }

    /// Ends the channel and waits for its thread.
    func close() {
        socket.interrupt()
        thread.join()
    }

    /// Returns when the speaker hangs up or takes no answer.
    private static func run(
        _ socket: TCPSocket, _ keys: ChannelKeys, _ handler: (Event) -> Void
    ) throws(WireError) {
        var opener = HAPFrameOpener(key: keys.read)
        var sealer = HAPFrameSealer(key: keys.write)
        var parser = RTSPParser()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        // ignored: the end of the channel, however it comes; the session notices its own.
        while let count = try? socket.receive(into: &buffer, deadline: nil), count > 0 {
            parser.append(try opener.open(buffer[..<count]))
            while let message = try parser.next() {
                guard case .request(let request) = message else { continue }
                var answer = RTSPResponse(status: 200, version: request.version)
                if let number = request.headers["CSeq"] { answer.headers.append("CSeq", number) }
                let deadline = HostInstant.now.advanced(by: .seconds(2))
                // ignored: the same.
                guard (try? socket.sendAll(sealer.seal(answer.encoded()), deadline: deadline)) != nil else { return }
                // ignored: a message without a property list says nothing.
                if let list = try? PropertyList(binary: request.body) { handler(.message(list)) }
            }
        }
    }
}
