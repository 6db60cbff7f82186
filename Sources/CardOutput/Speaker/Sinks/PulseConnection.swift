internal import CPulse

/// A connection to a sound server that queries which stream plays on which sink. One thread from `init` to `deinit`.
final class PulseConnection {
    private let pulse: PulseLibrary
    private let loop: PulseLibrary.Loop
    private let context: PulseLibrary.Context
    private let changed: (SoundServerView) -> Void
    private var view = SoundServerView()
    private var clients: [UInt32: [String: String]] = [:]
    private var streamOwners: [UInt32: UInt32] = [:]
    /// The number of outstanding replies.
    private var awaited = 0
    /// Whether a change was reported after the last query.
    private var isStale = true

    /// The maximum number of sinks, clients and streams read; far above real counts.
    private static let maxEntries = 256
    /// The maximum length of a string of the server, in characters.
    private static let longestText = 300

    /// - Parameter changed: Called with each complete view, in `run`.
    init?(_ pulse: PulseLibrary, changed: @escaping (SoundServerView) -> Void) {
        guard let loop = pulse.loopNew() else { return nil }
        guard let context = pulse.contextNew(pulse.loopAPI(loop), "Talkie (where does it play?)") else {
            pulse.loopFree(loop)
            return nil
        }
        (self.pulse, self.loop, self.context, self.changed) = (pulse, loop, context, changed)
    }

    deinit {
        pulse.setSubscribeCallback(context, nil, nil)
        pulse.disconnect(context)
        pulse.contextFree(context)
        pulse.loopFree(loop)
    }

    /// A function that wakes the main loop, so that `run` checks `isStopping`. Callable on any thread while the
    /// connection exists.
    var waker: @Sendable () -> Void {
        let (pulse, address) = (pulse, UInt(bitPattern: loop))
        return { if let loop = OpaquePointer(bitPattern: address) { pulse.loopWakeUp(loop) } }
    }

    /// Serves the connection until the server disconnects or `isStopping` returns true. Blocks.
    func run(isStopping: () -> Bool) {
        // NOAUTOSPAWN: a query must not start a server.
        guard pulse.connect(context, nil, PA_CONTEXT_NOAUTOSPAWN, nil) >= 0 else { return }
        var isSubscribed = false
        while !isStopping() {
            guard pulse.loopIterate(loop, 1, nil) >= 0 else { return }
            switch pulse.state(context) {
            case PA_CONTEXT_READY:
                if !isSubscribed {
                    isSubscribed = true
                    subscribe()
                }
                if isStale, awaited == 0 { ask() }
            case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED: return
            default: break
            }
        }
    }

    private var memory: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func from(_ memory: UnsafeMutableRawPointer?) -> PulseConnection? {
        memory.map { Unmanaged<PulseConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private func release(_ operation: PulseLibrary.Operation?) { if let operation { pulse.operationFree(operation) } }

    private func subscribe() {
        let kinds = [
            PA_SUBSCRIPTION_MASK_SINK, PA_SUBSCRIPTION_MASK_SINK_INPUT, PA_SUBSCRIPTION_MASK_CLIENT,
            PA_SUBSCRIPTION_MASK_SERVER,
        ]
        pulse.setSubscribeCallback(
            context, { _, _, _, memory in PulseConnection.from(memory)?.isStale = true }, memory)
        let mask = kinds.reduce(0) { $0 | $1.rawValue }
        release(pulse.subscribe(context, pa_subscription_mask_t(rawValue: mask), nil, nil))
    }

    /// Queries everything. The server replies in the order of the requests.
    private func ask() {
        isStale = false
        view = SoundServerView()
        clients = [:]
        streamOwners = [:]
        let questions = [
            pulse.askServer(
                context,
                { _, info, memory in PulseConnection.from(memory)?.handle(server: info?.pointee) }, memory),
            pulse.askSinks(
                context,
                { _, info, end, memory in PulseConnection.from(memory)?.handle(sink: info?.pointee, end) }, memory),
            pulse.askClients(
                context,
                { _, info, end, memory in PulseConnection.from(memory)?.handle(client: info?.pointee, end) }, memory),
            pulse.askStreams(
                context,
                { _, info, end, memory in PulseConnection.from(memory)?.handle(stream: info?.pointee, end) }, memory),
        ]
        awaited = questions.count { $0 != nil }
        for question in questions { release(question) }
    }

    private func handle(server: pa_server_info?) {
        if pulse.isLocal(context) != 1 { view.host = Self.text(server?.host_name) ?? "elsewhere" }
        view.defaultSink = Self.text(server?.default_sink_name)
        answered()
    }

    private func handle(sink: pa_sink_info?, _ end: Int32) {
        guard end == 0, let sink else { return answered() }
        guard view.sinks.count < Self.maxEntries, let name = Self.text(sink.name) else { return }
        view.sinks.append(
            SoundServerView.Sink(
                index: sink.index, name: name, title: Self.text(sink.description) ?? name,
                properties: properties(sink.proplist), layout: SinkLayout.layout(of: sink.channel_map)))
    }

    private func handle(client: pa_client_info?, _ end: Int32) {
        guard end == 0, let client else { return answered() }
        guard clients.count < Self.maxEntries else { return }
        clients[client.index] = properties(client.proplist)
    }

    private func handle(stream: pa_sink_input_info?, _ end: Int32) {
        guard end == 0, let stream else { return answered() }
        guard view.streams.count < Self.maxEntries else { return }
        streamOwners[stream.index] = stream.client
        view.streams.append(
            SoundServerView.Stream(index: stream.index, sink: stream.sink, properties: properties(stream.proplist)))
    }

    private func answered() {
        awaited -= 1
        guard awaited == 0 else { return }
        view.own = clients[pulse.index(context)] ?? [:]
        for index in view.streams.indices {
            guard let owner = streamOwners[view.streams[index].index], let below = clients[owner] else { continue }
            view.streams[index].properties.merge(below) { own, _ in own }
        }
        changed(view)
    }

    private func properties(_ list: OpaquePointer?) -> [String: String] {
        guard let list else { return [:] }
        var found: [String: String] = [:]
        for name in SoundServerView.properties { found[name] = Self.text(pulse.property(list, name)) }
        return found
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        pointer.map { String(String(cString: $0).prefix(Self.longestText)) }
    }
}
