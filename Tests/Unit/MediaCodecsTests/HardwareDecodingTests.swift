import CFFmpeg
import MediaCore
import MediaFiles
import SyncRendering
import TalkieTestKit
import Testing

@testable import MediaCodecs

/// Hardware decoding, and the fallback if the device fails.
@Suite struct HardwareDecodingTests {
    /// Creates three seconds in groups of half a second, with B-frames.
    private func film() throws -> String {
        try TestClips.make(
            "groups.mkv",
            TestClips.arguments(
                "-f lavfi -i testsrc2=s=160x90:r=25:d=3 -c:v libx264 -g 12 -bf 3 -x264-params log-level=none"))
    }

    /// Identifies a frame.
    private struct Seen: Equatable {
        var start: MediaTime?
        var duration: MediaTime
        var sum: Int
    }

    private func pictures(
        _ path: String, _ device: (any HardwareAcceleration)?, onFrame: (String?) -> Void = { _ in }
    ) throws -> [Seen] {
        let source = try MediaFile.open(path)
        let reader = try source.reader(for: try #require(source.summary.track(.video)))
        let decoder = try VideoDecoder(
            format: try #require(reader.track.videoFormat), threads: 1, acceleration: device)
        var all: [Seen] = []
        func receiveFrames() {
            while let buffer = decoder.receive() {
                guard let picture = buffer.videoFrame else { continue }
                onFrame(decoder.atWork)
                let sum = picture.withPlanes { planes in
                    var hasher = Hasher()
                    for y in 0..<picture.size.height {
                        hasher.combine(
                            bytes: UnsafeRawBufferPointer(
                                start: planes.bases.0! + y * planes.strides.0, count: picture.size.width))
                    }
                    return hasher.finalize()
                }
                all.append(Seen(start: buffer.presentationTime, duration: buffer.duration, sum: sum))
            }
        }
        while let buffer = try reader.read() {
            try decoder.send(buffer)
            receiveFrames()
        }
        decoder.finish()
        receiveFrames()
        return all
    }

    @Test func everyPictureIsBroughtOutOfTheDevicesMemory() throws {
        let device = ScriptedDevice(fails: nil)
        let path = try film()
        #expect(try pictures(path, device) == pictures(path, nil))
        #expect(device.downloads == 75)
    }

    /// At the first frame, in the middle of a group, at its border, and while the decoder is drained.
    @Test(arguments: [0, 1, 11, 12, 13, 30, 72, 73, 74])
    func whenTheDeviceFailsEachPictureIsStillShownOnce(at picture: Int) throws {
        let device = ScriptedDevice(fails: picture)
        let path = try film()
        #expect(try pictures(path, device) == pictures(path, nil))
        // The device is not used again.
        #expect(device.downloads == picture + 1)
    }

    @Test func itSaysWhoDecodedTheLatestPicture() throws {
        let path = try film()
        let cases: [(ScriptedDevice?, String, String)] = [
            (nil, "h264 (software)", "h264 (software)"),
            (ScriptedDevice(fails: nil), "h264 (scripted)", "h264 (scripted)"),
            (ScriptedDevice(fails: 30), "h264 (scripted)", "h264 (software)"),
            // A device that libavcodec did not select: its frames are in system memory.
            (ScriptedDevice(fails: nil, decodes: AV_PIX_FMT_VAAPI), "h264 (software)", "h264 (software)"),
        ]
        for (device, first, last) in cases {
            var names: [String] = []
            _ = try pictures(path, device) { names.append($0 ?? "none") }
            #expect(names.first == first && names.last == last)
        }
        let report = DecoderReport()
        #expect(report.latest == nil)
        let source = try MediaFile.open(path)
        let reader = try source.reader(for: try #require(source.summary.track(.video)))
        let decoder = try FilmVideoDecoder(format: try #require(reader.track.videoFormat), report: report)
        while report.latest == nil, let buffer = try reader.read() {
            try decoder.send(buffer)
            _ = decoder.receive()
        }
        #expect(report.latest == "h264 (software)")
    }

    @Test func aDeviceThatIsNotThereLeavesItToThisProcessor() throws {
        let path = try film()
        #expect(try pictures(path, VideoAcceleration(nodes: ["/nonexistent/renderD128"])) == pictures(path, nil))
        #expect(try pictures(path, VideoAcceleration(nodes: ["/dev/null"])) == pictures(path, nil))
        #expect(VideoAcceleration.chosen(by: .no) == nil)
        #expect((VideoAcceleration.chosen(by: .auto) == nil) == VideoAcceleration.renderNodes.isEmpty)
    }

    @Test func aCodecThatNoDeviceHasIsLeftToThisProcessor() throws {
        let path = try TestClips.make(
            "own.mkv", TestClips.arguments("-f lavfi -i testsrc2=s=64x36:r=25:d=0.2 -c:v ffv1 -pix_fmt yuv420p"))
        #expect(try pictures(path, VideoAcceleration()).count == 5)
    }

    /// The device decodes without the track's extradata, which is damaged.
    @Test func whenNoDecoderCanTakeOverSendingFailsAndNothingIsDecoded() throws {
        let format = VideoFormat(
            parameters: CodecParameters(codec: "ffv1", configuration: [UInt8](repeating: 0xFF, count: 8)),
            size: PixelSize(width: 64, height: 36))
        #expect(throws: MediaError.self) { try VideoDecoder(format: format, threads: 1) }
        let decoder = try VideoDecoder(
            format: format, threads: 1, acceleration: ScriptedDevice(fails: nil, dropsDescription: true))
        let batch = PacketBatch()
        [UInt8](repeating: 0xFF, count: 100).withUnsafeBytes {
            batch.append($0, as: .init(presentationTime: .zero, duration: .zero))
        }
        let packet = SampleBuffer(payload: .encodedVideo(format, batch), presentationTime: .zero, flags: .sync)
        for _ in 0..<3 {
            let error = #expect(throws: MediaError.self) { try decoder.send(packet) }
            #expect(error?.code == .unsupported && decoder.failure == error)
            #expect(decoder.receive() == nil)
        }
        decoder.finish()
        #expect(decoder.receive() == nil)
    }

    /// The replay buffer is bounded; a film without keyframes has a single group.
    @Test func whatIsKeptForThatIsBounded() throws {
        var replay = HardwareReplay()
        let format = VideoFormat(
            parameters: CodecParameters(codec: "h264"), size: PixelSize(width: 16, height: 16))
        func append(_ bytes: Int, isSync: Bool) {
            let batch = PacketBatch()
            [UInt8](repeating: 0, count: bytes).withUnsafeBytes {
                batch.append($0, as: .init(presentationTime: nil, duration: .zero))
            }
            replay.append(
                SampleBuffer(
                    payload: .encodedVideo(format, batch), presentationTime: nil, flags: isSync ? .sync : []))
        }
        append(100, isSync: true)
        append(100, isSync: false)
        append(100, isSync: true)
        #expect(replay.buffers.count == 3)
        append(100, isSync: true)
        #expect(replay.buffers.count == 2)
        for _ in 0..<8 { append(HardwareReplay.maxBytes / 8, isSync: false) }
        #expect(replay.buffers.isEmpty)
        append(100, isSync: true)
        #expect(replay.buffers.count == 1)
    }
}

/// libavcodec's software decoder, presented as a device.
private final class ScriptedDevice: HardwareAcceleration {
    let name = "scripted"
    let pixelFormat: AVPixelFormat
    private let fails: Int?
    private let dropsDescription: Bool
    private(set) var downloads = 0

    /// - Parameter fails: index of the first frame whose download fails; nil for none.
    init(fails: Int?, decodes format: AVPixelFormat = AV_PIX_FMT_YUV420P, dropsDescription: Bool = false) {
        (self.fails, pixelFormat, self.dropsDescription) = (fails, format, dropsDescription)
    }

    func attach(to context: UnsafeMutablePointer<AVCodecContext>) -> Bool {
        if dropsDescription {
            av_freep(&context.pointee.extradata)
            context.pointee.extradata_size = 0
        }
        return true
    }

    func download(
        _ picture: UnsafeMutablePointer<AVFrame>, to target: UnsafeMutablePointer<AVFrame>
    ) -> Int32 {
        defer { downloads += 1 }
        return downloads == fails ? -5 : av_frame_ref(target, picture)
    }
}
