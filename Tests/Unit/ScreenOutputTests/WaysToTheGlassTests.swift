import MediaCore
import SyncRendering
import Testing

@testable import ScreenOutput

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

    @Test func missingFeaturesOfAPresenterAreReportedWithTheirReplacement() {
        var drawing = PictureDrawing()
        for way in [ScreenOptions.Presentation.placebo, .texture, .surface] {
            #expect(Screen.shortcomings(of: way, drawing) == nil)
        }
        (drawing.toneMapping, drawing.scaler) = (.reinhard, .lanczos)
        #expect(Screen.shortcomings(of: .placebo, drawing) == nil)
        #expect(
            Screen.shortcomings(of: .surface, drawing)
                == "tone mapping by reinhard needs libplacebo; bt.2390 is used")
        #expect(
            Screen.shortcomings(of: .texture, drawing)
                == "tone mapping by reinhard and scaling by lanczos need libplacebo; bt.2390 and bilinear are used")
        (drawing.toneMapping, drawing.scaler) = (.clip, .nearest)
        #expect(Screen.shortcomings(of: .texture, drawing) == nil)
    }

    @Test func requestedLibplaceboUsesASoftwareRendererOrElseWindowMemory() {
        #expect(Screen.ways(.placebo, hasProcessor: false) == [.placebo, .surface])
    }
}
