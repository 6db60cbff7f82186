import MediaCore
import SyncRendering
import Testing

@testable import TalkieApp

@Suite struct PictureViewTests {
    @Test func mpvsWordsForAShapeAreUnderstood() throws {
        #expect(try PictureView.Aspect(parsing: "16:9") == .ratio(16.0 / 9))
        #expect(try PictureView.Aspect(parsing: "2.35:1") == .ratio(2.35))
        #expect(try PictureView.Aspect(parsing: "1.5") == .ratio(1.5))
        #expect(try PictureView.Aspect(parsing: "-1") == .film)
        #expect(try PictureView.Aspect(parsing: "no") == .squarePixels)
        #expect(try PictureView.Aspect(parsing: "0") == .squarePixels)
        for text in ["", ":", "16:", ":9", "16:0", "1:2:3", "wide", "-2", "1000", "0:1", "nan", "inf"] {
            #expect(throws: ValueError.self) { try PictureView.Aspect(parsing: text) }
        }
    }

    @Test func numbersOutsideMpvsRangesAreRefused() throws {
        #expect(try PictureView.zoom(parsing: "-0.5") == -0.5)
        #expect(try PictureView.pan(parsing: "-3") == -3)
        #expect(try PictureView.panscan(parsing: "1") == 1)
        #expect(try PictureView.rotation(parsing: "270") == 270)
        #expect(try PictureView.rotation(parsing: "no") == -1)
        #expect(throws: ValueError.self) { try PictureView.zoom(parsing: "20.5") }
        #expect(throws: ValueError.self) { try PictureView.pan(parsing: "3.1") }
        #expect(throws: ValueError.self) { try PictureView.panscan(parsing: "-0.1") }
        #expect(throws: ValueError.self) { try PictureView.rotation(parsing: "45") }
        #expect(throws: ValueError.self) { try PictureView.rotation(parsing: "-90") }
    }

    @Test func theAspectsKeyGoesRoundAndEndsAtTheFilmsOwn() {
        var view = PictureView()
        var seen: [PictureView.Aspect] = []
        for _ in 0..<4 {
            _ = view.apply(.nextAspect)
            seen.append(view.aspect)
        }
        #expect(seen == [.ratio(16.0 / 9), .ratio(4.0 / 3), .ratio(2.35), .film])
        view.aspect = .ratio(1.2)
        _ = view.apply(.nextAspect)
        #expect(view.aspect == .ratio(16.0 / 9))
    }

    @Test func stepsThereAndBackLeaveNothing() {
        var view = PictureView()
        for change: (PictureViewChange, PictureViewChange) in [
            (.zoom(0.1), .zoom(-0.1)), (.panX(0.1), .panX(-0.1)), (.panY(0.1), .panY(-0.1)),
            (.panscan(0.1), .panscan(-0.1)),
        ] {
            for _ in 0..<7 { _ = view.apply(change.0) }
            #expect(view != PictureView())
            for _ in 0..<7 { _ = view.apply(change.1) }
            #expect(view == PictureView())
        }
        for _ in 0..<20 { _ = view.apply(.panscan(0.1)) }
        #expect(view.panscan == 1)
        _ = view.apply(.zoom(0.3))
        _ = view.apply(.panY(0.3))
        _ = view.apply(.reset)
        #expect(view.zoom == 0 && view.panY == 0 && view.panscan == 1)
    }
}
