import MediaCore
import SyncRendering
import Testing

@testable import TalkieApp

@Suite struct PictureViewTests {
    @Test func mpvsWordsForAShapeAreUnderstood() throws {
        #expect(try VideoGeometry.Aspect(parsing: "16:9") == .ratio(16.0 / 9))
        #expect(try VideoGeometry.Aspect(parsing: "2.35:1") == .ratio(2.35))
        #expect(try VideoGeometry.Aspect(parsing: "1.5") == .ratio(1.5))
        #expect(try VideoGeometry.Aspect(parsing: "-1") == .film)
        #expect(try VideoGeometry.Aspect(parsing: "no") == .squarePixels)
        #expect(try VideoGeometry.Aspect(parsing: "0") == .squarePixels)
        for text in ["", ":", "16:", ":9", "16:0", "1:2:3", "wide", "-2", "1000", "0:1", "nan", "inf"] {
            #expect(throws: ValueError.self) { try VideoGeometry.Aspect(parsing: text) }
        }
    }

    @Test func numbersOutsideMpvsRangesAreRefused() throws {
        #expect(try VideoGeometry.zoom(parsing: "-0.5") == -0.5)
        #expect(try VideoGeometry.pan(parsing: "-3") == -3)
        #expect(try VideoGeometry.panscan(parsing: "1") == 1)
        #expect(try VideoGeometry.rotation(parsing: "270") == 270)
        #expect(try VideoGeometry.rotation(parsing: "no") == -1)
        #expect(throws: ValueError.self) { try VideoGeometry.zoom(parsing: "20.5") }
        #expect(throws: ValueError.self) { try VideoGeometry.pan(parsing: "3.1") }
        #expect(throws: ValueError.self) { try VideoGeometry.panscan(parsing: "-0.1") }
        #expect(throws: ValueError.self) { try VideoGeometry.rotation(parsing: "45") }
        #expect(throws: ValueError.self) { try VideoGeometry.rotation(parsing: "-90") }
    }

    @Test func theNotationOfAShapeIsParsedAsThatShape() throws {
        for text in ["16:9", "4:3", "2.35:1", "-1", "no", "1.5", "1.2"] {
            #expect(try VideoGeometry.Aspect(parsing: text).notation == text)
        }
    }
}
