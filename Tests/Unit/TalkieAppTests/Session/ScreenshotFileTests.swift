import Foundation
import MediaCodecs
import MediaCore
import TalkieTestKit
import Testing

@testable import TalkieApp

@Suite struct ScreenshotFileTests {
    let folder = TemporaryFolder()

    @Test func eachScreenshotGetsANameOfItsOwn() throws {
        folder.write("mine", to: "talkie-shot0002.png")
        let names = try (0..<3).map { _ in try ScreenshotFile.write([1, 2, 3], folder: folder.path) }
        #expect(names == ["talkie-shot0001.png", "talkie-shot0003.png", "talkie-shot0004.png"])
        #expect(folder.read("talkie-shot0002.png") == "mine")
        #expect(folder.read("talkie-shot0004.png") == "\u{1}\u{2}\u{3}")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(files) == Set(names + ["talkie-shot0002.png"]), "without temporary files")
        #expect(throws: TalkieError.self) { try ScreenshotFile.write([], folder: "/no/such/folder") }
    }

    @Test func aPictureBecomesAPNGOfItsSize() throws {
        let file = try PNGEncoder.encode(
            bgra: [UInt8](repeating: 200, count: 70 * 30 * 4), size: PixelSize(width: 70, height: 30))
        // Signature, then IHDR with width and height (ISO/IEC 15948, 5.2 and 11.2.2).
        #expect(Array(file.prefix(8)) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        #expect(Array(file[16..<24]) == [0, 0, 0, 70, 0, 0, 0, 30])
        #expect(throws: MediaError.self) { try PNGEncoder.encode(bgra: [0], size: PixelSize(width: 70, height: 30)) }
        #expect(throws: MediaError.self) { try PNGEncoder.encode(bgra: [], size: PixelSize(width: 0, height: 0)) }
    }
}
