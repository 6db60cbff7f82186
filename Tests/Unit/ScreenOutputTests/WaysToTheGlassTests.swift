import MediaCore
import SyncRendering
import Testing

@testable import ScreenOutput

@Suite struct WaysToTheGlassTests {
    @Test func withoutAGraphicsProcessorWindowMemoryIsWritten() {
        #expect(PresenterChoice.ways(.automatic, hasProcessor: false) == [.surface])
        #expect(PresenterChoice.ways(.surface, hasProcessor: true) == [.surface])
    }

    @Test func aGraphicsProcessorDrawsByLibplaceboElseBySDLElseNotAtAll() {
        #expect(PresenterChoice.ways(.automatic, hasProcessor: true) == [.placebo, .texture, .surface])
        #expect(PresenterChoice.ways(.placebo, hasProcessor: true) == [.placebo, .texture, .surface])
    }

    @Test func whereWindowsHaveNoMemorySDLsRendererDraws() {
        #expect(PresenterChoice.ways(.automatic, hasProcessor: false, hasMemory: false) == [.texture])
        #expect(PresenterChoice.ways(.automatic, hasProcessor: true, hasMemory: false) == [.placebo, .texture])
        #expect(PresenterChoice.ways(.surface, hasProcessor: false, hasMemory: false) == [.texture])
        #expect(PresenterChoice.ways(.placebo, hasProcessor: false, hasMemory: false) == [.placebo, .texture])
    }

    @Test func missingFeaturesOfAPresenterAreReportedWithTheirReplacement() {
        var drawing = VideoRenderingOptions()
        for way in [ScreenOptions.Presentation.placebo, .texture, .surface] {
            #expect(PresenterChoice.shortcomings(of: way, drawing) == nil)
        }
        (drawing.toneMapping, drawing.scaler) = (.reinhard, .lanczos)
        #expect(PresenterChoice.shortcomings(of: .placebo, drawing) == nil)
        #expect(
            PresenterChoice.shortcomings(of: .surface, drawing)
                == "tone mapping by reinhard needs libplacebo; bt.2390 is used")
        #expect(
            PresenterChoice.shortcomings(of: .texture, drawing)
                == "tone mapping by reinhard and scaling by lanczos need libplacebo; bt.2390 and bilinear are used")
        (drawing.toneMapping, drawing.scaler) = (.clip, .nearest)
        #expect(PresenterChoice.shortcomings(of: .texture, drawing) == nil)
    }

    @Test func requestedLibplaceboUsesASoftwareRendererOrElseWindowMemory() {
        #expect(PresenterChoice.ways(.placebo, hasProcessor: false) == [.placebo, .surface])
    }
}
