import Glibc
import MediaCore
import Testing

@testable import MediaFiles

/// A playlist of 50 segments of 300,000 bytes, each of which consists of its number.
@Suite struct SegmentReadAheadTests {
    private static let size = 300_000

    private final class Server: Sendable {
        let requests = Lock<[String]>([])
        /// While true nothing is sent.
        let isStalled = Lock(false)
        /// The size of each segment in bytes.
        let size = Lock(SegmentReadAheadTests.size)

        final class Connection: WebConnection {
            let server: Server
            let waiting: InterruptCallback
            var head: ArraySlice<UInt8> = []
            var (number, left) = (UInt8(0), 0)
            init(_ server: Server, _ waiting: InterruptCallback) { (self.server, self.waiting) = (server, waiting) }

            func send(_ bytes: [UInt8]) -> Int32 {
                let name = String(decoding: bytes, as: UTF8.self).split(separator: " ")[1]
                server.requests.withLock { $0.append(String(name)) }
                (number, left) = (UInt8(name.dropFirst(2)) ?? 0, server.size.withLock { $0 })
                head = Array("HTTP/1.1 200 OK\r\nContent-Length: \(left)\r\n\r\n".utf8)[...]
                return 0
            }

            func receive(_ target: UnsafeMutableBufferPointer<UInt8>) -> Int32 {
                while server.isStalled.withLock({ $0 }) {
                    if waiting.isCancelled { return cancelled }
                    HostInstant.now.advanced(by: .milliseconds(5)).sleep()
                }
                if !head.isEmpty {
                    let count = target.update(fromContentsOf: head.prefix(target.count))
                    head = head.dropFirst(count)
                    return Int32(count)
                }
                let count = min(left, target.count)
                target[..<count].update(repeating: number)
                left -= count
                return count > 0 ? Int32(count) : ended
            }
        }
    }

    /// AVERROR_EXIT and AVERROR_EOF of libavutil.
    private static let cancelled: Int32 = -0x5449_5845
    private static let ended: Int32 = -541_478_725

    private final class Demuxer {}
    private let server = Server()
    private let demuxer = Demuxer()
    private let pool = ConnectionPool()
    private let requestBuilder: HTTPRequestBuilder
    private var segments: SegmentReadAhead { requestBuilder.segments }
    private var id: ObjectIdentifier { ObjectIdentifier(demuxer) }

    init() throws {
        let server = server
        var options = ReadOptions()
        options.readAheadBytes = 2 << 20
        options.connect = { _, waiting in Server.Connection(server, waiting) }
        requestBuilder = HTTPRequestBuilder("http://a.org/list", options)
        let lines = (0..<50).map { "#EXTINF:4.0,\ns\($0)\n" }.joined()
        let text = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(lines)#EXT-X-ENDLIST\n"
        let place = "http://a.org/list"
        _ = try #require(requestBuilder.playlists.parse(Array(text.utf8), at: place, from: place))
        requestBuilder.startReadingAhead()
    }

    private func open(_ number: Int, _ waiting: InterruptCallback = InterruptCallback([])) throws -> (any WebBytes)? {
        segments.open(
            try #require(WebAddress("http://a.org/s\(number)")), (0, nil), isOpening: false, by: id, requestBuilder,
            pool: pool, waiting: waiting)
    }

    /// Waits until a condition is true; returns false after 20 s.
    private func wait(_ isTrue: () -> Bool) -> Bool {
        let end = HostInstant.now.advanced(by: .seconds(20))
        while !isTrue() {
            if HostInstant.now > end { return false }
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        return true
    }

    @Test func segmentsAreFetchedOnceAndWithinTheBudget() throws {
        #expect(try open(0) == nil)
        let limit = Int(clamping: requestBuilder.readAhead.maxBytesAhead)
        for number in 1..<50 {
            #expect(wait { segments.progress?.byteCount ?? 0 >= min(limit, (50 - number) * Self.size) })
            #expect(segments.progress?.byteCount ?? .max <= 2 << 20)
            let source = try #require(try open(number))
            var (piece, count, got) = ([UInt8](repeating: 0, count: 32 << 10), 0, Int32(0))
            repeat {
                got = piece.withUnsafeMutableBufferPointer { source.read(into: $0) }
                if got > 0 {
                    count += Int(got)
                    #expect(piece.prefix(Int(got)).allSatisfy { $0 == UInt8(number) })
                }
            } while got > 0
            #expect(got == Self.ended && count == Self.size, "\(number)")
        }
        #expect(server.requests.withLock { $0 } == (1..<50).map { "/s\($0)" })
        segments.close(id)
        #expect(wait { !segments.isRunning })
    }

    /// The thread that reads ahead takes over a response of libavformat, whose connection returns to the pool.
    @Test func aConnectionWhoseSegmentWasReadAheadServesFurtherRequests() throws {
        let address = try #require(WebAddress("http://a.org/s5"))
        func readThrough() throws {
            let (own, requestBuilder) = (InterruptCallback([]), requestBuilder)
            let input = try HTTPStream(address, requestBuilder: requestBuilder, pool: pool, waiting: own) {
                (address) throws(WebFailure) in try requestBuilder.connect(address, own)
            }
            server.isStalled.withLock { $0 = true }
            #expect(try open(5) == nil)
            #expect(wait { server.requests.withLock { $0.contains("/s6") } })
            let source = try #require(
                segments.adopt(
                    input, guardedBy: own, of: address, (0, nil), by: id, requestBuilder, pool: pool,
                    waiting: InterruptCallback([])))
            server.isStalled.withLock { $0 = false }
            // The rest of the segment was read before the second one that follows is requested.
            #expect(wait { server.requests.withLock { $0.contains("/s7") } })
            var (piece, got) = ([UInt8](repeating: 0, count: 32 << 10), Int32(1))
            while got > 0 { got = piece.withUnsafeMutableBufferPointer { source.read(into: $0) } }
            #expect(got == Self.ended)
        }
        try readThrough()
        let kept = try #require(pool.remove(for: address) as? Server.Connection)
        #expect(!kept.waiting.isCancelled && !kept.waiting.isPastDeadline)
        segments.close(id)
        #expect(wait { !segments.isRunning })
    }

    /// The reader of a segment is slower than the network: what was not read stays within the budget.
    @Test func anOpenedSegmentStaysWithinTheBudget() throws {
        server.size.withLock { $0 = 32 << 20 }
        #expect(try open(0) == nil)
        #expect(wait { server.requests.withLock { $0.contains("/s1") } })
        let source = try #require(try open(1))
        var piece = [UInt8](repeating: 0, count: 4 << 10)
        let limit = Int(clamping: requestBuilder.readAhead.maxBytesAhead)
        for _ in 0..<60 {
            _ = piece.withUnsafeMutableBufferPointer { source.read(into: $0) }
            #expect(segments.progress?.byteCount ?? .max <= limit + (64 << 10))
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        segments.close(id)
        #expect(wait { !segments.isRunning })
    }

    @Test func aSeekKeepsWhatFollowsItsTarget() throws {
        #expect(try open(0) == nil)
        #expect(wait { segments.progress?.duration ?? .zero >= .seconds(16) })
        #expect(try open(3) != nil)
        let requests = server.requests.withLock { $0 }
        #expect(requests.count { $0 == "/s3" } == 1)
        // Elsewhere: what was fetched is dropped.
        #expect(try open(30) == nil)
        #expect(wait { server.requests.withLock { $0.contains("/s31") } })
        #expect(try open(4) == nil)
        segments.close(id)
        #expect(wait { !segments.isRunning })
    }

    @Test func aClosedDemuxerAndACancelledReaderEndAtOnce() throws {
        let cancellation = Cancellation()
        server.isStalled.withLock { $0 = true }
        #expect(try open(0) == nil)
        #expect(wait { server.requests.withLock { $0.contains("/s1") } })
        let source = try #require(try open(1, InterruptCallback([cancellation])))
        let code = Lock<Int32>(0)
        let worker = try WorkerThread.start(name: "reader") { [box = Lock(source)] in
            var (piece, got) = ([UInt8](repeating: 0, count: 32 << 10), Int32(1))
            while got > 0 { got = piece.withUnsafeMutableBufferPointer { [box] in box.withLock { $0 }.read(into: $0) } }
            code.withLock { $0 = got }
        }
        let began = HostInstant.now
        cancellation.cancel()
        worker.join()
        #expect(HostInstant.now - began < .seconds(3) && code.withLock { $0 } == Self.cancelled)
        segments.close(id)
        #expect(wait { !segments.isRunning })
        #expect(HostInstant.now - began < .seconds(4))
    }
}
