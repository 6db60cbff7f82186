import MediaCore

@testable import SyncRendering
@testable import TalkieTestKit

/// Items whose video frames also encode item and frame number. The address is "item/frames/rate/pictures[/word…]".
///
/// - frames: audio frames or "none".
/// - rate: video frames per second, such as "24000:1001".
/// - words: "stated" (the container states the duration of the video), "once" (the input cannot be opened twice),
///   "late" (video starts a second after audio), "torn20" (the video ends after that many frames), and "cut20" (the
///   file was truncated there after its audio was read), "grows" (frames from 10 on have twice the stated size).
///
/// "item/frames/cover" has a cover image, "item/none/picture" one image that is shown for two seconds; "broken" after
/// it has no decodable image.
final class NumberedFilm: MediaSource {
    let summary: MediaSummary
    let item: Int
    let frame: MediaTime
    let count: Int64
    let first: MediaTime
    /// Frames that can be read.
    let present: Int64
    let isTruncated: Bool
    private let sound: NumberedSound?

    static let audioID = 0
    static let videoID = 1
    /// Frame numbers of one item are below this.
    static let spread = 10_000

    init(_ address: String, rate: Int) throws(MediaError) {
        let words = address.split(separator: "/").map(String.init)
        guard words.count > 2, let item = Int(words[0]) else {
            throw MediaError(.cannotOpen, "there is no '\(address)'")
        }
        self.item = item
        sound = words[1] == "none" ? nil : try NumberedSound("\(words[0])/\(words[1])", rate: rate)
        let isPicture = words[2] == "picture"
        let isCover = words[2] == "cover" || isPicture
        let parts = words[2].split(separator: ":").compactMap { Int32($0) }
        frame = isCover ? MediaTime(value: 1, timescale: 25) : MediaTime(value: Int64(parts[1]), timescale: parts[0])
        count = isCover ? 1 : Int64(words[3]) ?? 0
        let cut = words.first { $0.hasPrefix("cut") }.flatMap { Int64($0.dropFirst(3)) }
        isTruncated = cut != nil
        present = cut ?? words.first { $0.hasPrefix("torn") }.flatMap { Int64($0.dropFirst(4)) } ?? count
        first = words.contains("late") ? MediaTime(value: 1, timescale: 1) : .zero
        let kind = words.contains("broken") ? "nothing" : words.contains("grows") ? "grows" : "numbers"
        let format = VideoFormat(
            parameters: CodecParameters(codec: "\(kind) \(item) \(frame.value) \(frame.timescale)"),
            size: PixelSize(width: 16, height: 16))
        var video = Track(
            id: Self.videoID, number: 1, format: .video(format), isCoverArt: isCover && !isPicture, start: first,
            duration: isPicture ? MediaTime(value: 2, timescale: 1) : words.contains("stated") ? frame * count : nil)
        video.isStillImage = isPicture
        var tracks = [video]
        if let sound { tracks.append(sound.track) }
        summary = MediaSummary(
            container: "numbers", tracks: tracks, duration: first + frame * count,
            sharesReader: words.contains("once"))
    }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        if track.kind == .audio, let sound { return try sound.source(for: track) }
        return NumberedPictures(self, track)
    }
}

/// One packet per frame; every twelfth is a keyframe.
///
/// `@unchecked Sendable`: one thread of a test uses it.
final class NumberedPictures: SampleSource, @unchecked Sendable {
    let track: Track
    private let film: NumberedFilm
    private var next: Int64 = 0

    init(_ film: NumberedFilm, _ track: Track) { (self.film, self.track) = (film, track) }

    func read() throws(MediaError) -> SampleBuffer? {
        if film.isTruncated, next >= film.present { throw MediaError(.truncated, "the file is incomplete") }
        guard next < film.present, let format = track.videoFormat else { return nil }
        defer { next += 1 }
        let time = film.first + film.frame * next
        let batch = PacketBatch(reservingBytes: 256, packets: 1)
        batch.append(
            UnsafeRawBufferPointer(start: nil, count: 0),
            as: PacketBatch.Packet(presentationTime: time, duration: film.frame))
        return SampleBuffer(payload: .encodedVideo(format, batch), presentationTime: time, duration: film.frame)
    }

    func seek(to time: MediaTime, mode: SeekMode) -> MediaTime? {
        next = max(0, Int64((time - film.first).seconds / film.frame.seconds + 1e-9)) / 12 * 12
        return nil
    }

    func cancel() {}
}

/// Creates frames from the packets' timestamps.
final class NumberedPictureDecoder: VideoFrameDecoder {
    let item: Int
    private let frame: MediaTime
    private let givesNothing: Bool
    private let grows: Bool
    /// The number of frames that it holds for reordering until it is finished.
    private var delay: Int
    private var waiting: [SampleBuffer] = []
    private var discardsBefore: MediaTime?
    var skipPolicy = SkipPolicy.full
    let decodeErrorCount = 0

    init(_ format: VideoFormat, delay: Int = 0) throws(MediaError) {
        self.delay = delay
        let words = format.parameters.codec.split(separator: " ").map(String.init)
        guard words.count == 4, let item = Int(words[1]), let value = Int64(words[2]), let scale = Int32(words[3])
        else { throw MediaError(.unsupported, "there is no decoder for \(format.parameters.codec)") }
        (self.item, frame) = (item, MediaTime(value: value, timescale: scale))
        (givesNothing, grows) = (words[0] == "nothing", words[0] == "grows")
    }

    func send(_ buffer: SampleBuffer) {
        guard let time = buffer.presentationTime, !givesNothing else { return }
        if let limit = discardsBefore, time + frame <= limit { return }
        let number = Int((time.seconds / frame.seconds).rounded())
        let side = grows && number >= 10 ? 32 : 16
        let picture = NumberedFrame(
            item * NumberedFilm.spread + number, size: PixelSize(width: side, height: side))
        waiting.append(SampleBuffer(payload: .videoFrame(picture), presentationTime: time, duration: frame))
    }
    func finish() { delay = 0 }
    func receive() -> SampleBuffer? { waiting.count <= delay ? nil : waiting.removeFirst() }
    func flush() {
        waiting.removeAll()
        discardsBefore = nil
    }
    func dropFrames(before time: MediaTime) { discardsBefore = time }
}
