import Testing

@testable import MediaCore
@testable import Telemetry

@Suite struct ReportedRoutesTests {
    @Test func aNewRouteComparesTheFramesSinceTheLastStart() {
        var routes = ReportedRoutes()
        routes.shown(.init(seconds: 1, error: 0), at: 0)
        routes.restart()
        routes.shown(.init(seconds: 2, error: 3), at: 0)
        let isKnown = routes.update(4) { $0.heard(error: 5, at: 3) }
        routes.finish()
        #expect(isKnown && routes.all.map(\.index) == [4])
        // The frame before the start had no sound.
        #expect(routes.all[0].offset.unmatched == 1 && routes.all[0].offset.quantities.worst == 2)
    }

    @Test func aFrameBelongsToTheRoutesThatAreAudible() {
        var routes = ReportedRoutes()
        _ = routes.update(1) { $0.joined = 100 }
        _ = routes.update(0) { $0.left = 100 }
        routes.shown(.init(seconds: 1, error: 0), at: 99)
        for key in 0...1 as ClosedRange<Int64> { _ = routes.update(key) { $0.heard(error: 1, at: 2) } }
        routes.finish()
        #expect(routes.all.map(\.index) == [0, 1] && routes.all.map(\.offset.quantities.count) == [1, 0])
    }

    @Test func negativeAndFurtherRoutesAreRefused() {
        var routes = ReportedRoutes()
        let accepted = (-1...Int64(TimelineContext.maxRoutes)).filter { routes.update($0) { _ in } }
        #expect(accepted == Array(0..<Int64(TimelineContext.maxRoutes)))
    }
}
