internal import MediaCore
internal import MediaFiles
package import SyncRendering
package import TalkieTestKit
internal import Testing

/// Buffers that a renderer requests one by one.
package final class RequestedPieces: Sendable {
    private let state = Lock((calls: 0, next: 0, isOver: false))

    /// Number of requests by the renderer.
    package var calls: Int { state.withLock { $0.calls } }
    /// True if all buffers were delivered.
    package var isOver: Bool { state.withLock { $0.isOver } }

    /// Starts the requests of a renderer on a queue.
    package init(_ pieces: [SinePieces.Piece], for renderer: AudioRenderer, on queue: any MediaRequestQueue) throws {
        var sources: [(source: any SampleSource, offset: MediaTime)] = []
        var offset = MediaTime.zero
        for piece in pieces {
            let file = try MediaFile.open(try SinePieces.file(piece, from: offset))
            sources.append((try file.reader(for: try #require(file.summary.track(.audio))), offset))
            offset += MediaTime(value: Int64(piece.frames), timescale: Int32(piece.rate))
        }
        let list = sources
        let state = state
        renderer.requestMediaDataWhenReady(on: queue) {
            state.withLock { $0.calls += 1 }
            while renderer.isReadyForMoreMediaData {
                let index = state.withLock { $0.next }
                guard index < list.count else {
                    state.withLock { $0.isOver = true }
                    return renderer.stopRequestingMediaData()
                }
                // ignored: a piece that cannot be read is silent, which the recording shows.
                if let buffer = try? list[index].source.read() {
                    renderer.enqueue(SinePieces.moved(buffer, by: list[index].offset))
                } else {
                    state.withLock { $0.next += 1 }
                }
            }
        }
    }
}

extension RouteContract {
    /// A renderer requests as much as its route needs, continues while it plays, and stops after
    /// `stopRequestingMediaData`. What it received by then is audible to the end.
    public static func rendererRequestsDesiredDepth(_ kind: some OpenableRoute) throws {
        let route = try kind.open(seconds: 6, isExact: false)
        let (renderer, synchronizer) = (route.renderer, route.synchronizer)
        // More than a shallow route requests before the start, and enough for a deep one.
        let isDeep = route.promises.depth.lowerBound > 10
        let requests = try RequestedPieces(
            [.aac(48000, (isDeep ? 60 : 20) * 48000)], for: renderer, on: route.queue)
        #expect(route.wait(atMost: .seconds(20)) { !renderer.isReadyForMoreMediaData || requests.isOver })
        let ahead = try #require(renderer.progress.enqueuedUntil).seconds
        print("\(route.name): asked for \(rounded(ahead)) s before the start, in \(requests.calls) calls")
        #expect(route.promises.depth.contains(ahead), "\(route.name)")
        let start = try start(route)
        let before = requests.calls
        route.run(untilHeard: time(2))
        if !isDeep {
            #expect(requests.calls > before, "\(route.name): it was not asked while it played")
            let reached = try #require(renderer.progress.enqueuedUntil).seconds
            #expect(route.promises.depth.contains(reached - synchronizer.currentTime().seconds + 0.5))
        }
        renderer.stopRequestingMediaData()
        let last = requests.calls
        var end = 2.0
        if isDeep {
            synchronizer.setRate(0)
            route.run(for: .milliseconds(300))
        } else {
            end = try #require(renderer.progress.enqueuedUntil).seconds
            route.run(until: start.advanced(by: .milliseconds(Int64(end * 1000) + 400)))
            #expect(renderer.isReadyForMoreMediaData, "\(route.name): at the end of the material it has no room")
        }
        // A call in progress at the stop may be counted afterwards.
        #expect(requests.calls <= last + 1, "\(route.name): it was asked after the stop")
        let recording = try route.finish()
        try checkStart(recording, due: start, on: route)
        let heard = recording.stretches(of: [Int(SinePieces.frequency)])
        let length = heard.reduce(0) { $0 + $1.end - $1.start }
        print("\(route.name): \(heard), due until \(rounded(end))")
        #expect(length > end - 0.06 * route.promises.factor && length < end + 0.25, "\(heard)")
        #expect(heard.count == 1, "\(route.name): holes: \(heard)")
    }
}
