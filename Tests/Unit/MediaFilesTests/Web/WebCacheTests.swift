import Glibc
import MediaCore
import Testing

@testable import MediaFiles

/// A file of 48 MB at one address, whose bytes depend on their positions, read by several readers.
@Suite struct WebCacheTests {
    private static let size: Int64 = 48 << 20

    private final class Server: Sendable {
        struct State {
            /// The start position of each connection.
            var starts: [Int64] = []
            var sent: Int64 = 0
            var tag = "\"a\""
            /// Connections end after this number of bytes.
            var limit = Int64.max
            /// The number of connections that were not closed.
            var open = 0
            /// The number of requests that were refused.
            var refused = 0
        }
        let state = Lock(State())
        /// While true nothing is sent.
        let isStalled = Lock(false)
        /// While true connections are refused and broken off.
        let isAway = Lock(false)

        final class Connection: WebConnection {
            let server: Server
            let waiting: InterruptCallback
            var head: ArraySlice<UInt8> = []
            var place: Int64 = 0
            var count: Int64 = 0
            init(_ server: Server, _ waiting: InterruptCallback) {
                (self.server, self.waiting) = (server, waiting)
                server.state.withLock { $0.open += 1 }
            }

            deinit { server.state.withLock { $0.open -= 1 } }

            func send(_ bytes: [UInt8]) -> Int32 {
                let words = String(decoding: bytes, as: UTF8.self).split(separator: "bytes=")
                place = Int64(words[1].prefix { $0.isNumber }) ?? 0
                let tag = server.state.withLock { state in
                    state.starts.append(place)
                    return state.tag
                }
                head =
                    Array(
                        "HTTP/1.1 206 Part\r\nContent-Range: bytes \(place)-\(size - 1)/\(size)\r\nETag: \(tag)\r\nContent-Length: \(size - place)\r\n\r\n"
                            .utf8)[...]
                return 0
            }

            func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
                while server.isStalled.withLock({ $0 }) {
                    if waiting.isCancelled { return cancelled }
                    HostInstant.now.advanced(by: .milliseconds(5)).sleep()
                }
                if server.isAway.withLock({ $0 }) { return -ECONNRESET }
                if !head.isEmpty {
                    let count = target.update(fromContentsOf: head.prefix(target.count))
                    head = head.dropFirst(count)
                    return Int32(count)
                }
                let left = min(server.state.withLock { $0.limit } - count, size - place)
                let piece = Int(min(Int64(target.count), left))
                if piece <= 0 { return -ECONNRESET }
                _ = WebCacheTests.withBytes(at: place, count: piece) { target.update(fromContentsOf: $0) }
                place += Int64(piece)
                count += Int64(piece)
                server.state.withLock { $0.sent += Int64(piece) }
                return Int32(piece)
            }
        }
    }

    /// AVERROR_EXIT of libavutil.
    private static let cancelled: Int32 = -0x5449_5845

    /// A period that is no multiple of a block or connection size.
    private static let period = 1_000_003
    private static let pattern = (0..<period + 65_536).map {
        UInt8(truncatingIfNeeded: ($0 % period) ^ ($0 % period) >> 8 ^ ($0 % period) >> 16)
    }

    private static func withBytes<Result>(
        at place: Int64, count: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result {
        let start = Int(place % Int64(period))
        return pattern.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[start..<start + count])) }
    }

    private let server = Server()
    private let cache: WebCache

    init() throws { (cache, _) = try Self.open(server) }

    /// Opens the file.
    private static func open(
        _ server: Server, bytes: Int = 32 << 20, delays: [Duration] = [.zero, .zero],
        onTrouble: (@Sendable (String) -> Void)? = nil
    ) throws -> (WebCache, HTTPRequestBuilder) {
        let url = "http://a.org/film"
        var options = ReadOptions()
        options.reconnectDelays = delays
        options.readAheadBytes = bytes
        options.onTrouble = onTrouble
        options.connect = { (_, waiting) throws(WebFailure) in
            guard !server.isAway.withLock({ $0 }) else {
                server.state.withLock { $0.refused += 1 }
                throw WebFailure(code: -ECONNREFUSED)
            }
            return Server.Connection(server, waiting)
        }
        let (requestBuilder, waiting) = (HTTPRequestBuilder(url, options), InterruptCallback([]))
        let input = try HTTPStream(try #require(WebAddress(url)), requestBuilder: requestBuilder, waiting: waiting) {
            (address) throws(WebFailure) in try requestBuilder.connect(address, waiting)
        }
        let cache = try #require(WebCache(input, requestBuilder, waiting: waiting))
        requestBuilder.share(cache, of: url)
        return (cache, requestBuilder)
    }

    /// Waits until a condition is true; returns false after 20 s.
    private static func wait(_ isTrue: () -> Bool) -> Bool {
        let end = HostInstant.now.advanced(by: .seconds(20))
        while !isTrue() {
            if HostInstant.now > end { return false }
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        return true
    }

    private var starts: [Int64] { server.state.withLock { $0.starts } }
    private var sent: Int64 { server.state.withLock { $0.sent } }

    /// Reads and verifies a number of bytes. Returns the error if reading fails.
    @discardableResult
    private func read(_ count: Int64, from reader: WebCache.Reader) -> Int32? {
        let end = reader.offset + count
        var piece = [UInt8](repeating: 0, count: 32 << 10)
        while reader.offset < end {
            let start = reader.offset
            let got = piece.withUnsafeMutableBufferPointer {
                reader.read(into: UnsafeMutableBufferPointer(rebasing: $0[..<Int(min(Int64($0.count), end - start))]))
            }
            if got < 0 { return got }
            let isRight = Self.withBytes(at: start, count: Int(got)) { memcmp($0.baseAddress!, piece, Int(got)) == 0 }
            #expect(isRight, "at \(start)")
        }
        return nil
    }

    @Test func readersNearEachOtherShareOneConnection() {
        let (first, second) = (cache.reader(InterruptCallback([])), cache.reader(InterruptCallback([])))
        for _ in 0..<8 {
            read(400_000, from: first)
            read(390_001, from: second)
        }
        // The second reader overtakes the first.
        read(2_000_000, from: second)
        read(1_000_000, from: first)
        #expect(starts == [0])
        #expect(sent <= max(first.offset, second.offset) + 64 << 10)
        // A third reader starts at the beginning.
        let third = cache.reader(InterruptCallback([]))
        read(3_000_000, from: third)
        #expect(starts == [0] && sent <= second.offset + 64 << 10)
    }

    @Test func readersTooFarApartHaveAConnectionEachAndMeetAgain() {
        let (first, second) = (cache.reader(InterruptCallback([])), cache.reader(InterruptCallback([])))
        // No reader waits for one that does not read.
        read(40 << 20, from: first)
        read(1 << 20, from: second)
        #expect(starts == [0, 0])
        _ = second.seek(to: 38 << 20)
        read(4 << 20, from: second)
        read(3 << 20, from: first)
        #expect(starts == [0, 0] && sent < 45 << 20)
    }

    @Test func aReaderFarAheadWaitsForOneThatReadsOn() throws {
        let (first, second) = (cache.reader(InterruptCallback([])), cache.reader(InterruptCallback([])))
        let end = Lock<Int64>(0)
        let ahead = Lock<Int64>(0)
        let worker = try WorkerThread.start(name: "ahead") { [first] in
            for _ in 0..<48 {
                self.read(1 << 20, from: first)
                let lead = first.offset - end.withLock { $0 }
                ahead.withLock { $0 = max($0, lead) }
            }
        }
        for _ in 0..<(48 * 16) {
            read(64 << 10, from: second)
            end.withLock { $0 = second.offset }
            HostInstant.now.advanced(by: .milliseconds(2)).sleep()
        }
        worker.join()
        #expect(starts == [0] && sent == Self.size)
        #expect(ahead.withLock { $0 } <= cache.maxLead + 2 << 20)
    }

    @Test func interleavedTracksAreReadThroughAndSeeksAreNot() {
        var isJumping = false
        let (first, second) = (cache.reader(InterruptCallback([])) { isJumping }, cache.reader(InterruptCallback([])))
        for turn in 0..<8 {
            _ = first.seek(to: Int64(turn) * 600_000)
            read(20_000, from: first)
        }
        #expect(starts == [0])
        read(first.offset, from: second)
        #expect(sent <= first.offset + 64 << 10)
        isJumping = true
        _ = first.seek(to: first.offset + 600_000)
        read(20_000, from: first)
        #expect(starts == [0, first.offset - 20_000])
        // The second reader follows and reads from the cache.
        _ = second.seek(to: first.offset - 20_000)
        read(40_000, from: second)
        #expect(starts.count == 2)
    }

    /// An index at the end of a file is read between the first bytes and those that follow them.
    @Test func anExcursionToTheEndLosesNoConnection() {
        let reader = cache.reader(InterruptCallback([]))
        read(50_000, from: reader)
        _ = reader.seek(to: Self.size - 30_000)
        read(30_000, from: reader)
        _ = reader.seek(to: 50_000)
        read(1_000_000, from: reader)
        #expect(starts == [0, Self.size - 30_000])
    }

    @Test func anInterruptedTransferIsResumedOnceForAllReaders() {
        let (first, second) = (cache.reader(InterruptCallback([])), cache.reader(InterruptCallback([])))
        server.state.withLock { $0.limit = 1 << 20 }
        for _ in 0..<8 {
            read(500_000, from: first)
            read(500_000, from: second)
        }
        #expect(starts == [0, 1 << 20, 2 << 20, 3 << 20])
    }

    @Test func anotherFileAtTheAddressIsNotJoined() {
        let reader = cache.reader(InterruptCallback([]))
        read(1_000_000, from: reader)
        server.state.withLock { ($0.limit, $0.tag) = (0, "\"b\"") }
        #expect(read(1_000_000, from: reader) != nil)
        _ = reader.seek(to: 0)
        #expect(read(1_000_000, from: reader) == nil, "what was read stays")
    }

    @Test func aReaderThatIsCancelledLeavesTheOthersTheirBytes() throws {
        let (cancellation, other) = (Cancellation(), Cancellation())
        let (first, second) = (
            cache.reader(InterruptCallback([cancellation])), cache.reader(InterruptCallback([other]))
        )
        let third = cache.reader(InterruptCallback([]))
        read(100_000, from: first)
        server.isStalled.withLock { $0 = true }
        let codes = Lock<[Int32?]>([])
        let workers = try [first, second, third].map { reader in
            _ = reader.seek(to: 300_000)
            return try WorkerThread.start(name: "reader") {
                let code = self.read(100_000, from: reader)
                codes.withLock { $0.append(code) }
            }
        }
        for (cancellation, worker) in zip([cancellation, other], workers) {
            let began = HostInstant.now
            cancellation.cancel()
            worker.join()
            // The server sends nothing, and the read timeout is a minute.
            #expect(HostInstant.now - began < .seconds(20))
        }
        server.isStalled.withLock { $0 = false }
        workers[2].join()
        #expect(codes.withLock { $0 } == [Self.cancelled, Self.cancelled, nil])
    }

    // MARK: Reading ahead

    @Test func readingAheadFillsTheBudgetAndSeeksWithinItSendNoRequest() throws {
        let server = Server()
        let (cache, requestBuilder) = try Self.open(server, bytes: 2 << 20)
        let budget = Int64(2 << 20)
        let reader = cache.reader(InterruptCallback([]))
        requestBuilder.startReadingAhead()
        read(100_000, from: reader)
        #expect(Self.wait { cache.bytesAhead >= cache.maxLead })
        #expect(cache.bytesAhead <= cache.maxLead + ByteBlocks.blockSize && cache.storedBytes <= budget)
        #expect(server.state.withLock { $0.sent } <= budget)
        #expect(requestBuilder.progress?.byteCount ?? 0 >= Int(cache.maxLead))
        // Within the stored bytes, a quarter of which is behind the reader: forward and back. Meanwhile the thread
        // reads on and drops what is farther behind.
        for place in [300_000, 1_000_000, 900_000, 1_400_000] {
            _ = reader.seek(to: Int64(place))
            read(50_000, from: reader)
        }
        #expect(server.state.withLock { $0.starts } == [0])
        // Elsewhere: one request, and the memory stays within the budget.
        _ = reader.seek(to: 30 << 20)
        read(50_000, from: reader)
        #expect(Self.wait { cache.bytesAhead >= cache.maxLead })
        #expect(server.state.withLock { $0.starts } == [0, 30 << 20])
        read(10 << 20, from: reader)
        #expect(cache.storedBytes <= budget && server.state.withLock { $0.starts } == [0, 30 << 20])
    }

    /// Audio and video are megabytes apart; the bytes of both come from one connection.
    @Test func readersShareWhatWasReadAhead() throws {
        let server = Server()
        let (cache, requestBuilder) = try Self.open(server, bytes: 8 << 20)
        let (first, second) = (cache.reader(InterruptCallback([])), cache.reader(InterruptCallback([])))
        requestBuilder.startReadingAhead()
        for _ in 0..<20 {
            read(2 << 20, from: first)
            read(2 << 20, from: second)
        }
        #expect(server.state.withLock { $0.starts } == [0] && cache.storedBytes <= 8 << 20)
    }

    @Test func aServerThatReturnsWhileBytesAreStoredIsNotMissed() throws {
        let (server, reports) = (Server(), Lock<[String]>([]))
        let (cache, requestBuilder) = try Self.open(
            server, bytes: 16 << 20, delays: HTTPRequestBuilder.usualDelays
        ) { text in reports.withLock { $0.append(text) } }
        let reader = cache.reader(InterruptCallback([]))
        requestBuilder.startReadingAhead()
        read(100_000, from: reader)
        #expect(Self.wait { cache.bytesAhead >= cache.maxLead })
        server.isAway.withLock { $0 = true }
        read(1 << 20, from: reader)
        #expect(Self.wait { server.state.withLock { $0.refused } >= 2 }, "the server is tried again")
        let began = HostInstant.now
        read(10 << 20, from: reader)
        #expect(HostInstant.now - began < .seconds(2))
        #expect(requestBuilder.lostServer == nil && reports.withLock { $0 }.isEmpty)
        server.isAway.withLock { $0 = false }
        #expect(Self.wait { cache.bytesAhead >= cache.maxLead })
        #expect(requestBuilder.lostServer == nil && reports.withLock { $0 }.isEmpty)
    }

    @Test func aServerThatStaysAwayIsAnErrorAfterTheStoredBytes() throws {
        let server = Server()
        let (cache, requestBuilder) = try Self.open(server, bytes: 4 << 20)
        let reader = cache.reader(InterruptCallback([]))
        requestBuilder.startReadingAhead()
        read(100_000, from: reader)
        #expect(Self.wait { cache.bytesAhead >= cache.maxLead })
        server.isAway.withLock { $0 = true }
        #expect(read(3 << 20, from: reader) == nil, "stored")
        #expect(read(20 << 20, from: reader) == -ECONNREFUSED)
        #expect(requestBuilder.lostServer == nil)
    }

    @Test func withoutReadersReadingAheadEndsAtOnce() throws {
        let server = Server()
        let (cache, requestBuilder) = try Self.open(server, bytes: 16 << 20)
        var reader: WebCache.Reader? = cache.reader(InterruptCallback([]))
        requestBuilder.startReadingAhead()
        read(100_000, from: try #require(reader))
        server.isStalled.withLock { $0 = true }
        #expect(Self.wait { cache.isReadingAhead })
        let began = HostInstant.now
        reader = nil
        #expect(Self.wait { !cache.isReadingAhead })
        // The server sends nothing, and a connection is replaced after ten seconds.
        #expect(HostInstant.now - began < .seconds(3))
        // A further reader continues.
        server.isStalled.withLock { $0 = false }
        let other = cache.reader(InterruptCallback([]))
        read(100_000, from: other)
        #expect(Self.wait { cache.bytesAhead >= cache.maxLead })
    }

    /// The blocked read is that of the thread which reads ahead.
    @Test func aReaderThatWaitsForWhatIsReadAheadIsCancelledAtOnce() throws {
        let (server, cancellation) = (Server(), Cancellation())
        let (cache, requestBuilder) = try Self.open(server, bytes: 2 << 20)
        let reader = cache.reader(InterruptCallback([cancellation]))
        requestBuilder.startReadingAhead()
        read(100_000, from: reader)
        server.isStalled.withLock { $0 = true }
        let code = Lock<Int32?>(nil)
        let worker = try WorkerThread.start(name: "reader") {
            let got = self.read(20 << 20, from: reader)
            code.withLock { $0 = got }
        }
        #expect(Self.wait { cache.bytesAhead == 0 })
        let began = HostInstant.now
        cancellation.cancel()
        worker.join()
        #expect(HostInstant.now - began < .seconds(3) && code.withLock { $0 } == Self.cancelled)
    }
}
