import Testing

@testable import Telemetry

@Suite struct QuantileSketchTests {
    @Test func quantilesAreExactToTheMicrosecond() {
        var sketch = QuantileSketch()
        for value in (1...100).shuffled() { sketch.add(Double(value) - 50.5) }
        #expect(sketch.quantiles([0.05, 0.5, 0.95, 1]) == [-45.5, -0.5, 44.5, 49.5])
        #expect(sketch.worst?.magnitude == 49.5)
    }

    @Test func aMillionDistinctValuesStayInBoundsAndNearTheTruth() throws {
        var sketch = QuantileSketch()
        for index in 0..<1_000_000 { sketch.add(Double(index) / 1000) }
        let median = try #require(sketch.quantiles([0.5])?.first)
        #expect(abs(median - 500) < 0.05)
        #expect(sketch.count == 1_000_000)
    }

    @Test func wildNumbersNeitherTrapNorSpread() {
        var sketch = QuantileSketch()
        for value in [Double.infinity, -.infinity, 1e300, -1e300, .nan, 0] { sketch.add(value) }
        #expect(sketch.count == 5)
        #expect(sketch.quantiles([0, 0.5, 1]) == [-3_600_000, 0, 3_600_000])
    }

    @Test func aTrendNeedsItsSpanOfTime() {
        var trend = LinearTrend()
        for x in 0..<10 { trend.add(x: Double(x), y: 3 * Double(x) + 1) }
        #expect(trend.slope(over: 10) == nil)
        trend.add(x: 10, y: 31)
        #expect(abs((trend.slope(over: 10) ?? 0) - 3) < 1e-12)
    }

    @Test func aSeriesKeepsItsExtremesWhileItGrows() {
        var series = DecimatedSeries(capacity: 16, width: 1)
        for second in 0..<1000 { series.add(second == 777 ? -50 : 1, at: Double(second)) }
        #expect(series.columns.count <= 16)
        #expect(series.columns.map(\.lowest).min() == -50)
        #expect(series.columns.map(\.count).reduce(0, +) == 1000)
    }
}
