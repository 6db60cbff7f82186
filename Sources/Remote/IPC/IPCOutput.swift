internal import MediaCore

/// The lines for a client, queued by any thread and sent by the server's thread; and the requests without a reply.
final class IPCOutput: Sendable {
    /// The size in bytes from which on another line disconnects the client. One line of any size always fits. Others
    /// follow the description of a playlist at once: of 10,000 films it has some 1.5 MB.
    static let maxQueuedBytes = 4 << 20
    /// The size in bytes from which on requests wait until their client has read.
    private static let maxReplyBytes = 64 << 10
    /// The maximum number of asynchronous requests without a reply; further input waits.
    static let maxAsyncRequests = 64

    private struct State {
        var bytes: [UInt8] = []
        var isOverflowing = false
        /// Whether a synchronous request waits for its reply: replies have the order of the requests.
        var isWaiting = false
        var asyncRequests = 0
        /// Lines that follow the next reply.
        var held: [UInt8]?
        var disabledEvents: Set<String> = []
        var isClosed = false
    }

    private let state = Lock(State())
    private let wake: @Sendable () -> Void

    /// - Parameter wake: Called after a change, on any thread.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    // MARK: Lines

    private func append(_ value: JSONValue, _ body: (inout State, [UInt8]) -> Void) {
        // No text for a client that is about to be disconnected.
        guard !isOverflowing else { return }
        let line = Array(value.compact.utf8) + [UInt8(ascii: "\n")]
        state.withLock { state in
            guard !state.isClosed else { return }
            let isFull = state.bytes.count + (state.held?.count ?? 0) >= Self.maxQueuedBytes
            if isFull { state.isOverflowing = true } else { body(&state, line) }
        }
        wake()
    }

    /// Queues an event unless the client has disabled it.
    func send(event name: String, _ members: [(String, JSONValue)] = []) {
        guard state.withLock({ !$0.isClosed && !$0.disabledEvents.contains(name) }) else { return }
        append(JSONValue.object([("event", .text(name))] + members)) { state, line in
            if state.held == nil { state.bytes += line } else { state.held? += line }
        }
    }

    /// Queues a reply, and then the held events.
    func send(reply: JSONValue) {
        append(reply) { state, line in state.bytes += line + (state.held.take() ?? []) }
    }

    /// Holds events until the next reply is queued.
    func holdEvents() { state.withLock { $0.held = $0.held ?? [] } }

    /// Enables or disables events.
    func setEnabled(_ isEnabled: Bool, _ events: Set<String>) {
        state.withLock { state in
            if isEnabled { state.disabledEvents.subtract(events) } else { state.disabledEvents.formUnion(events) }
        }
    }

    // MARK: Requests

    /// Registers a request whose reply follows.
    func begin(isAsync: Bool) {
        state.withLock { if isAsync { $0.asyncRequests += 1 } else { $0.isWaiting = true } }
    }

    /// Registers that a request has been executed; queues its reply, if any.
    func end(isAsync: Bool, reply: JSONValue?) {
        if let reply { send(reply: reply) }
        state.withLock { if isAsync { $0.asyncRequests -= 1 } else { $0.isWaiting = false } }
        wake()
    }

    // MARK: The server's thread

    /// Whether the next request can be executed.
    var isReady: Bool {
        state.withLock { state in
            !state.isWaiting && state.asyncRequests < Self.maxAsyncRequests && state.bytes.count < Self.maxReplyBytes
        }
    }
    /// Whether all requests have their replies.
    var isIdle: Bool { state.withLock { !$0.isWaiting && $0.asyncRequests == 0 } }
    var hasPending: Bool { state.withLock { !$0.bytes.isEmpty } }
    /// Whether the client does not read what it receives.
    var isOverflowing: Bool { state.withLock { $0.isOverflowing } }

    /// Removes and returns all lines.
    func removeAll() -> [UInt8] {
        state.withLock { state in
            defer { state.bytes = [] }
            return state.bytes
        }
    }

    /// Drops all further lines.
    func close() { state.withLock { ($0.isClosed, $0.bytes, $0.held) = (true, [], nil) } }
}
