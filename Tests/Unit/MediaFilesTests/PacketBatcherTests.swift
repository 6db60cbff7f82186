import CFFmpeg
import MediaCore
import Testing

@testable import MediaFiles

@Suite struct PacketBatcherTests {
    /// libavformat attaches a changed codec configuration to a packet (AV_PKT_DATA_NEW_EXTRADATA).
    @Test func aNewConfigurationChangesNothingElseOfTheFormat() throws {
        let context = try #require(avformat_alloc_context())
        defer { avformat_free_context(context) }
        let stream = try #require(avformat_new_stream(context, nil))
        stream.pointee.time_base = AVRational(num: 1, den: 1000)
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        let own = try #require(packet)
        try #require(av_new_packet(own, 8) == 0)
        func format(_ configuration: [UInt8]) -> VideoFormat {
            VideoFormat(
                parameters: CodecParameters(codec: "hevc", configuration: configuration),
                size: PixelSize(width: 64, height: 48), pixelAspect: Ratio(4, 3), rotation: 90,
                color: ColorDescription(primaries: 9, transfer: 16, matrix: 9), frameRate: Ratio(25, 1),
                peakLuminance: 600)
        }
        var packager = PacketBatcher(
            track: Track(id: 0, number: 1, format: .video(format([1]))), stream: stream,
            clock: TrackClock(stream: stream, origin: .zero), batch: .milliseconds(100))
        let data = try #require(av_packet_new_side_data(own, AV_PKT_DATA_NEW_EXTRADATA, 2))
        (data[0], data[1]) = (7, 8)
        packager.add(own, shift: .zero, isNewRecording: false)
        let buffer = packager.nextReady()
        guard case .encodedVideo(let found, _)? = buffer?.payload else {
            Issue.record("no video")
            return
        }
        #expect(found == format([7, 8]))
    }
}
