internal import CPulse
internal import CardPlayout
internal import MediaCore

/// A connection to a sound server that queries which stream plays on which sink, and measures the latency of our own
/// stream. One thread from `init` to `deinit`.
final class PulseConnection {
    private let pulse: PulseLibrary
    private let loop: PulseLibrary.Loop
    private let context: PulseLibrary.Context
    private let changed: (SoundServerView) -> Void
    private let measured: (ServerLatency.Measurement?) -> Void
    private var view = SoundServerView()
    private var clients: [UInt32: [String: String]] = [:]
    private var streamOwners: [UInt32: UInt32] = [:]
    /// The number of outstanding replies.
    private var awaited = 0
    /// Whether a change was reported after the last query.
    private var isStale = true
    /// Our only stream; nil: none, or several.
    private var ownStream: UInt32?
    /// When the latency of `ownStream` was first asked for.
    private var measuringSince = HostInstant(nanoseconds: 0)
    /// When it is asked for next; nil: not before a change.
    private var nextMeasurement: HostInstant?
    /// When it was asked for, until the reply.
    private var asked: HostInstant?
    /// The replies without a latency; negative after one with a latency.
    private var zeros = 0

    /// The maximum number of sinks, clients and streams read; far above real counts.
    private static let maxEntries = 256
    /// The maximum length of a string of the server, in characters.
    private static let longestText = 300

    /// - Parameters:
    ///   - changed: Called with each complete view, in `run`.
    ///   - measured: Called with each measured latency of our only stream, or with nil if the server measures none.
    init?(
        _ pulse: PulseLibrary, changed: @escaping (SoundServerView) -> Void,
        measured: @escaping (ServerLatency.Measurement?) -> Void
    ) {
        guard let loop = pulse.loopNew() else { return nil }
        guard let context = pulse.contextNew(pulse.loopAPI(loop), "Talkie (where does it play?)") else {
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
            guard iterate(isStopping) else { return }
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
    private func iterate(_ isStopping: () -> Bool) -> Bool {
        var timeout: Int32 = -1
        if asked == nil, let next = nextMeasurement {
            timeout = Int32(clamping: max(0, (next - .now).wholeNanoseconds / 1000 + 1))
        }
        // `loopPrepare` forgets an earlier wake-up.
        return pulse.loopPrepare(loop, timeout) >= 0 && !isStopping() && pulse.loopPoll(loop) >= 0
            && pulse.loopDispatch(loop) >= 0
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
        // "PulseAudio (on PipeWire …)" states no latencies.
        if Self.text(server?.server_name)?.contains("PipeWire") == true { measured(nil) }
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
        let own = view.ownStreams
        // Several, or a device that is not the server's: without measurements the reported delays count.
        if own.count != 1 { measured(nil) }
        let stream = own.count == 1 ? own.first?.index : nil
        guard stream != ownStream else { return }
        ownStream = stream
        zeros = 0
        measuringSince = .now
        nextMeasurement = stream.map { _ in measuringSince }
    }

    // MARK: Latency

    private func measureIfDue() {
        let now = HostInstant.now
        guard asked == nil, let stream = ownStream, let next = nextMeasurement, next <= now else { return }
        let age = now - measuringSince
        nextMeasurement = now.advanced(by: Self.intervals.first { age < $0.until }?.interval ?? Self.lastInterval)
        asked = now
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
        guard let asked = self.asked.take(), end == 0, let stream, stream.index == ownStream else { return }
        let microseconds = stream.buffer_usec.addingReportingOverflow(stream.sink_usec)
        guard !microseconds.overflow, microseconds.partialValue <= Self.longestLatency else { return }
        guard microseconds.partialValue > 0 else {
            // A queue that is empty for a moment, or a server that never states a latency.
            zeros += 1
            if zeros >= Self.maxZeros {
                nextMeasurement = nil
                measured(nil)
            }
            return
        }
        zeros = .min
        measured(
            ServerLatency.Measurement(
                asked: asked, answered: now, latency: .microseconds(Int64(microseconds.partialValue))))
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
        pointer.map { String(String(cString: $0).prefix(Self.longestText)) }
    }
}
