import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

@Suite struct ImageHeaderTests {
    private static func header(_ bytes: [UInt8]) -> ImageHeader? { bytes.withUnsafeBytes { ImageHeader($0) } }

    private static func picture(_ ending: String, _ more: String = "-frames:v 1", size: String = "70x50") throws
        -> [UInt8]
    {
        try TestClips.bytes(
            of: try TestClips.make(
                "header." + ending, ["-f", "lavfi", "-i", "testsrc=s=\(size):r=5:d=1"] + TestClips.arguments(more)))
    }

    /// Returns a JPEG with an EXIF orientation, in either byte order.
    static func turned(_ jpeg: [UInt8], _ orientation: UInt8, isLittle: Bool = true) -> [UInt8] {
        let directory: [UInt8] =
            isLittle
            ? [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0]
            : [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0]
        let body = Array("Exif\0\0".utf8) + directory
        let length = body.count + 2
        return Array(jpeg.prefix(2)) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + body
            + Array(jpeg.dropFirst(2))
    }

    @Test(arguments: [
        ("jpg", "mjpeg", "-frames:v 1"), ("png", "png", "-frames:v 1"), ("bmp", "bmp", "-frames:v 1"),
        ("tiff", "tiff", "-frames:v 1"), ("webp", "webp", "-frames:v 1"),
        ("webp", "webp", "-frames:v 1 -lossless 1"), ("gif", "gif", "-frames:v 1"),
    ])
    func aHeaderSaysKindAndSize(ending: String, codec: String, more: String) throws {
        let header = try #require(Self.header(try Self.picture(ending, more)))
        #expect(header.codec == codec && !header.isAnimated && header.rotation == 0)
        #expect(header.size == PixelSize(width: 70, height: 50))
    }

    @Test(arguments: [("gif", "-plays 0"), ("apng", "-plays 0"), ("webp", "-loop 0")])
    func severalPicturesAreSeen(ending: String, more: String) throws {
        let bytes = try Self.picture(ending, ending == "gif" ? "-loop 0" : more)
        #expect(try #require(Self.header(bytes)).isAnimated)
    }

    /// A file of 128 MB has ten million chunks, or 128 million fill bytes.
    @Test func theSearchForTheHeaderOfManyChunksEnds() throws {
        let png = try Self.picture("png")
        let empty: [UInt8] = [0, 0, 0, 0, 0x74, 0x45, 0x58, 0x74, 0, 0, 0, 0]
        let animation = [0, 0, 0, 0] + Array("acTL".utf8) + [0, 0, 0, 0]
        func file(_ chunks: Int) -> [UInt8] {
            Array(png[..<33]) + Array(repeatElement(empty, count: chunks).joined()) + animation + Array(png[33...])
        }
        #expect(try #require(Self.header(file(1000))).isAnimated)
        #expect(try #require(Self.header(file(600_000))).isAnimated == false)
        let jpeg = try Self.picture("jpg")
        func filled(_ count: Int) -> [UInt8] {
            Array(jpeg[..<2]) + Array(repeating: 0xFF, count: count) + Array(jpeg[2...])
        }
        #expect(Self.header(filled(1000)) != nil && Self.header(filled(600_000)) == nil)
    }

    @Test func exifSaysHowAPictureIsTurned() throws {
        let jpeg = try Self.picture("jpg")
        for (orientation, turn) in [(1, 0), (3, 180), (6, 90), (8, 270), (9, 0)] {
            for isLittle in [true, false] {
                let header = Self.header(Self.turned(jpeg, UInt8(orientation), isLittle: isLittle))
                #expect(header?.rotation == turn && header?.size == PixelSize(width: 70, height: 50))
            }
        }
    }

    @Test func whatIsCutOffOrNoPictureIsNoHeader() throws {
        for ending in ["jpg", "png", "bmp", "tiff", "webp", "gif"] {
            let bytes = try Self.picture(ending)
            // No truncation traps, and no stated size grows.
            for count in 0..<min(bytes.count, 400) {
                if let header = Self.header(Array(bytes.prefix(count))) { #expect(header.size.width <= 70) }
            }
        }
        #expect(Self.header(Array("BMW is no picture, nor is this text that begins like one".utf8)) == nil)
        #expect(Self.header([]) == nil)
    }
}

@Suite struct ImageFileTests {
    private let folder = TemporaryFolder()

    private func picture(_ name: String, _ more: String = "-frames:v 1") throws -> String {
        try TestClips.make(name, ["-f", "lavfi", "-i", "testsrc=s=64x36:r=5:d=1"] + TestClips.arguments(more))
    }

    @Test func aPictureIsAFilmOfOnePictureThatLastsAsLongAsItIsShown() throws {
        let file = try #require(try ImageFile.open(try picture("one.jpg"), showingFor: .seconds(3)))
        let track = try #require(file.summary.track(.video))
        #expect(track.isStillImage && !track.isCoverArt && track.duration == MediaTime(value: 3, timescale: 1))
        #expect(file.summary.duration?.seconds == 3 && file.summary.container == "mjpeg")
        let reader = try file.source(for: track)
        #expect(try reader.read()?.presentationTime == .zero)
        #expect(try reader.read() == nil)
        try reader.seek(to: MediaTime(value: 1, timescale: 1), mode: .exact)
        let again = try reader.read()
        #expect(again?.flags.contains(.discontinuity) == true && again?.duration.seconds == 3)
        reader.cancel()
        #expect(throws: MediaError.self) { try reader.read() }
    }

    @Test func aPictureThatStaysHasNoEndThatPeopleSee() throws {
        let file = try #require(try ImageFile.open(try picture("one.png"), showingFor: nil))
        #expect(file.summary.duration == nil)
        #expect(try #require(file.summary.track(.video)?.duration).seconds > 86_400)
    }

    @Test func movingPicturesAndOtherFilesAreLeftToOthers() throws {
        for path in [try picture("moves.gif", "-loop 0"), try picture("moves.mkv", "-c:v ffv1")] {
            #expect(try ImageFile.open(path, showingFor: nil) == nil)
        }
        #expect(try ImageFile.open("https://host/a.jpg", showingFor: nil) == nil)
        #expect(try ImageFile.open("-", showingFor: nil) == nil)
        #expect(try ImageFile.open(try folder.write([1, 2], to: "short.jpg"), showingFor: nil) == nil)
    }

    @Test func aPictureThatClaimsToBeGiganticIsRefusedInOneSentenceBeforeAnythingIsDecoded() throws {
        var bytes = try TestClips.bytes(of: try picture("one.png"))
        bytes.replaceSubrange(16..<24, with: [0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30])
        let path = try folder.write(bytes, to: "huge.png")
        let error = #expect(throws: MediaError.self) { try ImageFile.open(path, showingFor: nil) }
        #expect(error?.code == .limitExceeded && error?.message.contains("30000x30000") == true)
    }
}
