import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@testable import MediaCodecs

/// HDR films, from the file to the frame that a screen receives.
@Suite struct ToneMappedFilmTests {
    private static let colors: [[Double]] = [
        [0, 0, 0], [0.3, 0.3, 0.3], [0.58, 0.58, 0.58], [0.75, 0.75, 0.75], [0.5, 0.2, 0.2], [0.2, 0.5, 0.2],
        [0.2, 0.2, 0.5], [0.45, 0.4, 0.3],
    ]
    /// Kept, so that not each decoder fills a table.
    private static let tables = [16, 18].compactMap {
        ToneMapping(ColorDescription(primaries: 9, transfer: $0, matrix: 9), bitDepth: 10, peak: nil)
            .map(ToneTable.table)
    }
    private static let patch = 16
    private static let height = 33

    /// Creates adjacent patches, encoded here; ffmpeg only muxes them.
    private func film(_ format: String, hlg: Bool, shift: Int, columns: Int = 2, rows: Int = 2) throws -> String {
        // An odd width, so that the last column has its own chroma sample.
        let width = Self.colors.count * Self.patch - 1
        let codes = Self.colors.map(ToneReference.codes)
        var bytes: [UInt8] = []
        func add(_ value: Int) {
            let value = shift >= 0 ? value << shift : value >> -shift
            bytes.append(UInt8(truncatingIfNeeded: value))
            if shift >= 0 { bytes.append(UInt8(truncatingIfNeeded: value >> 8)) }
        }
        for _ in 0..<Self.height { for x in 0..<width { add(codes[x / Self.patch].luma) } }
        for plane in [codes.map(\.blue), codes.map(\.red)] {
            for _ in 0..<(Self.height + rows - 1) / rows {
                for x in 0..<(width + columns - 1) / columns { add(plane[x * columns / Self.patch]) }
            }
        }
        let raw = try TestClips.make("tones.raw", of: bytes)
        let tags = "setparams=range=tv:color_primaries=bt2020:colorspace=bt2020nc:color_trc="
        return try TestClips.make(
            "tones.mkv",
            ["-f", "rawvideo", "-pix_fmt", format, "-s", "\(width)x\(Self.height)", "-i", raw]
                + TestClips.arguments("-c:v ffv1 -vf \(tags)\(hlg ? "arib-std-b67" : "smpte2084")"))
    }

    private func pictures(_ path: String, toneMapping: ToneMappingSwitch = ToneMappingSwitch()) throws -> [SampleBuffer]
    {
        #expect(Self.tables.count == 2)
        let film = try MediaFile.open(path)
        let source = try film.reader(for: try #require(film.summary.track(.video)))
        let decoder = try FilmVideoDecoder(
            format: try #require(source.track.videoFormat), toneMapping: toneMapping)
        var all: [SampleBuffer] = []
        while let buffer = try source.read() {
            try decoder.send(buffer)
            while let picture = decoder.receive() { all.append(picture) }
        }
        decoder.finish()
        while let picture = decoder.receive() { all.append(picture) }
        return all
    }

    /// Returns luma and both colour differences at a position.
    private func numbers(_ picture: any VideoFrame, x: Int, y: Int) -> [Double] {
        picture.withPlanes { planes in
            [
                Double(planes.bases.0![y * planes.strides.0 + x]),
                Double(planes.bases.1![y / 2 * planes.strides.1 + x / 2]),
                Double(planes.bases.2![y / 2 * planes.strides.2 + x / 2]),
            ]
        }
    }

    @Test func decodersOfOneMappingShareATable() {
        for table in Self.tables { #expect(ToneTable.table(of: table.mapping) === table) }
    }

    /// Each arrangement of the planes, and each of the two curves with two depths.
    @Test(
        arguments: zip(
            [
                ("yuv420p10le", 0, 2, 2), ("yuv420p10le", 0, 2, 2), ("yuv420p12le", 2, 2, 2), ("yuv420p", -2, 2, 2),
                ("yuv422p10le", 0, 2, 1), ("yuv444p10le", 0, 1, 1),
            ], [false, true, true, false, true, false]))
    func anHDRFilmIsShownInTheColoursOfTheScreen(
        _ kind: (format: String, shift: Int, columns: Int, rows: Int), hlg: Bool
    ) throws {
        let path = try film(kind.format, hlg: hlg, shift: kind.shift, columns: kind.columns, rows: kind.rows)
        let picture = try #require(try pictures(path).first?.videoFrame)
        #expect(picture.pixelFormat == .yuv420p)
        #expect(picture.color == ColorDescription(primaries: 1, transfer: 1, matrix: 1))
        #expect(picture.size == PixelSize(width: Self.colors.count * Self.patch - 1, height: Self.height))
        for (index, color) in Self.colors.enumerated() {
            var code = ToneReference.codes(color)
            if kind.shift < 0 { code = (code.luma & ~3, code.blue & ~3, code.red & ~3) }
            let wanted = ToneReference(isHLG: hlg).shown(luma: code.luma, blue: code.blue, red: code.red)
            let last = index == Self.colors.count - 1
            for (x, y) in [(index * Self.patch + 8, 16)] + (last ? [(picture.size.width - 1, 32)] : []) {
                let found = numbers(picture, x: x, y: y)
                // One step of dithering and one of the table.
                for (one, other) in zip(found, wanted) { #expect(abs(one - other) < 2, "\(color) at \(x),\(y)") }
            }
        }
    }

    @Test func aFilmThatIsNotHDRIsHandedOnAsItWasDecoded() throws {
        let path = try TestClips.make(
            "deep.mkv",
            TestClips.arguments(
                "-f lavfi -i testsrc2=s=64x36:r=25:d=0.2 -vf setparams=color_trc=bt709 "
                    + "-c:v ffv1 -pix_fmt yuv420p10le"))
        for buffer in try pictures(path) {
            #expect(buffer.videoFrame?.pixelFormat == .other)
            #expect(buffer.videoFrame?.bitDepth == 10)
        }
    }

    @Test func aScreenThatMapsTonesItselfGetsAnHDRFilmAsItIsCodedAndAScreenshotStillLooksRight() throws {
        let path = try film("yuv420p10le", hlg: false, shift: 0)
        let isDoneByScreen = ToneMappingSwitch()
        isDoneByScreen.isDoneByScreen = true
        let coded = try #require(try pictures(path, toneMapping: isDoneByScreen).first?.videoFrame)
        let mapped = try #require(try pictures(path).first?.videoFrame)
        #expect(coded.color.transfer == 16 && coded.bitDepth == 10 && coded.planeLayout?.depth == 10)
        #expect(mapped.color.transfer == 1)
        func shown(_ picture: any VideoFrame) -> [UInt8] {
            var pixels = [UInt8](repeating: 0, count: picture.size.width * picture.size.height * 4)
            let converter = SoftwareFrameConverter()
            #expect(converter.mapsTones(of: picture) == picture.color.isHighDynamicRange)
            let isDone = pixels.withUnsafeMutableBytes {
                converter.convert(
                    picture,
                    to: PixelTarget(base: $0.baseAddress!, stride: picture.size.width * 4, size: picture.size))
            }
            #expect(isDone)
            return pixels
        }
        #expect(shown(coded) == shown(mapped))
    }

    @Test func timesAndLengthsStay() throws {
        let arguments = TestClips.arguments(
            "-f lavfi -i testsrc2=s=64x36:r=25:d=0.4 -vf setparams=color_trc=smpte2084 -c:v ffv1 -pix_fmt yuv420p10le"
        )
        let found = try pictures(try TestClips.make("moments.mkv", arguments))
        #expect(found.count == 10)
        for (index, buffer) in found.enumerated() {
            #expect(abs(try #require(buffer.presentationTime).seconds - Double(index) / 25) < 0.001)
            #expect(abs(buffer.duration.seconds - 0.04) < 0.001)
        }
    }

    /// A film mastered for a display of 600 cd/m² loses less brightness than one for 4000.
    @Test func theBrightestWhiteThatAFilmStatesIsTheScreensWhite() throws {
        func brightness(_ maxCLL: Int) throws -> Double {
            let path = try TestClips.make(
                "peak.mkv",
                TestClips.arguments("-f lavfi -i color=c=0x808080:s=64x64:r=25:d=0.2 -pix_fmt yuv420p10le -c:v libx265")
                    + [
                        "-x265-params",
                        "log-level=none:hdr10=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited"
                            + ":max-cll=\(maxCLL),400",
                    ])
            return numbers(try #require(try pictures(path).first?.videoFrame), x: 32, y: 32)[0]
        }
        let (dim, bright) = (try brightness(4000), try brightness(300))
        #expect(bright > dim + 5)
    }
}
