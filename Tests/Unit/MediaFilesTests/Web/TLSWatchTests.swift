import Testing

@testable import MediaFiles

/// Uses one thread, because libavformat's TLS errors are recorded per thread.
@Suite struct TLSWatchTests {
    @Test func aRefusalBelongsToTheConnectionThatWasOpenThen() {
        TLSWatch.recordRefusal(.certificate)
        var later = TLSWatch()
        #expect(!later.isRefused, "a list of interstitials that was refused before")
        #expect(later.refusal() == nil)
        TLSWatch.recordRefusal(.name)
        #expect(later.isRefused)
        let another = TLSWatch()
        #expect(!another.isRefused)
        #expect(later.refusal() == .name)
        #expect(!later.isRefused && later.refusal() == nil)
    }
}
