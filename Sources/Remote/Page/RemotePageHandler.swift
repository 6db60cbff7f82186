internal import MediaCore
internal import Playback

/// Handles the requests of a page: the page itself, commands, the stream of what it displays, and images of the screen.
/// Confined to the server's thread.
final class RemotePageHandler: HTTPHandler {
    /// The maximum number of pages that are open at once.
    static let maxStreams = 16
    /// The size in bytes from which on another message disconnects a page that does not read.
    static let maxQueuedBytes = 512 << 10
    /// The maximum size of a command in bytes.
    static let maxCommandBytes = 16 << 10
    /// The commands of the page. None opens or names media or ends the program, and only a pairing is stored.
    static let commands: Set<String> = [
        "add", "cycle", "find-outputs", "output-language", "output-volume", "pair-output", "playlist-next",
        "playlist-play-index",
        "playlist-prev", "seek", "set",
    ]
    /// The interval of messages without content, which detect that a client is gone.
    private static let heartbeatInterval = Duration.seconds(20)
    /// The delay before observers that could not be registered are registered again.
    private static let retryDelay = Duration.seconds(1)

    /// What other threads have left for the server's thread.
    private struct Events {
        /// New values of displayed properties.
        var values: [String: JSONValue] = [:]
        /// Whether the position may have changed other than by playback.
        var hasMoved = false
        /// Results of commands, by the number of their request.
        var results: [(number: Int, result: Result<JSONValue, ControlError>)] = []
    }

    private let control: PlayerControl
    private let token: AccessToken
    private let wake: PollableSignal
    private let screenshots: HTTPScreenshots
    private let events = Lock(Events())
    private var streams: Set<HTTPExchange> = []
    private var observers: [Int] = []
    private var heartbeat: HostInstant?
    /// When to register the observers again; nil: they are registered, or no page is open.
    private var nextObservation: HostInstant?
    private let observe: RemotePage.Observe
    /// Requests that wait for the results of their commands.
    private var held: [Int: HTTPExchange] = [:]
    private var lastNumber = 0

    /// - Parameter wake: Raised when `proceed` is to be called.
    init(
        control: PlayerControl, token: AccessToken, wake: PollableSignal, screenshots: HTTPScreenshots,
        observe: @escaping RemotePage.Observe
    ) {
        (self.control, self.token, self.wake, self.screenshots) = (control, token, wake, screenshots)
        self.observe = observe
    }

    // MARK: Requests

    func handle(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        guard request.namesThisComputer else {
            return exchange.answer(
                403, "this computer is not known by the name in the address; open the link as it was printed\n")
        }
        guard request.isOfOwnPage else { return exchange.answer(403, "requests of other web pages are refused\n") }
        let segments = request.path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard segments.count == 3, segments[0].isEmpty, token.matches(segments[1]) else {
            return exchange.answer(403, "open the whole link that was printed; each start has another one\n")
        }
        switch (segments[2], request.method) {
        case ("", "GET"), ("", "HEAD"):
            exchange.answer(200, RemotePageContent.text, type: "text/html; charset=utf-8")
        case ("events", "GET"): startStream(exchange)
        case ("command", "POST"): perform(request, exchange)
        case ("screenshot.png", "GET"): screenshots.answer(exchange)
        case ("", _), ("events", _), ("screenshot.png", _):
            exchange.answer(405, "only GET is supported\n", allow: "GET")
        case ("command", _): exchange.answer(405, "only POST is supported\n", allow: "POST")
        default: exchange.answer(404, "not found\n")
        }
    }

    // MARK: Commands

    private func perform(_ request: HTTPRequest, _ exchange: HTTPExchange) {
        guard !request.isBodyTooLarge else {
            return Self.refuse(exchange, 413, "a command has at most \(Self.maxCommandBytes) bytes")
        }
        var reader = JSONReader(maxElements: 64)
        let value = request.body.withUnsafeBytes { reader.read($0).map(JSONValue.init) }
        guard case .array(let arguments)? = value else {
            return Self.refuse(exchange, 400, "a command is a JSON array: [\"seek\", 10]")
        }
        do throws(ControlError) {
            let command = try control.table.request(arguments)
            guard Self.commands.contains(command.command.name) else {
                return Self.refuse(exchange, 403, "\(command.command.name) is not available to a page")
            }
            lastNumber += 1
            let number = lastNumber
            held[number] = exchange
            exchange.hold()
            control.perform(command) { [events, wake] result in
                events.withLock { $0.results.append((number, result)) }
                wake.raise()
            }
        } catch { Self.refuse(exchange, Self.status(of: error), error.message) }
    }

    private static func refuse(_ exchange: HTTPExchange, _ status: Int, _ reason: String) {
        exchange.answer(
            status, JSONValue.object([("error", .text(reason))]).compact, type: "application/json")
    }

    private static func status(of error: ControlError) -> Int {
        [.unavailable, .failed].contains(error.code) ? 409 : 400
    }

    // MARK: State

    private func startStream(_ exchange: HTTPExchange) {
        guard streams.count < Self.maxStreams else {
            return exchange.answer(503, "\(Self.maxStreams) pages are open; close one\n")
        }
        guard exchange.startStream("text/event-stream") else { return }
        streams.insert(exchange)
        heartbeat = heartbeat ?? .now.advanced(by: Self.heartbeatInterval)
        startObserving()
        var values = RemotePageState.abilities(of: control.table, commands: Self.commands)
        for name in names { values[name] = RemotePageState.shown(name, control.present(name)) }
        send(RemotePageState.message(values, position: position), to: exchange)
    }

    func hasEnded(_ stream: HTTPExchange) {
        streams.remove(stream)
        guard streams.isEmpty else { return }
        for number in observers { control.removeObserver(number) }
        (observers, heartbeat, nextObservation) = ([], nil, nil)
    }

    private var names: [String] { RemotePageState.names.filter { control.table.properties[$0] != nil } }
    private var position: JSONValue? { control.present("time-pos") }

    /// Observes while a page is open. The position is sent with each change; a page computes it in between.
    private func startObserving() {
        guard observers.isEmpty else { return }
        nextObservation = nil
        do throws(ControlError) { try observeAll() } catch {
            // Without a thread now; a page that is open displays nothing new until then.
            for number in observers { control.removeObserver(number) }
            observers = []
            nextObservation = .now.advanced(by: Self.retryDelay)
        }
    }

    private func observeAll() throws(ControlError) {
        for name in names {
            let observer = try observe(control, name) { [events, wake] value in
                events.withLock { $0.values[name] = RemotePageState.shown(name, value) }
                wake.raise()
            }
            observers.append(observer)
        }
        let observer = try control.observeEvents { [events, wake] _ in
            events.withLock { $0.hasMoved = true }
            wake.raise()
        }
        observers.append(observer)
    }

    private func send(_ values: [String: JSONValue]) {
        let message = RemotePageState.message(values, position: position)
        for stream in streams { send(message, to: stream) }
    }

    private func send(_ bytes: [UInt8], to stream: HTTPExchange) {
        guard !stream.send(bytes, maxQueued: Self.maxQueuedBytes) else { return }
        streams.remove(stream)
        stream.end()
    }

    // MARK: The server's thread

    /// Sends what other threads have left. Called before `HTTPServer.serve`.
    func proceed() {
        screenshots.proceed()
        let events = self.events.withLock { events in
            defer { events = Events() }
            return events
        }
        for (number, result) in events.results {
            guard let exchange = held.removeValue(forKey: number) else { continue }
            switch result {
            case .success(let data):
                exchange.answer(200, JSONValue.object([("data", data)]).compact, type: "application/json")
            case .failure(let error): Self.refuse(exchange, Self.status(of: error), error.message)
            }
        }
        if let due = nextObservation, due <= .now {
            startObserving()
            let values = Dictionary(
                uniqueKeysWithValues: names.map { ($0, RemotePageState.shown($0, control.present($0))) })
            if nextObservation == nil { send(values) }
        }
        if !streams.isEmpty, events.hasMoved || !events.values.isEmpty {
            send(events.values)
        }
        if let due = heartbeat, due <= .now {
            heartbeat = .now.advanced(by: Self.heartbeatInterval)
            for stream in streams { send(Array(":\n\n".utf8), to: stream) }
        }
    }

    /// When `proceed` must be called; nil: only after `wake`.
    var deadline: HostInstant? { [screenshots.deadline, heartbeat, nextObservation].compactMap { $0 }.min() }

    /// Answers all requests and ends all streams, at the end.
    func close() {
        screenshots.cancelRequest()
        for exchange in held.values { Self.refuse(exchange, 503, "the program is exiting") }
        for stream in streams { stream.end() }
        for number in observers { control.removeObserver(number) }
        (held, streams, observers, nextObservation) = ([:], [], [], nil)
    }
}
