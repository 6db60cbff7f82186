import Testing

@testable import MediaCore

@Suite struct SignalTests {
    private let soon = HostInstant.now.advanced(by: .seconds(10))
    private let already = HostInstant(nanoseconds: 0)

    @Test func aForwardedRaiseWakesOnlyTheTargetsWaiter() {
        let (own, other) = (Signal(), Signal())
        own.raise()
        own.pass(to: other)
        own.raise()
        #expect(other.wait(until: soon))
        #expect(own.wait(until: soon), "what was raised before stays here")
        #expect(!own.wait(until: already))
        own.pass(to: nil)
        own.raise()
        #expect(own.wait(until: soon))
        #expect(!other.wait(until: already))
    }

    @Test func aForwardingTargetIsRetainedWhileARaiseMayReachIt() {
        let own = Signal()
        weak var other: Signal?
        do {
            let heir = Signal()
            other = heir
            own.pass(to: heir)
        }
        own.pass(to: nil)
        #expect(other != nil)
    }
}
