internal import CFFmpeg
internal import MediaCore

/// Fetches the segments that follow those being read, of the ended playlists of one film. Any thread.
///
/// libavformat opens a segment after it has read the preceding one. Once `ReadAhead` is started, a thread requests the
/// following ones in the order of their times, one at a time. It makes no retries of its own: a segment that it cannot
/// fetch is requested again when it is opened, with the retries and messages of `HTTPStream`.
final class SegmentReadAhead: Sendable {
    /// The bytes of a segment. Guarded by the lock `state` of its owner.
    ///
    /// `@unchecked Sendable`: see above; `arrival` is thread-safe.
    fileprivate final class Segment: @unchecked Sendable {
        let address: WebAddress
        let range: (first: Int64, last: Int64?)
        let seconds: Double
        /// The response of a segment that was opened before it was fetched; the thread that has set `isBusy` uses it.
        let input: HTTPStream?
        /// Interrupts reading of that response; it follows the guard of the demuxer or of the thread that uses it.
        let inputGuard: InterruptCallback?
        /// The guard of the demuxer.
        let demuxerGuard: InterruptCallback?
        var isBusy = false
        /// Received bytes that were not read.
        var pieces: ArraySlice<[UInt8]> = []
        /// The number of bytes of the first piece that were read.
        var readBytes = 0
        var isComplete = false
        var failure: Int32?
        /// Whether it was opened, so that its bytes are due.
        var isOpened = false
        /// Whether its bytes are not needed.
        var isDropped = false
        /// Interrupts fetching.
        let stop = Cancellation()
        /// Raised when bytes arrive or fetching ends.
        let arrival = Signal()

        init(
            _ address: WebAddress, range: (first: Int64, last: Int64?), seconds: Double, input: HTTPStream? = nil,
            inputGuard: InterruptCallback? = nil, demuxerGuard: InterruptCallback? = nil
        ) {
            (self.address, self.range, self.seconds) = (address, range, seconds)
            (self.input, self.inputGuard, self.demuxerGuard) = (input, inputGuard, demuxerGuard)
        }
    }

    private struct Key: Hashable {
        var reader: ObjectIdentifier
        var playlist: String
    }

    /// The position of a demuxer in a playlist.
    private struct Cursor {
        let known: FilmPlaylists.Known
        /// The index of the segment opened last.
        var current: Int
        /// That segment; nil before `adopt`.
        var opened: Segment?
        /// The segments that follow it, in order; only the last may be incomplete.
        var following: [Segment] = []
        var lastUse = HostInstant.now

        var isAtEnd: Bool { current + following.count + 1 >= known.playlist.pieces.count }
        var secondsAhead: Double { following.reduce(0) { $0 + ($1.isComplete ? $1.seconds : 0) } }
    }

    private struct State {
        var cursors: [Key: Cursor] = [:]
        /// The number of bytes stored in all segments.
        var bytes: Int64 = 0
        var isRunning = false
        /// Segments that are no longer needed; released without the lock, since that may close a connection.
        var retired: [Segment] = []
    }

    private let state = Lock(State())

    /// Accesses the state; segments that retire are released afterwards, without the lock.
    private func withState<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, retired) = state.withLock { state in
            let result = body(&state)
            let retired = state.retired
            if !retired.isEmpty { state.retired = [] }
            return (result, retired)
        }
        _ = retired
        return result
    }

    private let wake = Signal()
    private let limits: ReadAhead
    private static let pieceSize = 64 << 10
    /// A playlist that rests for so long while another one is read is not in use.
    private static let maxPause = Duration.seconds(60)
    /// The maximum work of a search for an opened segment in all playlists.
    private static let maxWork = 1 << 22

    init(_ limits: ReadAhead) { self.limits = limits }

    // MARK: Demuxers

    /// Records that a demuxer opens a URL.
    ///
    /// - Parameters:
    ///   - isOpening: Whether the demuxer may open segments that it does not read on.
    ///   - reader: Identifies the demuxer.
    /// - Returns: A source of its bytes if it was fetched or is being fetched; otherwise nil.
    func open(
        _ address: WebAddress, _ range: (first: Int64, last: Int64?), isOpening: Bool, by reader: ObjectIdentifier,
        _ requestBuilder: HTTPRequestBuilder, pool: ConnectionPool, waiting: InterruptCallback
    ) -> (any WebBytes)? {
        guard limits.distance > 0 else { return nil }
        let found = withState { state -> Segment? in
            for key in state.cursors.keys where key.reader == reader {
                guard
                    let index = state.cursors[key]?.following.firstIndex(where: {
                        $0.address.text == address.text && $0.range.first == range.first
                    }), let segment = state.cursors[key]?.following[index]
                else { continue }
                for passed in state.cursors[key]?.following.prefix(index) ?? [] { drop(passed, &state) }
                state.cursors[key]?.following.removeFirst(index + 1)
                state.cursors[key]?.current += index + 1
                if let before = state.cursors[key]?.opened { state.retired.append(before) }
                state.cursors[key]?.opened = segment
                state.cursors[key]?.lastUse = .now
                segment.isOpened = true
                return segment
            }
            return nil
        }
        defer { start(requestBuilder) }
        if let found {
            return SegmentReader(self, found, requestBuilder, pool: pool, waiting: waiting)
        }
        if isOpening { return nil }
        var budget = WorkBudget(Self.maxWork) { waiting.isCancelled }
        // ignored: without budget the segment counts as unknown.
        let entry = (try? requestBuilder.playlists.entry(ofSegmentAt: address.text, from: range.first, &budget)) ?? nil
        guard let entry else { return nil }
        let key = Key(reader: reader, playlist: entry.playlist)
        withState { state in
            remove(key, &state)
            state.cursors[key] = Cursor(known: entry.known, current: entry.index)
        }
        return nil
    }

    /// Returns a source of a segment that was opened before it was fetched: the rest of its response is read ahead too.
    /// Nil for other URLs.
    ///
    /// - Parameters:
    ///   - input: The response, of which nothing was read.
    ///   - inputGuard: The guard of its connection.
    ///   - waiting: The guard of the demuxer.
    func adopt(
        _ input: HTTPStream, guardedBy inputGuard: InterruptCallback, of address: WebAddress,
        _ range: (first: Int64, last: Int64?),
        by reader: ObjectIdentifier, _ requestBuilder: HTTPRequestBuilder, pool: ConnectionPool,
        waiting: InterruptCallback
    ) -> (any WebBytes)? {
        let segment = state.withLock { state -> Segment? in
            for (key, cursor) in state.cursors where key.reader == reader {
                let piece = cursor.known.playlist.pieces[cursor.current]
                guard piece.bytes?.lowerBound ?? 0 == range.first, cursor.opened == nil,
                    cursor.known.playlist.address(of: cursor.current, from: cursor.known.location)?.text == address.text
                else { continue }
                let segment = Segment(
                    address, range: range, seconds: piece.seconds, input: input, inputGuard: inputGuard,
                    demuxerGuard: waiting)
                segment.isOpened = true
                state.cursors[key]?.opened = segment
                return segment
            }
            return nil
        }
        guard let segment else { return nil }
        wake.raise()
        return SegmentReader(self, segment, requestBuilder, pool: pool, waiting: waiting)
    }

    /// Drops everything fetched for a demuxer.
    func close(_ reader: ObjectIdentifier) {
        withState { state in
            for (key, cursor) in state.cursors where key.reader == reader {
                if let opened = cursor.opened { drop(opened, &state) }
                remove(key, &state)
            }
        }
        wake.raise()
    }

    private func drop(_ segment: Segment, _ state: inout State) {
        segment.isDropped = true
        segment.stop.cancel()
        state.bytes -= segment.pieces.reduce(0) { $0 + Int64($1.count) }
        segment.pieces = []
        state.retired.append(segment)
    }

    /// Removes the cursor of a playlist with what was fetched; the segment opened last is left to its reader.
    private func remove(_ key: Key, _ state: inout State) {
        guard let cursor = state.cursors.removeValue(forKey: key) else { return }
        for segment in cursor.following { drop(segment, &state) }
        if let opened = cursor.opened { state.retired.append(opened) }
    }

    /// What was read ahead of the playlist that has least; nil if no playlist is read ahead.
    var progress: ReadAheadProgress? {
        state.withLock { state in
            let cursors = Self.inUse(state)
            guard !cursors.isEmpty else { return nil }
            let seconds =
                cursors.filter { !$0.isAtEnd }.map(\.secondsAhead).min() ?? cursors.map(\.secondsAhead).max() ?? 0
            return ReadAheadProgress(byteCount: Int(clamping: state.bytes), duration: .seconds(seconds))
        }
    }

    /// Whether the thread that fetches segments has not ended.
    var isRunning: Bool { state.withLock { $0.isRunning } }

    private static func inUse(_ state: State) -> [Cursor] {
        let latest = state.cursors.values.map(\.lastUse).max() ?? .now
        return state.cursors.values.filter { latest - $0.lastUse < maxPause }
    }

    // MARK: Fetching

    private func start(_ requestBuilder: HTTPRequestBuilder) {
        let mustStart = state.withLock { state in
            guard !state.isRunning, !state.cursors.isEmpty else { return false }
            state.isRunning = true
            return true
        }
        guard mustStart else { return wake.raise() }
        do throws(ExhaustionError) {
            _ = try WorkerThread.start(name: "read ahead") { [self] in run(requestBuilder) }
        } catch {
            // Without a thread segments are requested when they are opened.
            state.withLock { $0.isRunning = false }
        }
    }

    /// Fetches segments until no demuxer is open.
    private func run(_ requestBuilder: HTTPRequestBuilder) {
        let pool = ConnectionPool()
        // The connections of the pool retain the guard with which they were created.
        let waiting = InterruptCallback([])
        let target = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Self.pieceSize)
        defer { target.deallocate() }
        var failures = 0
        while true {
            let (segment, isOver) = withState { state -> (Segment?, Bool) in
                if state.cursors.isEmpty {
                    state.isRunning = false
                    return (nil, true)
                }
                return (next(&state), false)
            }
            if isOver { return }
            guard let segment else {
                wake.wait(until: HostInstant.now.advanced(by: .milliseconds(250)))
                wake.clear()
                continue
            }
            var code = cff_error_eof
            if let input = segment.input {
                code = drain(segment, input, into: target, maxSilence: requestBuilder.maxSilence)
                // Its reader reads the rest itself, with retries.
                if code != cff_error_eof { state.withLock { _ in segment.failure = code } }
            } else {
                code = fetch(segment, into: target, with: requestBuilder, pool: pool, waiting: waiting)
            }
            if segment.input == nil {
                withState { state in
                    (segment.isComplete, segment.failure) = (code == cff_error_eof, code == cff_error_eof ? nil : code)
                    guard segment.failure != nil, !segment.isOpened else { return }
                    drop(segment, &state)
                    for key in state.cursors.keys { state.cursors[key]?.following.removeAll { $0 === segment } }
                }
            }
            segment.arrival.raise()
            failures = code == cff_error_eof || segment.stop.isCancelled ? 0 : failures + 1
            guard failures > 0 else { continue }
            let delays = HTTPRequestBuilder.usualDelays
            let instant = HostInstant.now.advanced(by: delays[min(failures, delays.count - 1)])
            while HostInstant.now < instant, !state.withLock({ $0.cursors.isEmpty }) {
                min(instant, HostInstant.now.advanced(by: .milliseconds(100))).sleep()
            }
        }
    }

    /// Returns the next segment of the playlist that has least time ahead, added to its cursor; nil if there is none
    /// or no space.
    private func next(_ state: inout State) -> Segment? {
        let opened = state.cursors.values.compactMap(\.opened).first {
            $0.input != nil && !$0.isComplete && !$0.isBusy && !$0.isDropped && $0.failure == nil
        }
        if let opened, state.bytes < limits.distance { return opened }
        let latest = state.cursors.values.map(\.lastUse).max() ?? .now
        let due = state.cursors.filter { latest - $0.value.lastUse < Self.maxPause && !$0.value.isAtEnd }
        guard state.bytes < limits.distance,
            let (key, cursor) = due.min(by: { $0.value.secondsAhead < $1.value.secondsAhead }),
            cursor.secondsAhead < limits.maxTime.inSeconds
        else { return nil }
        let index = cursor.current + cursor.following.count + 1
        let piece = cursor.known.playlist.pieces[index]
        guard let address = cursor.known.playlist.address(of: index, from: cursor.known.location) else {
            // A URL that is none is left to libavformat; so are the segments after it.
            remove(key, &state)
            return nil
        }
        let range = (first: piece.bytes?.lowerBound ?? 0, last: piece.bytes?.upperBound)
        let segment = Segment(address, range: range, seconds: piece.seconds)
        state.cursors[key]?.following.append(segment)
        return segment
    }

    /// Reads the rest of a response, while there is space and its reader does not read it itself.
    ///
    /// - Returns: `cff_error_eof`, or the error that ended reading.
    private func drain(
        _ segment: Segment, _ input: HTTPStream, into target: UnsafeMutableBufferPointer<UInt8>, maxSilence: Duration?
    ) -> Int32 {
        // The demuxer's guard has the deadline of a read that has ended long ago, if its track is far enough ahead.
        let own = InterruptCallback([segment.stop])
        while true {
            let isFree = state.withLock { state in
                guard !segment.isDropped, !segment.isComplete, !segment.isBusy, state.bytes < limits.maxBytesAhead
                else { return false }
                segment.isBusy = true
                segment.inputGuard?.forward(own)
                return true
            }
            guard isFree else { return cff_error_eof }
            own.allow(maxSilence)
            input.retries = false
            let got = input.read(into: target)
            state.withLock { state in
                // After the response its connection serves other requests, which `stop` does not concern.
                segment.inputGuard?.forward(segment.demuxerGuard)
                (segment.isBusy, segment.isComplete) = (false, got == cff_error_eof)
                if got > 0, !segment.isDropped {
                    store(UnsafeBufferPointer(rebasing: target[..<Int(got)]), in: segment, &state)
                }
            }
            segment.arrival.raise()
            if got <= 0 { return got == 0 ? cff_error_eof : got }
        }
    }

    private func store(_ bytes: UnsafeBufferPointer<UInt8>, in segment: Segment, _ state: inout State) {
        state.bytes += Int64(bytes.count)
        if let last = segment.pieces.indices.last, segment.pieces[last].count + bytes.count <= Self.pieceSize {
            segment.pieces[last].append(contentsOf: bytes)
        } else {
            segment.pieces.append(Array(bytes))
        }
    }

    /// Fetches a segment, while there is space or it is being read.
    ///
    /// - Returns: The error that ended fetching; `cff_error_eof` at the segment's end.
    private func fetch(
        _ segment: Segment, into target: UnsafeMutableBufferPointer<UInt8>, with requestBuilder: HTTPRequestBuilder,
        pool: ConnectionPool, waiting: InterruptCallback
    ) -> Int32 {
        let own = InterruptCallback([segment.stop])
        waiting.forward(own)
        defer { waiting.forward(nil) }
        own.allow(requestBuilder.maxSilence)
        let input: HTTPStream
        do throws(WebFailure) {
            if requestBuilder.home?.isSecure == true, !segment.address.isSecure {
                throw WebFailure(code: cff_error_exit, isDowngrade: true)
            }
            input = try HTTPStream(
                segment.address, requestBuilder: requestBuilder, range: segment.range, pool: pool, waiting: waiting
            ) { (address) throws(WebFailure) in try requestBuilder.connect(address, waiting) }
        } catch { return error.code }
        input.retries = false
        while true {
            // A reader that has no bytes of it is never kept waiting for space.
            while state.withLock({ state in
                state.bytes >= limits.maxBytesAhead && !segment.isDropped
                    && !(segment.isOpened && segment.pieces.isEmpty)
            }) {
                wake.wait(until: HostInstant.now.advanced(by: .milliseconds(100)))
            }
            if segment.stop.isCancelled { return cff_error_exit }
            own.allow(requestBuilder.maxSilence)
            let got = input.read(into: target)
            guard got > 0 else { return got == 0 ? cff_error_eof : got }
            let isNeeded = state.withLock { state -> Bool in
                guard !segment.isDropped else { return false }
                store(UnsafeBufferPointer(rebasing: target[..<Int(got)]), in: segment, &state)
                return true
            }
            guard isNeeded else { return cff_error_exit }
            segment.arrival.raise()
        }
    }

    // MARK: Readers

    fileprivate enum Step { case copied(Int), ended, wait, failed, receive(HTTPStream) }

    fileprivate func read(
        _ segment: Segment, into target: UnsafeMutableBufferPointer<UInt8>, waiting: InterruptCallback
    ) -> Step {
        state.withLock { state in
            guard let piece = segment.pieces.first else {
                if segment.isComplete { return .ended }
                if let input = segment.input {
                    guard !segment.isBusy else { return .wait }
                    segment.isBusy = true
                    segment.inputGuard?.forward(waiting)
                    return .receive(input)
                }
                return segment.failure == nil ? .wait : .failed
            }
            let count = target.update(fromContentsOf: piece[segment.readBytes...].prefix(target.count))
            segment.readBytes += count
            if segment.readBytes == piece.count {
                // A slice keeps the elements that it does not show any more.
                segment.pieces[segment.pieces.startIndex] = []
                segment.pieces.removeFirst()
                segment.readBytes = 0
                state.bytes -= Int64(piece.count)
                if segment.pieces.isEmpty { wake.raise() }
            }
            return .copied(count)
        }
    }

    /// Records the result of reading a response after `Step.receive`.
    fileprivate func received(_ code: Int32, of segment: Segment) {
        state.withLock { _ in (segment.isBusy, segment.isComplete) = (false, code == cff_error_eof) }
        wake.raise()
    }

    fileprivate func release(_ segment: Segment) {
        withState { state in
            drop(segment, &state)
            for key in state.cursors.keys where state.cursors[key]?.opened === segment {
                state.cursors[key]?.opened = nil
            }
        }
        wake.raise()
    }
}

/// Reads a segment that was fetched ahead; requests the rest if fetching failed.
///
/// `@unchecked Sendable`: used only on the thread that uses its demuxer.
private final class SegmentReader: WebBytes, @unchecked Sendable {
    private let store: SegmentReadAhead
    private let segment: SegmentReadAhead.Segment
    private let requestBuilder: HTTPRequestBuilder
    private let pool: ConnectionPool
    private let waiting: InterruptCallback
    private var rest: HTTPStream?
    private(set) var offset: Int64 = 0
    let isSeekable = false
    let length: Int64? = nil

    init(
        _ store: SegmentReadAhead, _ segment: SegmentReadAhead.Segment, _ requestBuilder: HTTPRequestBuilder,
        pool: ConnectionPool, waiting: InterruptCallback
    ) {
        (self.store, self.segment, self.requestBuilder) = (store, segment, requestBuilder)
        (self.pool, self.waiting) = (pool, waiting)
    }

    deinit { store.release(segment) }

    func read(into target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
        guard !target.isEmpty else { return 0 }
        while rest == nil {
            if waiting.isCancelled || waiting.isPastDeadline { return cff_error_exit }
            switch store.read(segment, into: target, waiting: waiting) {
            case .copied(let count):
                offset += Int64(count)
                return Int32(clamping: count)
            case .ended: return cff_error_eof
            case .wait: segment.arrival.wait(until: HostInstant.now.advanced(by: .milliseconds(100)))
            case .receive(let input):
                input.retries = true
                let got = input.read(into: target)
                store.received(got, of: segment)
                if got > 0 { offset += Int64(got) }
                return got
            case .failed:
                do throws(WebFailure) { rest = try request() } catch { return error.code }
            }
        }
        guard let rest else { return cff_error_exit }
        let got = rest.read(into: target)
        if got > 0 { offset += Int64(got) }
        return got
    }

    private func request() throws(WebFailure) -> HTTPStream {
        let (requestBuilder, waiting) = (requestBuilder, InterruptCallback([]))
        waiting.forward(self.waiting)
        let input = try HTTPStream(
            segment.address, requestBuilder: requestBuilder, range: segment.range, retriesServerErrors: true,
            pool: pool, waiting: waiting
        ) { (address) throws(WebFailure) in try requestBuilder.connect(address, waiting) }
        let code = input.seek(to: offset)
        if code < 0 { throw WebFailure(code: Int32(clamping: code)) }
        return input
    }

    func seek(to wanted: Int64) -> Int64 {
        wanted == offset ? offset : Int64(cff_error_from_errno(ESPIPE))
    }
}
