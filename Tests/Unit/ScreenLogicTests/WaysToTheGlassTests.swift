import MediaCore
import SyncRendering
import Testing

@testable import LocalOutput

@Suite struct WaysToTheGlassTests {
    @Test func withoutAGraphicsProcessorWindowMemoryIsWritten() {
        #expect(Screen.ways(.automatic, hasProcessor: false) == [.surface])
        #expect(Screen.ways(.surface, hasProcessor: true) == [.surface])
    }

    @Test func aGraphicsProcessorDrawsByLibplaceboElseBySDLElseNotAtAll() {
        #expect(Screen.ways(.automatic, hasProcessor: true) == [.placebo, .texture, .surface])
        #expect(Screen.ways(.placebo, hasProcessor: true) == [.placebo, .texture, .surface])
    }

    @Test func whereWindowsHaveNoMemorySDLsRendererDraws() {
        #expect(Screen.ways(.automatic, hasProcessor: false, hasMemory: false) == [.texture])
        #expect(Screen.ways(.automatic, hasProcessor: true, hasMemory: false) == [.placebo, .texture])
        #expect(Screen.ways(.surface, hasProcessor: false, hasMemory: false) == [.texture])
        #expect(Screen.ways(.placebo, hasProcessor: false, hasMemory: false) == [.placebo, .texture])
    }

    @Test func whoAsksForLibplaceboGetsItFromAnySoftwareRendererAndElseWindowMemory() {
        #expect(Screen.ways(.placebo, hasProcessor: false) == [.placebo, .surface])
    }
}
