internal import CardPlayout
internal import MediaCore
internal import Synchronization

/// The sound server of this computer: its sinks, and the sink and latency of each device of this process. Any thread.
///
/// All cards and lists of a process share one connection, which exists while there are streams or observers. Calls do
/// not wait for its thread.
final class SoundServer: Sendable {
    /// The server of libpulse; nil without the library.
    static let shared = PulseLibrary.shared.map { SoundServer($0) }

    /// The stream of one open device.
    struct Stream: Sendable {
        /// The requested sink; nil: the server's choice.
        var sinkName: String?
        /// Receives the stream's latencies and moves.
        var latency: ServerLatency
        /// Called on the server's thread with what is known of the destination: nil while the stream has none, as
        /// between two streams of a device.
        var changed: @Sendable (SinkKnowledge?) -> Void
    }

    /// A stream or an observer; it is removed by `remove`.
    struct Registration: Sendable {
        fileprivate let number: Int
    }

    fileprivate struct Registered {
        let number: Int
        let stream: Stream
        /// Its last known stream, the sink of that, and the offset of the sink's port.
        var index: UInt32?
        var sink: UInt32?
        var portOffset = Duration.zero
        /// The sink to which the server has moved the stream because the requested one was gone.
        var displacedTo: UInt32?
        /// The sink to which the desktop's user has moved the stream. At a seek the plugin creates another one on the
        /// requested sink.
        var chosen: String?
    }

    /// Guarded by `state`.
    private struct State {
        var streams: [Registered] = []
        var observers: [Int: @Sendable (SoundServerView?) -> Void] = [:]
        var claims = StreamClaims()
        /// The watch; nil without registrations.
        var watch: SoundServerWatch?
        /// Counts the watches: an earlier one may still call.
        var watchNumber = 0
        /// The newest view, nil while the server does not respond; nil before the first one.
        var view: SoundServerView??
        /// Which stream of the newest view is which device's.
        var numbers: [UInt32: Int] = [:]
        var nextNumber = 0
    }

    private let pulse: PulseLibrary
    private let state = Lock(State())

    private init(_ pulse: PulseLibrary) { self.pulse = pulse }

    /// Registers the stream of an opened device.
    func add(_ stream: Stream) -> Registration {
        let number = register { $0.streams.append(Registered(number: $1, stream: stream)) }
        // A device that was opened before it was registered already has a stream.
        state.withLock { $0.watch }?.refresh()
        return Registration(number: number)
    }

    /// Registers an observer of the server's views. It is called with the newest view, if there is one, and on the
    /// server's thread with each one that follows; with nil when the server does not respond. It must not call this
    /// object.
    func observe(_ observer: @escaping @Sendable (SoundServerView?) -> Void) -> Registration {
        let number = register { state, number in
            state.observers[number] = observer
            if let view = state.view { observer(view) }
        }
        // A server that did not respond may be back.
        if case .some(.none) = state.withLock({ $0.view }) { state.withLock { $0.watch }?.refresh() }
        return Registration(number: number)
    }

    /// Adds to the state under a new number, and starts the connection if there is none.
    private func register(_ add: (inout State, Int) -> Void) -> Int {
        let (number, started) = state.withLock { state -> (Int, SoundServerWatch?) in
            defer { state.nextNumber += 1 }
            add(&state, state.nextNumber)
            guard state.watch == nil else { return (state.nextNumber, nil) }
            state.watchNumber += 1
            let watchNumber = state.watchNumber
            let watch = SoundServerWatch(
                pulse, changed: { [weak self] in self?.adopt($0, from: watchNumber) ?? PulseConnection.Requests() },
                measured: { [weak self] in self?.publish($1, ofStream: $0) })
            state.watch = watch
            return (state.nextNumber, watch)
        }
        started?.start()
        return number
    }

    /// Ends a registration. The last one ends the connection.
    func remove(_ registration: Registration) {
        let stopped = state.withLock { state -> SoundServerWatch? in
            state.streams.removeAll { $0.number == registration.number }
            state.observers[registration.number] = nil
            guard state.streams.isEmpty, state.observers.isEmpty else { return nil }
            state.view = nil
            state.claims.removeAll()
            return state.watch.take()
        }
        stopped?.stop()
    }

    /// Returns the newest view; waits for the first one. Nil if the server does not respond in time.
    func view(within timeout: Duration) -> SoundServerView? {
        let answered = Signal()
        let answer = Lock<SoundServerView?>(nil)
        let registration = observe { view in
            answer.withLock { $0 = view }
            answered.raise()
        }
        answered.wait(until: .now.advanced(by: timeout))
        remove(registration)
        return answer.withLock { $0 }
    }

    // MARK: The server's thread

    /// Adopts a view, nil if the server does not respond.
    private func adopt(_ view: SoundServerView?, from watchNumber: Int) -> PulseConnection.Requests {
        let (changes, observers, requests) = state.withLock { state in
            guard state.watch != nil, state.watchNumber == watchNumber else {
                return (
                    [(Stream, SinkKnowledge?)](), [@Sendable (SoundServerView?) -> Void](), PulseConnection.Requests()
                )
            }
            state.view = .some(view)
            state.numbers = [:]
            var requests = PulseConnection.Requests()
            guard let view else {
                state.claims.removeAll()
                for index in state.streams.indices {
                    state.streams[index].stream.latency.setUnavailable()
                    // Another server, or the same one after a restart, numbers them differently.
                    (state.streams[index].index, state.streams[index].sink) = (nil, nil)
                    state.streams[index].displacedTo = nil
                }
                let changes = state.streams.map { ($0.stream, SinkKnowledge?.some(.noServer)) }
                return (changes, Array(state.observers.values), requests)
            }
            state.claims.update(view, devices: state.streams.map { ($0.number, $0.stream.sinkName) })
            var changes: [(Stream, SinkKnowledge?)] = []
            for index in state.streams.indices {
                let number = state.streams[index].number
                let found = state.claims.stream(of: number, in: view)
                state.streams[index].adopt(found, in: view, &requests)
                if let found { state.numbers[found.index] = number }
                changes.append((state.streams[index].stream, found.flatMap { view.knowledge(of: $0) }))
            }
            return (changes, Array(state.observers.values), requests)
        }
        for (stream, knowledge) in changes {
            stream.changed(knowledge)
            // Afterwards: a start may follow at once.
            if knowledge != nil { stream.latency.recordAnswer() }
        }
        for observer in observers { observer(view) }
        return requests
    }

    private func publish(_ measurement: ServerLatency.Measurement?, ofStream index: UInt32) {
        let latency = state.withLock { state in
            state.numbers[index].flatMap { number in state.streams.first { $0.number == number }?.stream.latency }
        }
        if let measurement { latency?.publish(measurement) } else { latency?.setUnavailable() }
    }
}

extension SoundServer.Registered {
    /// Adopts the device's stream in a view, nil if it has none, and adds what is requested for it.
    fileprivate mutating func adopt(
        _ found: SoundServerView.Stream?, in view: SoundServerView, _ requests: inout PulseConnection.Requests
    ) {
        guard let found else { return stream.latency.setUnavailable() }
        // PipeWire states no latencies.
        if view.isPipeWire { stream.latency.setUnavailable() } else { requests.measured.insert(found.index) }
        let (sink, former) = (view.sink(of: found), self.sink)
        let hasMoved = former != nil && former != found.sink
        let portOffset = sink?.portOffset ?? .zero
        if former != nil, hasMoved || portOffset != self.portOffset { stream.latency.recordMove() }
        let isSame = found.index == index
        (index, self.sink, self.portOffset) = (found.index, found.sink, portOffset)
        guard let wanted = stream.sinkName else { return }
        func isAvailable(_ name: String) -> Bool { view.sinks.contains { $0.name == name } }
        guard isAvailable(wanted) else { return displacedTo = displacedTo ?? found.sink }
        let isThere = sink?.name == wanted
        defer { displacedTo = nil }
        if !isThere, displacedTo == found.sink {
            // A headset that is connected again.
            requests.moves.append((found.index, wanted))
        } else if isSame, hasMoved {
            chosen = isThere ? nil : sink?.name
        } else if !isSame, isThere, let chosen, isAvailable(chosen) {
            requests.moves.append((found.index, chosen))
        }
    }
}
