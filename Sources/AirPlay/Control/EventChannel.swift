internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import Sockets

/// The connection on which a speaker sends events.
///
/// Each message is acknowledged at once on a separate thread: some speakers block until then, others disconnect after
/// 25 s.
final class EventChannel: Sendable {
    /// An event of the channel.
    enum Event: Sendable {
        case message(PropertyList)
        /// The channel has ended, with the reason.
        case ended(AirPlayError)
    }

    /// Maximum size of a message in bytes; the largest, the properties of a speaker, has some thousand.
    private static let maxMessage = 256 << 10

    private let socket: TCPSocket
    private let thread: WorkerThread

    /// Starts the thread. `handler` is called on it.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread; the socket is released.
    init(
        socket: TCPSocket, keys: ChannelKeys, handler: @escaping @Sendable (Event) -> Void
    ) throws(ExhaustionError) {
        self.socket = socket
        thread = try WorkerThread.start(name: "airplay events") {
            let error: AirPlayError
            do throws(WireError) {
                try Self.run(socket, keys, handler)
                error = AirPlayError(.ended, "The speaker has closed the connection.")
            } catch let refusal {
                error = AirPlayError(.protocolViolation, refusal.message)
            }
            handler(.ended(error))
        }
    }

    /// Closes the connection and joins the thread.
    func close() {
        socket.interrupt()
        thread.join()
    }

    /// Returns when the speaker disconnects or does not accept a response.
    private static func run(
        _ socket: TCPSocket, _ keys: ChannelKeys, _ handler: (Event) -> Void
    ) throws(WireError) {
        var opener = HAPFrameOpener(key: keys.read)
        var sealer = HAPFrameSealer(key: keys.write)
        var parser = RTSPParser(bodyLimit: maxMessage)
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        // ignored: every end of the channel is handled alike; the request connection detects its own.
        while let count = try? socket.receive(into: &buffer, deadline: nil), count > 0 {
            parser.append(try opener.open(buffer[..<count]))
            while let message = try parser.next() {
                guard case .request(let request) = message else { continue }
                var answer = RTSPResponse(status: 200, version: request.version)
                if let number = request.headers["CSeq"] { answer.headers.append("CSeq", number) }
                let deadline = HostInstant.now.advanced(by: .seconds(2))
                // ignored: see above.
                guard (try? socket.sendAll(sealer.seal(answer.encoded()), deadline: deadline)) != nil else { return }
                // ignored: a message without a property list says nothing.
                if let list = try? PropertyList(binary: request.body) { handler(.message(list)) }
            }
        }
    }
}
