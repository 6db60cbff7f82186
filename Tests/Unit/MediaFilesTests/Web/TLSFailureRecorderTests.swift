import Testing

@testable import MediaFiles

/// Uses one thread, because libavformat's TLS errors are recorded per thread.
@Suite struct TLSFailureRecorderTests {
    @Test func aRefusalBelongsToTheConnectionThatWasOpenThen() {
        TLSFailureRecorder.recordRefusal(.certificate)
        var later = TLSFailureRecorder()
        #expect(!later.isRefused, "a list of interstitials that was refused before")
        #expect(later.refusal() == nil)
        TLSFailureRecorder.recordRefusal(.name)
        #expect(later.isRefused)
        let another = TLSFailureRecorder()
        #expect(!another.isRefused)
        #expect(later.refusal() == .name)
        #expect(!later.isRefused && later.refusal() == nil)
    }
}
