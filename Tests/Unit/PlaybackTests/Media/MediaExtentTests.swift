import Glibc
import MediaCodecs
import MediaCore
import SyncRendering
import Testing

@testable import Playback
@testable import TalkieTestKit

/// Gapless boundaries with real files and decoders.
@Suite struct MediaExtentTests {
    /// Creates two seconds of a tone with a whole number of periods, so that two of them join to one tone.
    private static func tone(_ name: String, _ codec: String, rate: Int) throws -> String {
        try TestClips.make(
            name,
            ["-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*441*t)':s=\(rate):d=2,aformat=channel_layouts=stereo"]
                + TestClips.arguments(codec))
    }

    /// Selected by the container; each is gapless by specification if its encoder stated what to trim.
    static let files = [
        ("a.m4a", "-c:a aac -b:a 192k", 44100), ("b.mp3", "-c:a libmp3lame -b:a 192k", 48000),
        ("c.m4a", "-c:a alac", 48000), ("d.flac", "-c:a flac", 44100), ("e.opus", "-c:a libopus -b:a 128k", 48000),
        ("f.wav", "-c:a pcm_s16le", 44100), ("g.mp3", "-c:a libmp3lame -b:a 128k", 44100),
        ("h.ogg", "-c:a libvorbis -q:a 6", 44100),
    ]

    private func decode(_ path: String) throws -> [Float] {
        let film = Player.Components.film(audioOutput: nil)
        let media = try film.open(path, OpenCancellation())
        let track = try #require(media.summary.track(.audio))
        let source = try media.source(for: track)
        let decoded = try DecodedAudioSource(source, as: PCMFormat(sampleRate: 48000, layout: .stereo))
        var samples: [Float] = []
        while let buffer = try decoded.read() {
            guard case .pcm(let block) = buffer.payload else { continue }
            // A container with timestamps in milliseconds may start before zero.
            block.dropFirst(block.frames(before: .zero))
            // Each block at its position: a gap is silence, no sample is repeated.
            let place = Int(block.start.rescaled(to: 48000))
            #expect(place >= samples.count)
            samples += [Float](repeating: 0, count: max(0, place - samples.count))
            for index in 0..<block.frames { samples.append(block.samples[index * 2]) }
        }
        return samples
    }

    /// Returns how many samples a tone is late, by its phase in the middle of the file.
    private func shift(_ samples: [Float]) -> Double {
        var (sine, cosine) = (0.0, 0.0)
        for index in 24_000..<72_000 {
            let angle = 2 * Double.pi * 441 * Double(index) / 48000
            sine += Double(samples[index]) * sin(angle)
            cosine += Double(samples[index]) * cos(angle)
        }
        return -atan2(cosine, sine) / (2 * .pi * 441) * 48000
    }

    @Test(arguments: Array(files.indices)) func anItemHasTheDurationOfItsAudioAndItsPlace(index: Int) throws {
        let (name, codec, rate) = Self.files[index]
        let samples = try decode(Self.tone(name, codec, rate: rate))
        let shift = shift(samples)
        print("item \(name) \(rate): \(samples.count - 96_000) frames too many, \(shift) frames late")
        #expect(samples.count == 96_000)
        // Opus shifts the phase slightly.
        #expect(abs(shift) < 0.2)
    }

    @Test func whatIsNotThereIsSaid() throws {
        #expect(throws: MediaError.self) { try decode("/nowhere/at/all.mp3") }
    }

    /// Containers that state the duration of their video, and those that do not.
    @Test(arguments: ["mp4", "mov", "mkv", "webm", "ts", "avi", "mpg"])
    func anItemLastsUntilItsLastPictureEnds(ending: String) throws {
        let codecs: [String: String] = [
            "webm": "-c:v libvpx -c:a libopus", "mpg": "-c:v mpeg2video -c:a mp2", "avi": "-c:v mpeg4 -c:a libmp3lame",
        ]
        let film = try TestClips.make(
            "longer.\(ending)",
            TestClips.arguments(
                "-f lavfi -i testsrc=s=160x120:r=25:d=2 -f lavfi -i sine=r=48000:d=1.5 "
                    + (codecs[ending] ?? "-c:v libx264 -bf 2 -c:a aac")))
        let media = try Player.Components.film(audioOutput: nil).open(film, OpenCancellation())
        let track = try #require(media.summary.track(.video))
        let format = try #require(track.videoFormat)
        let reader = VideoReader(
            film: media, source: try media.source(for: track), decoder: try VideoDecoder(format: format))
        var (count, end) = (0, MediaTime.zero)
        while let frame = try reader.nextFrame() {
            count += 1
            end = max(end, frame.end ?? .zero)
        }
        let found = try #require(VideoEndFinder.find(in: media, track, near: nil))
        print("item \(ending): \(count) pictures to \(end), found \((found - end).seconds * 48000) frames later")
        #expect(count == 50)
        #expect(abs((found - end).seconds * 48000) <= 1)
        #expect(try decode(film).count < 48000 * 7 / 4)
    }

    // MARK: Ends determined in advance

    /// Returns the end of the audio when it is read completely.
    private func readToItsEnd(_ path: String) throws -> MediaTime {
        let media = try Player.Components.film(audioOutput: nil).open(path, OpenCancellation())
        let source = try media.source(for: try #require(media.summary.track(.audio)))
        var end = MediaTime.zero
        while let buffer = try source.read() {
            if buffer.flags.contains(.decodeOnly) { continue }
            end = max(end, (buffer.presentationTime ?? end) + buffer.audioLength)
        }
        return end
    }

    @Test(arguments: Array(files.indices)) func whereSoundEndsIsFoundInItsLastPackets(index: Int) throws {
        let (name, codec, rate) = Self.files[index]
        // So long that most of it is not read.
        let path = try TestClips.make(
            "long-\(name)",
            ["-f", "lavfi", "-i", "sine=r=\(rate):d=61.3,aformat=channel_layouts=stereo"] + TestClips.arguments(codec))
        let media = try Player.Components.film(audioOutput: nil).open(path, OpenCancellation())
        let track = try #require(media.summary.track(.audio))
        let found = try #require(try AudioEndFinder.find(in: media, track))
        let read = try readToItsEnd(path)
        print("item \(name): sound to \(read), found \((found - read).seconds * 48000) frames later")
        // Matroska rounds to milliseconds, again for every batch; a resampling correction compensates.
        #expect(abs((found - read).seconds) < 0.0015)
    }

    @Test func anExtentThatCannotBeReadSaysWhy() {
        let parts = Player.Components(
            open: { (_, _) throws(MediaError) in UnreadableSound() }, codecs: SyntheticCodecs(),
            makeDecoder: { (_) throws(MediaError) in throw MediaError(.unsupported, "there are no pictures") },
            audioOutput: TapeOutput())
        let error = #expect(throws: MediaError.self) {
            try parts.extent(of: "film", PlayerOptions(), OpenCancellation())
        }
        #expect(error?.code == .readFailed && error?.message == "the disk is gone")
    }

    @Test(arguments: ["mp4", "mkv", "ts"]) func anItemsExtentIsThatOfTheLongerOfItsTracks(ending: String) throws {
        var parts = Player.Components.film(audioOutput: TapeOutput(desiredDepth: .seconds(1)))
        let film = try TestClips.make(
            "extent.\(ending)",
            TestClips.arguments(
                "-f lavfi -i testsrc=s=160x120:r=25:d=30 -f lavfi -i sine=r=48000:d=30.5 -c:v libx264 -bf 2 -c:a aac"))
        let extent = try parts.extent(of: film, PlayerOptions(), OpenCancellation())
        let read = try readToItsEnd(film)
        print("item \(ending): extent to \(extent.end.seconds), sound read to \(read.seconds)")
        #expect(extent.start == .zero && abs((extent.end - read).seconds) < 0.0015)
        parts.audioOutput = nil
        let media = try parts.open(film, OpenCancellation())
        let picture = VideoEndFinder.find(in: media, try #require(media.summary.track(.video)), near: nil)
        let silent = try parts.extent(of: film, PlayerOptions(), OpenCancellation())
        #expect(silent.end == picture)
        #expect(throws: MediaError.self) { try parts.extent(of: "/nowhere.mp4", PlayerOptions(), OpenCancellation()) }
    }

    @Test func aFilmWithoutSoundLastsAsLongAsItsPictures() throws {
        let film = try TestClips.make(
            "silent.mp4", TestClips.arguments("-f lavfi -i color=c=black:s=64x64:r=25:d=1 -c:v mpeg4"))
        let media = try Player.Components.film(audioOutput: nil).open(film, OpenCancellation())
        #expect(media.summary.track(.audio) == nil)
        let track = try #require(media.summary.track(.video))
        #expect(VideoEndFinder.find(in: media, track, near: nil) == MediaTime(value: 1, timescale: 1))
    }

    @Test func thePictureOfARecordIsShownAndDoesNotLengthenIt() throws {
        let cover = try TestClips.make(
            "cover.png", TestClips.arguments("-f lavfi -i color=c=red:s=64x64 -frames:v 1 -c:v png"))
        let song = try TestClips.make(
            "song.mp3",
            TestClips.arguments("-f lavfi -i sine=r=48000:d=1 -i") + [cover]
                + TestClips.arguments("-map 0 -map 1 -c:a libmp3lame -c:v copy -disposition:v attached_pic"))
        #expect(try decode(song).count == 48000)
        let media = try Player.Components.film(audioOutput: nil).open(song, OpenCancellation())
        let track = try #require(media.summary.tracks.first { $0.kind == .video })
        #expect(track.isCoverArt)
        let reader = VideoReader(
            film: media, source: try media.source(for: track),
            decoder: try VideoDecoder(format: try #require(track.videoFormat)))
        #expect(try reader.nextFrame(within: 100)?.videoFrame?.size == PixelSize(width: 64, height: 64))
        #expect(try reader.nextFrame(within: 100) == nil)
        // A seek shows it again.
        try reader.seek(to: MediaTime(value: 1, timescale: 2), aim: .exact)
        #expect(try reader.nextFrame(within: 100)?.videoFrame?.size == PixelSize(width: 64, height: 64))
        let whole = PlaybackList.ScheduledItem(
            serial: 1, listPosition: PlaylistPosition(item: QueueItem(song)), media: PrefetchedMedia(media),
            audioTrack: media.summary.track(.audio), videoTrack: track)
        #expect(whole.videoEnd == .none, "it does not lengthen the recording")
    }
}

/// A film with audio only, on an inaccessible disk.
private final class UnreadableSound: MediaSource {
    let summary: MediaSummary

    init() {
        var summary = SyntheticFilm(duration: MediaTime(value: 4, timescale: 1)).summary
        summary.tracks.removeAll { $0.kind != .audio }
        self.summary = summary
    }

    func source(for track: Track) throws(MediaError) -> any SampleSource {
        throw MediaError(.readFailed, "the disk is gone")
    }
}
