import MediaCore
import Testing

@testable import CardPlayout

@Suite struct DriftControllerTests {
    /// Returns the error in milliseconds after a time, of audio that has played for long.
    static func error(from start: Double, after seconds: Int) -> Double {
        var controller = DriftController()
        var error = start
        for _ in 0..<(seconds * 50) {
            let correction = controller.update(
                error: .nanoseconds(Int64(error * 1e6)), age: .seconds(60), elapsed: .milliseconds(20))
            error -= correction * 20
        }
        return error
    }

    @Test(arguments: [10.0, -10])
    func anErrorOfTenMillisecondsIsBelowTwoAfterSixteenSecondsAndDoesNotChangeSides(start: Double) {
        #expect(abs(Self.error(from: start, after: 16)) < 2)
        for seconds in [20, 40, 60] { #expect(Self.error(from: start, after: seconds) * start > 0) }
    }
}
