internal import CFFmpeg
internal import MediaCore

/// Caches the bytes of a film's address for all its readers. Any thread.
///
/// A reader fetches a missing byte on its own thread, through the nearest connection before that byte. If another
/// reader is already fetching it, the reader waits. A reader far ahead also waits, before bytes are dropped that
/// another one needs. Readers too far apart use separate connections.
///
/// Once `ReadAhead` is started, a thread fetches the bytes that follow those of the readers, while there are readers.
/// It makes no retries of its own: a lost server is of no concern while a reader has bytes. A reader without bytes
/// requests them itself, with the retries and messages of `HTTPStream`.
final class WebCache: Sendable {
    typealias Connect = @Sendable (WebAddress, InterruptCallback) throws(WebFailure) -> any WebConnection

    /// One connection. The reader that has set `isBusy` uses `input`; the state's lock guards the rest.
    private struct Connection {
        let input: HTTPStream
        /// Follows the guard of the reader that uses the connection.
        let waiting: InterruptCallback
        /// The position of the next byte.
        var position: Int64
        var lastUse: HostInstant
        var isBusy: Bool
    }

    private struct Position {
        /// The position of the next byte to read.
        var next: Int64 = 0
        /// The start of the sequential read that has reached `next`.
        var runStart: Int64 = 0
        /// Whether nothing was read since the last seek.
        var isAfterJump = false
        var lastRead = HostInstant.now
        /// Raised when bytes arrive or a connection becomes free.
        let arrival = Signal()
    }

    private struct State {
        var blocks: ByteBlocks
        /// Ends the thread that reads ahead; nil without a thread.
        var stop: Cancellation?
        /// Whether such a thread has not ended.
        var isReading = false
        /// Whether that thread waits until there is space.
        var isFull = false
        var connections: [Connection] = []
        var readers: [Int: Position] = [:]
        var readerCount = 0
    }

    private enum Step { case copied(Int), ended, wait, fetch(Connection) }

    /// The maximum number of open connections.
    private static let maxConnections = 4
    /// The time without reads after which a connection is closed.
    private static let maxIdleTime = Duration.seconds(30)
    /// The maximum gap in bytes that a connection reads through instead of reconnecting, if another reader needs the
    /// bytes. The tracks of a container are interleaved.
    private static let maxReadThrough: Int64 = 8 << 20
    /// The maximum distance in bytes of a reader ahead of another one.
    var maxLead: Int64 { requestBuilder.readAhead.maxBytesAhead }
    /// A reader that rests for so long while another one reads needs nothing: the reader of sparse subtitles, or of an
    /// output that has minutes of audio.
    private static let maxPause = Duration.seconds(10)
    /// The time without reads after which other readers do not wait for a reader.
    private static let maxRest = Duration.seconds(1)

    let identity: HTTPStream.Identity
    private let requestBuilder: HTTPRequestBuilder
    private let state: Lock<State>
    /// Wakes the thread that reads ahead.
    private let wake = Signal()

    /// Creates a cache on an input at its start, whose connection it uses.
    ///
    /// - Parameter waiting: The guard that the input was created with.
    /// - Returns: Nil if the server does not support ranges.
    init?(_ input: HTTPStream, _ requestBuilder: HTTPRequestBuilder, waiting: InterruptCallback) {
        guard let identity = input.identity else { return nil }
        (self.identity, self.requestBuilder) = (identity, requestBuilder)
        let connection = Connection(input: input, waiting: waiting, position: 0, lastUse: .now, isBusy: false)
        state = Lock(
            State(blocks: ByteBlocks(maxBytes: requestBuilder.readAhead.maxBytes), connections: [connection]))
    }

    /// Creates a reader at the first byte.
    ///
    /// - Parameter isJumping: Returns true while the reader's demuxer seeks.
    func reader(_ waiting: InterruptCallback, isJumping: @escaping () -> Bool = { false }) -> Reader {
        let number = state.withLock { state in
            state.readerCount += 1
            state.readers[state.readerCount] = Position()
            return state.readerCount
        }
        defer { readAhead() }
        return Reader(self, number: number, waiting: waiting, isJumping: isJumping)
    }

    /// A reader of the cache.
    ///
    /// `@unchecked Sendable`: used only on the thread that uses its demuxer.
    final class Reader: WebBytes, @unchecked Sendable {
        private let cache: WebCache
        private let number: Int
        private let waiting: InterruptCallback
        private let isJumping: () -> Bool
        private(set) var offset: Int64 = 0
        var isSeekable: Bool { true }
        var length: Int64? { cache.identity.size }

        fileprivate init(
            _ cache: WebCache, number: Int, waiting: InterruptCallback, isJumping: @escaping () -> Bool
        ) {
            (self.cache, self.number, self.waiting, self.isJumping) = (cache, number, waiting, isJumping)
        }

        deinit { cache.remove(number) }

        func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
            guard !target.isEmpty else { return 0 }
            let got = cache.read(number, into: target, waiting)
            if got > 0 { offset += Int64(got) }
            return got
        }

        func seek(to wanted: Int64) -> Int64 {
            guard wanted.boundedBytes != nil else { return Int64(cff_error_from_errno(EINVAL)) }
            if wanted != offset { cache.move(number, to: wanted, isJump: isJumping()) }
            offset = wanted
            return wanted
        }
    }

    private func remove(_ number: Int) {
        let stop = state.withLock { state -> Cancellation? in
            state.readers[number] = nil
            return state.readers.isEmpty ? state.stop.take() : nil
        }
        stop?.cancel()
        wake.raise()
    }

    private func move(_ number: Int, to wanted: Int64, isJump: Bool) {
        defer { if isJump { wake.raise() } }
        state.withLock { state in
            guard var reader = state.readers[number] else { return }
            let isNear = reader.next <= wanted && wanted - reader.next <= Self.maxReadThrough
            if isJump || !isNear { reader.runStart = wanted }
            (reader.next, reader.isAfterJump) = (wanted, reader.isAfterJump || isJump)
            state.readers[number] = reader
        }
    }

    private func read(_ number: Int, into target: UnsafeMutableBufferPointer<UInt8>, _ waiting: InterruptCallback)
        -> Int32
    {
        while true {
            if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
            // Connections are closed outside the lock.
            let (step, unused, arrival) = state.withLock { nextStep(number, into: target, &$0) }
            _ = unused
            switch step {
            case .copied(let count): return Int32(clamping: count)
            case .ended: return cff_error_eof
            case .wait: arrival?.wait(until: HostInstant.now.advanced(by: .milliseconds(100)))
            case .fetch(let connection):
                let got = fetch(through: connection, into: target, waiting)
                if got <= 0 { return got }
            }
        }
    }

    private func nextStep(_ number: Int, into target: UnsafeMutableBufferPointer<UInt8>, _ state: inout State) -> (
        Step, unused: [HTTPStream], Signal?
    ) {
        guard var reader = state.readers[number], reader.next < identity.size else { return (.ended, [], nil) }
        let (now, position) = (HostInstant.now, reader.next)
        let copied = state.blocks.copy(from: position, into: target)
        if copied > 0 {
            (reader.next, reader.isAfterJump, reader.lastRead) = (position + Int64(copied), false, now)
            state.readers[number] = reader
            if state.isFull, state.blocks.end(from: reader.next) - reader.next < requestBuilder.readAhead.distance / 2 {
                state.isFull = false
                wake.raise()
            }
            return (.copied(copied), [], nil)
        }
        // Bytes that another reader needs are kept while it is reading towards them.
        let isTooFarAhead = state.readers.contains { other, behind in
            other != number && behind.next >= reader.runStart && position - behind.next > maxLead
                && now - behind.lastRead < Self.maxRest
        }
        if isTooFarAhead { return (.wait, [], reader.arrival) }
        let reach = state.readers.count > 1 && !reader.isAfterJump ? Self.maxReadThrough : HTTPStream.shortWay
        let (connection, unused) = nearestConnection(for: position, within: reach, &state, at: now)
        return (connection.map { .fetch($0) } ?? .wait, unused, connection == nil ? reader.arrival : nil)
    }

    /// Returns the nearest connection at most `reach` before a position, or else one to be repositioned, marked as
    /// busy; nil if it is busy already, or if all are. `unused` are the connections to be closed.
    private func nearestConnection(
        for position: Int64, within reach: Int64, _ state: inout State, at now: HostInstant
    ) -> (Connection?, unused: [HTTPStream]) {
        let near = state.connections.filter {
            $0.position <= position && position - $0.position <= reach && !state.blocks.contains($0.position)
        }.max { $0.position < $1.position }
        if near?.isBusy == true { return (nil, []) }
        var unused: [HTTPStream] = []
        state.connections.removeAll { other in
            guard !other.isBusy, other.input !== near?.input else { return false }
            let isUnused = now - other.lastUse > Self.maxIdleTime || other.position >= identity.size
            guard isUnused || state.blocks.contains(other.position) else { return false }
            unused.append(other.input)
            return true
        }
        guard var connection = near ?? freeConnection(state.connections) else { return (nil, unused) }
        if near == nil { connection.position = position }
        (connection.isBusy, connection.lastUse) = (true, now)
        state.connections.removeAll { $0.input === connection.input }
        state.connections.append(connection)
        return (connection, unused)
    }

    /// Returns a connection that may be repositioned: a new one, or the least recently used; nil if all are busy.
    private func freeConnection(_ connections: [Connection]) -> Connection? {
        guard connections.count < Self.maxConnections else {
            return connections.filter { !$0.isBusy }.min { $0.lastUse < $1.lastUse }
        }
        let (waiting, requestBuilder) = (InterruptCallback([]), requestBuilder)
        let input = HTTPStream(identity, requestBuilder: requestBuilder, waiting: waiting) {
            (address) throws(WebFailure) in
            try requestBuilder.connect(address, waiting)
        }
        return Connection(input: input, waiting: waiting, position: 0, lastUse: .now, isBusy: false)
    }

    /// Fetches and stores the next bytes of a connection. `target` serves as the buffer.
    private func fetch(
        through connection: Connection, into target: UnsafeMutableBufferPointer<UInt8>, _ waiting: InterruptCallback,
        retries: Bool = true
    ) -> Int32 {
        connection.waiting.forward(waiting)
        connection.input.retries = retries
        _ = connection.input.seek(to: connection.position)
        let count = min(target.count, ByteBlocks.space(from: connection.position))
        let got = connection.input.read(into: UnsafeMutableBufferPointer(rebasing: target[..<count]))
        connection.waiting.forward(nil)
        state.withLock { state in
            if let index = state.connections.firstIndex(where: { $0.input === connection.input }) {
                if got > 0 {
                    let needed = Self.needed(state).map { $0.next..<$0.end }
                    state.blocks.add(
                        UnsafeBufferPointer(rebasing: target[..<Int(got)]), at: connection.position, keeping: needed)
                    state.connections[index].position += Int64(got)
                    state.connections[index].isBusy = false
                } else {
                    state.connections.remove(at: index)
                }
            }
            for reader in state.readers.values {
                reader.arrival.clear()
                reader.arrival.raise()
            }
        }
        if retries { wake.raise() }
        return got
    }

    // MARK: Reading ahead

    /// Starts the thread that reads ahead, if it is wanted and there are readers.
    func readAhead() {
        guard requestBuilder.readAhead.distance > 0 else { return }
        let stop = state.withLock { state -> Cancellation? in
            guard state.stop == nil, !state.readers.isEmpty else { return nil }
            (state.stop, state.isReading) = (Cancellation(), true)
            return state.stop
        }
        guard let stop else { return }
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "read ahead") { [self] in readAhead(until: stop) }
        } catch {
            // Without a thread the readers fetch what they need.
            state.withLock { ($0.stop, $0.isReading) = (nil, false) }
        }
    }

    private func readAhead(until stop: Cancellation) {
        let waiting = InterruptCallback([stop])
        let target = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Int(clamping: ByteBlocks.blockSize))
        defer {
            target.deallocate()
            state.withLock { state in if state.stop == nil { state.isReading = false } }
        }
        var failures = 0
        while !stop.isCancelled {
            let (connection, unused) = state.withLock { nextAhead(&$0) }
            _ = unused
            guard let connection else {
                wake.wait(until: HostInstant.now.advanced(by: .milliseconds(250)))
                wake.clear()
                continue
            }
            // A silent server is replaced as for a reader.
            waiting.allow(requestBuilder.maxSilence)
            if fetch(through: connection, into: target, waiting, retries: false) > 0 {
                failures = 0
                continue
            }
            let delays = HTTPRequestBuilder.usualDelays
            let instant = HostInstant.now.advanced(by: delays[min(failures, delays.count - 1)])
            failures += 1
            while !stop.isCancelled, HostInstant.now < instant {
                min(instant, HostInstant.now.advanced(by: .milliseconds(100))).sleep()
            }
        }
    }

    /// Returns the connection that continues the shortest stored part after a reader, marked as busy; nil if there is
    /// nothing to fetch.
    private func nextAhead(_ state: inout State) -> (Connection?, unused: [HTTPStream]) {
        let (needed, distance) = (Self.needed(state), requestBuilder.readAhead.distance)
        var (covered, count) = (Int64(0), Int64(0))
        for part in needed {
            count += max(0, part.end - max(part.next, covered))
            covered = max(covered, part.end)
        }
        let next = needed.filter { $0.end < identity.size }.min { $0.end - $0.next < $1.end - $1.next }
        state.isFull = count >= distance
        guard let next, !state.isFull else { return (nil, []) }
        return nearestConnection(for: next.end, within: HTTPStream.shortWay, &state, at: .now)
    }

    /// Returns the stored part after each reader that reads, sorted by position.
    private static func needed(_ state: State) -> [(next: Int64, end: Int64)] {
        guard let latest = state.readers.values.map(\.lastRead).max() else { return [] }
        return state.readers.values.filter { latest - $0.lastRead < maxPause }.map {
            ($0.next, state.blocks.end(from: $0.next))
        }.sorted { $0.0 < $1.0 }
    }

    /// The number of bytes stored ahead of the reader that has least; 0 without readers.
    var bytesAhead: Int64 {
        state.withLock { state in
            let needed = Self.needed(state)
            return needed.filter { $0.end < identity.size }.map { $0.end - $0.next }.min()
                ?? needed.map { $0.end - $0.next }.max() ?? 0
        }
    }

    /// Whether the thread that reads ahead has not ended.
    var isReadingAhead: Bool { state.withLock { $0.isReading } }

    /// The memory of the store in bytes.
    var storedBytes: Int64 { state.withLock { $0.blocks.byteCount } }
}
