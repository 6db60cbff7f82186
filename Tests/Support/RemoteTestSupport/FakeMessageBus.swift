import Glibc
import MediaCore

@testable package import Remote

/// A message bus in this process, for one service at a time. Any thread.
package final class FakeMessageBus: Sendable {
    private struct State {
        var isRunning = true
        var connection: Connection?
        var names: Set<String> = []
        var waiting: [BusMessage] = []
        var replies: [Int: Result<[BusValue], BusError>] = [:]
        var signals: [BusSignal] = []
        var lastNumber = 0
    }

    private let state = Lock(State())
    /// Raised when a client may have something to read.
    private let arrived = Signal()

    package init(owning names: Set<String> = []) { state.withLock { $0.names = names } }

    /// Connects a service.
    package func connect() throws(BusFailure) -> any MessageBus {
        let connection = Connection(self)
        let isRunning = state.withLock { state in
            if state.isRunning { state.connection = connection }
            return state.isRunning
        }
        guard isRunning else { throw BusFailure(code: ENOENT) }
        return connection
    }

    /// Loses the connection of the service; later ones are refused until `begin`.
    package func end() {
        let connection = state.withLock { state in
            state.isRunning = false
            state.names = []
            return state.connection.take()
        }
        connection?.wake()
    }

    package func begin() { state.withLock { $0.isRunning = true } }

    /// Sends a call without waiting for its reply. Returns its number.
    package func send(_ interface: String, _ member: String, _ arguments: [BusValue]) -> Int {
        let (number, connection) = state.withLock { state in
            state.lastNumber += 1
            state.waiting.append(
                BusMessage(
                    number: state.lastNumber, interface: interface, member: member,
                    signature: arguments.map(\.signature).joined(), arguments: arguments))
            return (state.lastNumber, state.connection)
        }
        connection?.wake()
        return number
    }

    /// Waits for the reply to a call.
    package func reply(to number: Int) throws -> [BusValue] {
        try wait("a reply") { state.withLock { $0.replies[number] != nil } }
        return try state.withLock { $0.replies.removeValue(forKey: number) }?.get() ?? []
    }

    /// Waits until a signal arrives that fulfils a condition. Returns it and those before it, and forgets them.
    package func signals(until isLast: (BusSignal) -> Bool) throws -> [BusSignal] {
        try wait("a signal") { state.withLock { $0.signals.contains(where: isLast) } }
        return state.withLock { state in
            guard let last = state.signals.firstIndex(where: isLast) else { return [] }
            defer { state.signals.removeFirst(last + 1) }
            return Array(state.signals[...last])
        }
    }

    /// Waits until a service owns a name.
    package func waitForName(_ name: String) throws { try wait(name) { state.withLock { $0.names.contains(name) } } }

    package struct TimedOut: Error { let what: String }

    /// Waits for a condition.
    package func wait(_ what: String, until isSo: () -> Bool) throws {
        let deadline = HostInstant.now.advanced(by: .seconds(60))
        while !isSo() {
            guard .now < deadline else { throw TimedOut(what: what) }
            // Not every condition depends on this bus.
            arrived.wait(until: .now.advanced(by: .milliseconds(5)))
            arrived.clear()
        }
    }

    /// The service's end of the bus. Used by the service's thread, except `wake`.
    private final class Connection: MessageBus, Sendable {
        private let bus: FakeMessageBus
        private let handler = Lock<HandlerBox?>(nil)
        private let signal = Lock<PollableSignal?>(nil)

        /// `@unchecked Sendable`: the handler is called by the service's thread only.
        private final class HandlerBox: @unchecked Sendable {
            let handler: (BusMessage) -> Void
            init(_ handler: @escaping (BusMessage) -> Void) { self.handler = handler }
        }

        init(_ bus: FakeMessageBus) { self.bus = bus }

        func wake() { signal.withLock { $0 }?.raise() }

        private var isLost: Bool { bus.state.withLock { $0.connection !== self } }

        var onMessage: ((BusMessage) -> Void)? {
            get { handler.withLock { $0 }?.handler }
            set { handler.withLock { $0 = newValue.map(HandlerBox.init) } }
        }

        func requestName(_ name: String) throws(BusFailure) -> Bool {
            if isLost { throw BusFailure(code: ENOTCONN) }
            let isNew = bus.state.withLock { $0.names.insert(name).inserted }
            bus.arrived.raise()
            return isNew
        }

        func addObject(_ path: String) throws(BusFailure) {}

        func process() throws(BusFailure) -> Bool {
            if isLost { throw BusFailure(code: ENOTCONN) }
            let message = bus.state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
            guard let message else { return false }
            onMessage?(message)
            return true
        }

        func wait(for signal: PollableSignal, until deadline: HostInstant?, reads: Bool) {
            self.signal.withLock { $0 = signal }
            // What arrived before the signal was known.
            if reads, isLost || !bus.state.withLock({ $0.waiting.isEmpty }) { return }
            _ = signal.wait(until: deadline)
        }

        func reply(to number: Int, _ result: Result<[BusValue], BusError>) {
            bus.state.withLock { $0.replies[number] = result }
            bus.arrived.raise()
        }

        func emit(_ signal: BusSignal) {
            bus.state.withLock { $0.signals.append(signal) }
            bus.arrived.raise()
        }

        func close() {}
    }
}
