internal import CPulse
internal import CardPlayout
internal import Glibc
internal import MediaCore

/// A connection to a sound server that queries which stream plays on which sink, and measures the latencies of our own
/// streams. One thread from `init` to `deinit`.
final class PulseConnection {
    private let pulse: PulseLibrary
    private let loop: PulseLibrary.Loop
    private let context: PulseLibrary.Context
    private let changed: (SoundServerView) -> Requests
    private let measured: (UInt32, ServerLatency.Measurement?) -> Void
    private var view = SoundServerView()
    private var clients: [UInt32: [String: String]] = [:]
    /// The card and the active port of each sink, in the order of `view.sinks`.
    private var ports: [(card: UInt32, name: String?)] = []
    /// The offsets of each card's ports.
    private var portOffsets: [UInt32: [String: Duration]] = [:]
    /// The number of outstanding replies.
    private var awaited = 0
    /// Whether a change was reported after the last query.
    private var isStale = true
    /// Our streams, by index.
    private var measurements: [UInt32: StreamMeasurement] = [:]
    /// The stream whose latency was asked for, and when; nil after the reply.
    private var asked: (stream: UInt32, at: HostInstant)?

    /// What is requested after a view.
    struct Requests: Sendable {
        /// The streams whose latency is measured from now on.
        var measured: Set<UInt32> = []
        /// Streams to move, and the names of their new sinks.
        var moves: [(stream: UInt32, sinkName: String)] = []
    }

    /// The measurement of one stream's latency.
    private struct StreamMeasurement {
        /// The stream's sink.
        var sink: UInt32
        /// When the stream was first seen on that sink.
        var since: HostInstant
        /// When its latency is asked for next; nil: never.
        var next: HostInstant?
        /// The replies without a latency; negative after one with a latency.
        var zeros = 0
    }

    /// The maximum number of sinks, clients and streams read; far above real counts.
    private static let maxEntries = 256
    /// The maximum length of a string of the server, in bytes.
    private static let longestText = 1000

    /// - Parameters:
    ///   - changed: Called with each complete view, in `run`.
    ///   - measured: Called with each measured latency of a stream, or with nil if the server measures none.
    init?(
        _ pulse: PulseLibrary, changed: @escaping (SoundServerView) -> Requests,
        measured: @escaping (UInt32, ServerLatency.Measurement?) -> Void
    ) {
        guard let loop = pulse.loopNew() else { return nil }
        guard let context = pulse.contextNew(pulse.loopAPI(loop), "Talkie (sinks and latencies)") else {
            pulse.loopFree(loop)
            return nil
        }
        (self.pulse, self.loop, self.context) = (pulse, loop, context)
        (self.changed, self.measured) = (changed, measured)
    }

    deinit {
        pulse.setSubscribeCallback(context, nil, nil)
        pulse.disconnect(context)
        pulse.contextFree(context)
        pulse.loopFree(loop)
    }

    /// A function that wakes the main loop, so that `run` calls its closures. Callable on any thread while the
    /// connection exists.
    var waker: @Sendable () -> Void {
        let (pulse, address) = (pulse, UInt(bitPattern: loop))
        return { if let loop = OpaquePointer(bitPattern: address) { pulse.loopWakeUp(loop) } }
    }

    /// Serves the connection until the server disconnects or `isStopping` returns true. Blocks.
    ///
    /// - Parameter isRefreshDue: Returns true if a view was requested since the last call.
    func run(isStopping: () -> Bool, isRefreshDue: () -> Bool) {
        // NOAUTOSPAWN: a query must not start a server.
        guard pulse.connect(context, nil, PA_CONTEXT_NOAUTOSPAWN, nil) >= 0 else { return }
        var isSubscribed = false
        while !isStopping() {
            guard iterate(isStopping, isRefreshDue) else { return }
            switch pulse.state(context) {
            case PA_CONTEXT_READY:
                if !isSubscribed {
                    isSubscribed = true
                    subscribe()
                }
                if isStale, awaited == 0 { ask() }
                measureIfDue()
            case PA_CONTEXT_FAILED, PA_CONTEXT_TERMINATED: return
            default: break
            }
        }
    }

    /// Waits for events until a measurement is due, and handles them; returns false after a failure or if stopping.
    private func iterate(_ isStopping: () -> Bool, _ isRefreshDue: () -> Bool) -> Bool {
        var timeout: Int32 = -1
        if asked == nil, let next = measurements.values.compactMap(\.next).min() {
            timeout = Int32(clamping: max(0, (next - .now).wholeNanoseconds / 1000 + 1))
        }
        // `loopPrepare` forgets an earlier wake-up.
        guard pulse.loopPrepare(loop, timeout) >= 0, !isStopping() else { return false }
        if isRefreshDue() {
            isStale = true
            pulse.loopWakeUp(loop)
        }
        return pulse.loopPoll(loop) >= 0 && pulse.loopDispatch(loop) >= 0
    }

    private var memory: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func from(_ memory: UnsafeMutableRawPointer?) -> PulseConnection? {
        memory.map { Unmanaged<PulseConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private func release(_ operation: PulseLibrary.Operation?) { if let operation { pulse.operationFree(operation) } }

    private func subscribe() {
        let kinds = [
            PA_SUBSCRIPTION_MASK_SINK, PA_SUBSCRIPTION_MASK_SINK_INPUT, PA_SUBSCRIPTION_MASK_CLIENT,
            PA_SUBSCRIPTION_MASK_SERVER, PA_SUBSCRIPTION_MASK_CARD,
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
        ports = []
        portOffsets = [:]
        let questions = [
            pulse.askServer(
                context,
                { _, info, memory in PulseConnection.from(memory)?.handle(server: info?.pointee) }, memory),
            pulse.askSinks(
                context,
                { _, info, end, memory in PulseConnection.from(memory)?.handle(sink: info?.pointee, end) }, memory),
            pulse.askCards(
                context,
                { _, info, end, memory in PulseConnection.from(memory)?.handle(card: info?.pointee, end) }, memory),
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
        // "PulseAudio (on PipeWire …)".
        view.isPipeWire = Self.text(server?.server_name)?.contains("PipeWire") == true
        answered()
    }

    private func handle(sink: pa_sink_info?, _ end: Int32) {
        guard end == 0, let sink else { return answered() }
        guard view.sinks.count < Self.maxEntries, let name = Self.text(sink.name) else { return }
        ports.append((sink.card, Self.text(sink.active_port?.pointee.name)))
        view.sinks.append(
            SoundServerView.Sink(
                index: sink.index, name: name, title: Self.text(sink.description) ?? name,
                properties: properties(sink.proplist), layout: SinkLayout.layout(of: sink.channel_map)))
    }

    private func handle(card: pa_card_info?, _ end: Int32) {
        guard end == 0, let card else { return answered() }
        guard portOffsets.count < Self.maxEntries else { return }
        var offsets: [String: Duration] = [:]
        for index in 0..<min(Int(card.n_ports), Self.maxEntries) {
            guard let port = card.ports?[index]?.pointee, let name = Self.text(port.name),
                port.latency_offset.magnitude <= Self.longestLatency
            else { continue }
            offsets[name] = .microseconds(port.latency_offset)
        }
        portOffsets[card.index] = offsets
    }

    private func handle(client: pa_client_info?, _ end: Int32) {
        guard end == 0, let client else { return answered() }
        guard clients.count < Self.maxEntries else { return }
        clients[client.index] = properties(client.proplist)
    }

    private func handle(stream: pa_sink_input_info?, _ end: Int32) {
        guard end == 0, let stream else { return answered() }
        guard view.streams.count < Self.maxEntries else { return }
        view.streams.append(
            SoundServerView.Stream(
                index: stream.index, client: stream.client, sink: stream.sink, properties: properties(stream.proplist)))
    }

    private func answered() {
        awaited -= 1
        guard awaited == 0 else { return }
        view.own = clients[pulse.index(context)] ?? [:]
        view.clients = Set(clients.keys)
        for index in view.streams.indices {
            guard let below = clients[view.streams[index].client] else { continue }
            view.streams[index].properties.merge(below) { own, _ in own }
        }
        for (index, port) in zip(view.sinks.indices, ports) {
            view.sinks[index].portOffset = port.name.flatMap { portOffsets[port.card]?[$0] } ?? .zero
        }
        let requests = changed(view)
        for move in requests.moves { release(pulse.moveStream(context, move.stream, move.sinkName, nil, nil)) }
        measure(requests.measured)
    }

    // MARK: Latency

    /// Measures these streams from now on, at first at short intervals; so, too, after a move to another sink.
    private func measure(_ streams: Set<UInt32>) {
        let now = HostInstant.now
        var kept: [UInt32: StreamMeasurement] = [:]
        for stream in view.streams where streams.contains(stream.index) {
            if let known = measurements[stream.index], known.sink == stream.sink {
                kept[stream.index] = known
            } else {
                kept[stream.index] = StreamMeasurement(sink: stream.sink, since: now, next: now)
            }
        }
        measurements = kept
    }

    private func measureIfDue() {
        let now = HostInstant.now
        guard asked == nil else { return }
        let due = measurements.filter { $0.value.next.map { $0 <= now } ?? false }
        guard let stream = due.min(by: { ($0.value.next ?? now) < ($1.value.next ?? now) })?.key,
            let age = measurements[stream].map({ now - $0.since })
        else { return }
        let interval = Self.intervals.first { age < $0.until }?.interval ?? Self.lastInterval
        measurements[stream]?.next = now.advanced(by: interval)
        asked = (stream, now)
        let question = pulse.askStream(
            context, stream,
            { _, info, end, memory in PulseConnection.from(memory)?.handle(latency: info?.pointee, end) }, memory)
        if question == nil { asked = nil }
        release(question)
    }

    /// Intervals of measurements, by the age of the stream: the first ones decide when audio starts.
    private static let intervals: [(until: Duration, interval: Duration)] = [
        (.milliseconds(400), .milliseconds(7)), (.seconds(3), .milliseconds(40)),
    ]
    private static let lastInterval = Duration.milliseconds(200)

    private func handle(latency stream: pa_sink_input_info?, _ end: Int32) {
        let now = HostInstant.now
        // The reply has one entry and an end; or, if the stream has gone meanwhile, an error only.
        guard let asked = self.asked.take(), end == 0, let stream, stream.index == asked.stream,
            var state = measurements[stream.index]
        else { return }
        let microseconds = stream.buffer_usec.addingReportingOverflow(stream.sink_usec)
        guard !microseconds.overflow, microseconds.partialValue <= Self.longestLatency else { return }
        defer { measurements[stream.index] = state }
        guard microseconds.partialValue > 0 else {
            // A queue that is empty for a moment, or a server that never states a latency.
            state.zeros += 1
            if state.zeros >= Self.maxZeros {
                state.next = nil
                measured(stream.index, nil)
            }
            return
        }
        state.zeros = .min
        measured(
            stream.index,
            ServerLatency.Measurement(
                asked: asked.at, answered: now, latency: .microseconds(Int64(microseconds.partialValue))))
    }

    private static let maxZeros = 10

    /// In microseconds. Bluetooth has some hundred milliseconds.
    private static let longestLatency: UInt64 = 10_000_000

    private func properties(_ list: OpaquePointer?) -> [String: String] {
        guard let list else { return [:] }
        var found: [String: String] = [:]
        for name in SoundServerView.properties { found[name] = Self.text(pulse.property(list, name)) }
        return found
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        pointer.map { text in
            String(decoding: UnsafeRawBufferPointer(start: text, count: strnlen(text, Self.longestText)), as: UTF8.self)
        }
    }
}
