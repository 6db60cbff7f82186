import CFFmpeg
import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

/// Timestamp discontinuities in containers that should have none, and pauses of tracks, which are kept.
@Suite struct GapTests {
    let folder = TemporaryFolder()
    private static let day: UInt64 = 86_400_000

    /// Returns four seconds in clusters of half a second; times are in milliseconds.
    private func clip(_ codecs: String = "-c:v libx264 -g 12 -c:a aac") throws -> [UInt8] {
        try TestClips.bytes(of: TestClips.flashAndBeep("gap.mkv", "\(codecs) -cluster_time_limit 500"))
    }

    private func film(_ edit: MatroskaEdit, _ name: String = "a.mkv") throws -> MediaFile {
        try MediaFile.open(try folder.write(edit.edited(try clip()), to: name))
    }

    /// Returns the end of both tracks and the largest step of either, in seconds, and the times of beeps and flashes.
    private func walk(_ film: MediaFile) throws -> (ends: [Double], step: Double, beeps: [Double], flashes: [Double]) {
        var (ends, step) = ([Double](), 0.0)
        let readers = try film.summary.tracks.filter { $0.kind != .subtitle }.map { try film.reader(for: $0) }
        for reader in readers {
            var last: Double?
            while let buffer = try reader.read() {
                guard let time = buffer.presentationTime?.seconds else { continue }
                #expect(abs(time) < Double(InputLimit.maxSeconds) + 60)
                if let last { step = max(step, time - last) }
                last = time
            }
            ends.append(last ?? 0)
        }
        let pictures = try film.summary.track(.video).map { try FilmFrames.decode(try film.reader(for: $0)) }
        let sound = try film.summary.track(.audio).map { try FilmAudio.decode(try film.reader(for: $0)) }
        return (ends, step, sound?.beeps ?? [], pictures?.flashes.map(\.seconds) ?? [])
    }

    /// A discontinuity is at the end of the last track: up to a frame and an audio packet away from the original
    /// position.
    private func expectContinuous(_ film: MediaFile) throws {
        let seen = try walk(film)
        #expect(seen.ends.allSatisfy { $0 > 3 && $0 < 4.2 }, "\(seen.ends)")
        #expect(seen.step < 1)
        #expect(seen.flashes.count == 4 && seen.beeps.count == 4)
        for (flash, beep) in zip(seen.flashes, seen.beeps) { #expect(abs(beep - 0.05 - flash) < 0.08) }
    }

    @Test(arguments: [60_000, day, 5 * 365 * day, 9 * 365 * day] as [UInt64])
    func allThatFollowsALongGapContinuesWhereTheFilmWas(_ gap: UInt64) throws {
        try expectContinuous(try film(MatroskaEdit(timestamp: { $0 < 4 ? $1 : $1 + gap })))
    }

    @Test(arguments: [60_000, day, 9 * 365 * day] as [UInt64])
    func oneClusterThatIsLateIsPlayedInItsPlace(_ gap: UInt64) throws {
        try expectContinuous(try film(MatroskaEdit(timestamp: { $0 == 4 ? $1 + gap : $1 })))
    }

    @Test func stampsThatBeginAgainContinue() throws {
        try expectContinuous(try film(MatroskaEdit(timestamp: { $0 < 4 ? $1 + 10 * Self.day : $1 })))
    }

    /// In nanoseconds, 190 years ahead and back; and beyond the range of 64 bits.
    @Test(arguments: [6_000_000_000_000_000_000, 0x8000_0000_0000_0001, 1 << 62, .max, UInt64(Int64.max)] as [UInt64])
    func clusterTimestampsBeyondAllFilmsAreMissing(_ stamp: UInt64) throws {
        for scale: UInt64? in [nil, 1] {
            let film = try film(
                MatroskaEdit(scale: scale, timestamp: { $0 == 3 ? stamp : scale == 1 ? $1 * 1_000_000 : $1 }))
            let seen = try walk(film)
            #expect(seen.ends.allSatisfy { $0 < 10 }, "\(seen.ends)")
        }
    }

    @Test func aSeekBehindAGapLandsThere() throws {
        let film = try film(MatroskaEdit(timestamp: { $0 < 4 ? $1 : $1 + Self.day }))
        _ = try walk(film)
        let target = MediaTime(value: 3, timescale: 1)
        let pictures = try film.reader(for: try #require(film.summary.track(.video)))
        let found = try #require(try pictures.seek(to: target, mode: .exact))
        #expect(found <= target && (target - found).seconds < 2)
        let seen = try FilmFrames.decode(pictures, showingFrom: target)
        #expect(abs(try #require(seen.flashes.first).seconds - 3) < 0.15)
        try pictures.seek(to: .zero, mode: .exact)
        #expect(abs(try #require(try pictures.read()?.presentationTime).seconds) < 0.1)
    }

    /// Pauses are compensated by the media that follows them.
    @Test func pausesBetweenScenesStay() throws {
        let film = try film(MatroskaEdit(timestamp: { $1 + UInt64($0 / 3) * 8_000 }))
        let ends = try walk(film).ends
        #expect(ends.allSatisfy { $0 > 19 && $0 < 28.5 }, "\(ends)")
    }

    /// At the start of a film the frame rate is unknown. FLV timestamps are in milliseconds (Adobe's specification of
    /// it, E.4.1).
    @Test func oneWrongTimestampAmongTheFirstPicturesIsPlayedInItsPlace() throws {
        var bytes = try TestClips.bytes(
            of: TestClips.flashAndBeep("early.flv", "-c:v libx264 -g 12 -bf 0 -c:a aac -ar 44100"))
        var (tag, pictures) = (13, 0)
        while tag + 11 < bytes.count {
            // After the configuration and the first frame.
            if bytes[tag] == 9 {
                if pictures == 2 { bytes.replaceSubrange(tag + 4..<tag + 7, with: [0xFF, 0xFF, 0xFF]) }
                pictures += 1
            }
            tag += 15 + Int(bytes[tag + 1]) << 16 + Int(bytes[tag + 2]) << 8 + Int(bytes[tag + 3])
        }
        #expect(pictures > 50)
        let film = try MediaFile.open(try folder.write(bytes, to: "early.flv"))
        try expectContinuous(film)
        try expectNoClosedGap(film)
    }

    /// All video timestamps are 37 hours later than those of the audio.
    @Test func aTrackThatBeginsHoursAfterTheOthersBeginsWithThem() throws {
        var bytes = try TestClips.bytes(
            of: TestClips.flashAndBeep("early.flv", "-c:v libx264 -g 12 -bf 0 -c:a aac -ar 44100"))
        var tag = 13
        while tag + 11 < bytes.count {
            if bytes[tag] == 9 { bytes[tag + 7] = 8 }
            tag += 15 + Int(bytes[tag + 1]) << 16 + Int(bytes[tag + 2]) << 8 + Int(bytes[tag + 3])
        }
        let film = try MediaFile.open(try folder.write(bytes, to: "late.flv"))
        #expect(film.summary.tracks.allSatisfy { ($0.start ?? .zero).seconds < 0.2 })
        try expectContinuous(film)
        // As in the search for the end of the video.
        let pictures = try film.reader(for: try #require(film.summary.track(.video)))
        let target = MediaTime(value: 2, timescale: 1)
        let found = try #require(try pictures.seek(to: target, mode: .exact))
        #expect(found <= target && (target - found).seconds < 2)
    }

    /// Every timestamp after the second second is an hour later (`stts`, ISO 14496-12, 8.6.1.2).
    @Test func anMP4WhoseSampleTableHasALongGapContinuesWhereTheFilmWas() throws {
        let clip = try TestClips.flashAndBeep("gap.mkv", "-c:v libx264 -g 12 -c:a aac")
        let later = { (name: String) in "\(name)='if(gte(T,2),PTS+3600/TB,PTS)'" }
        let path = try TestClips.make(
            "gap.mp4",
            ["-i", clip, "-vf", later("setpts"), "-af", later("asetpts")]
                + TestClips.arguments("-fps_mode passthrough -c:v libx264 -g 12 -bf 0 -c:a aac"))
        let film = try MediaFile.open(path)
        #expect(try #require(film.summary.duration).seconds > 3600 && film.closedGaps == .zero)
        try expectContinuous(film)
        #expect(abs(film.closedGaps.seconds - 3600) < 1)
    }

    /// An edit list is explicit, not a wrong timestamp.
    @Test func aTrackThatAnEditListDelaysBeginsLater() throws {
        let clip = try TestClips.flashAndBeep("gap.mkv", "-c:v libx264 -g 12 -c:a aac")
        let path = try TestClips.make(
            "delayed.mp4",
            ["-i", clip, "-itsoffset", "20", "-i", clip]
                + TestClips.arguments("-map 0:v -map 1:a -c:v libx264 -g 12 -bf 0 -c:a aac"))
        let film = try MediaFile.open(path)
        let (pictures, sound) = (try #require(film.summary.track(.video)), try #require(film.summary.track(.audio)))
        #expect((pictures.start ?? .zero).seconds < 0.1 && abs((sound.start ?? .zero).seconds - 20) < 0.1)
        let seen = try walk(film)
        #expect(
            seen.ends.contains { $0 > 3 && $0 < 4.2 } && seen.ends.contains { $0 > 23 && $0 < 24.2 }, "\(seen.ends)")
    }

    /// `dwStart` in the video's header (AVI's `AVISTREAMHEADER`) is a thousand seconds.
    @Test func anAVIWhosePicturesBeginALongTimeAfterTheSoundBeginsWithBoth() throws {
        var bytes = try TestClips.bytes(
            of: TestClips.flashAndBeep("late.avi", "-c:v mpeg4 -g 12 -bf 0 -c:a libmp3lame"))
        let header = try #require(bytes.indices.dropLast(32).first { bytes[$0..<$0 + 4].elementsEqual("vids".utf8) })
        bytes.replaceSubrange(header + 28..<header + 32, with: [0xA8, 0x61, 0, 0])
        let film = try MediaFile.open(try folder.write(bytes, to: "late.avi"))
        #expect(film.summary.tracks.allSatisfy { ($0.start ?? .zero).seconds < 0.2 })
        #expect(try #require(film.summary.duration).seconds < 5)
        try expectContinuous(film)
    }

    @Test func anFLVWhoseTimestampsJumpByADayContinues() throws {
        var bytes = try TestClips.bytes(
            of: TestClips.flashAndBeep("early.flv", "-c:v libx264 -g 12 -bf 0 -c:a aac -ar 44100"))
        var tag = 13
        while tag + 11 < bytes.count {
            let time = Int(bytes[tag + 4]) << 16 | Int(bytes[tag + 5]) << 8 | Int(bytes[tag + 6])
            if bytes[tag] != 18, time >= 2000 { bytes[tag + 7] = 5 }
            tag += 15 + Int(bytes[tag + 1]) << 16 + Int(bytes[tag + 2]) << 8 + Int(bytes[tag + 3])
        }
        let film = try MediaFile.open(try folder.write(bytes, to: "gap.flv"))
        try expectContinuous(film)
        try expectNoClosedGap(film)
    }

    /// The stated duration is that of the media without the gap: if less is read, the file is truncated.
    private func expectNoClosedGap(_ film: MediaFile) throws {
        #expect(abs(try #require(film.summary.duration).seconds - 4) < 0.2 && film.closedGaps == .zero)
    }

    /// A frame's timestamp is 16,777 s; the metadata (Adobe's specification of FLV, E.5) state another duration.
    @Test(arguments: [(4, false), (16_777.2, true), (20_000, false)])
    func aWrongTimestampIsAClosedGapIfTheStatedDurationIsComputedFromIt(stated: Double, isClosed: Bool) throws {
        var bytes = try TestClips.bytes(
            of: TestClips.flashAndBeep("early.flv", "-c:v libx264 -g 12 -bf 0 -c:a aac -ar 44100"))
        let name = Array("duration".utf8)
        let place = try #require(bytes.indices.dropLast(20).first { bytes[$0..<$0 + 8].elementsEqual(name) }) + 9
        bytes.replaceSubrange(
            place..<place + 8, with: (0..<8).map { UInt8(truncatingIfNeeded: stated.bitPattern >> (56 - 8 * $0)) })
        var (tag, pictures) = (13, 0)
        while tag + 11 < bytes.count {
            if bytes[tag] == 9 { pictures += 1 }
            if bytes[tag] == 9, pictures == 60 {
                bytes.replaceSubrange(tag + 4..<tag + 7, with: [0xFF, 0xFF, 0xFF])
            }
            tag += 15 + Int(bytes[tag + 1]) << 16 + Int(bytes[tag + 2]) << 8 + Int(bytes[tag + 3])
        }
        let film = try MediaFile.open(try folder.write(bytes, to: "stated.flv"))
        #expect(abs(try #require(film.summary.duration).seconds - stated) < 1)
        try expectContinuous(film)
        #expect(isClosed ? film.closedGaps.seconds > 16_000 : film.closedGaps == .zero, "\(film.closedGaps)")
    }

    @Test func aGapBeyondTheStatedDurationIsNotPartOfIt() throws {
        func closed(stating seconds: Double) throws -> Double {
            let film = try film(MatroskaEdit(duration: seconds * 1000, timestamp: { $0 < 4 ? $1 : $1 + 100_000 }))
            try expectContinuous(film)
            return film.closedGaps.seconds
        }
        #expect(try closed(stating: 4) == 0)
        #expect(abs(try closed(stating: 104) - 100) < 1)
    }

    // MARK: Playlists

    /// Opens six seconds of video and audio with separate playlists, in MP4; `edit` modifies segments.
    private func playlists(_ edit: (_ isVideo: Bool, _ number: Int, _ bytes: inout [UInt8]) -> Void) throws -> MediaFile
    {
        let clip = try TestClips.flashAndBeep("parts.mkv", "-c:v libx264 -g 25 -bf 0 -c:a aac", seconds: 6)
        let words =
            "-map 0:v -map 0:a -c copy -f hls -hls_time 1 -hls_playlist_type vod"
            + " -hls_segment_type fmp4 -hls_fmp4_init_filename i%v.mp4 -var_stream_map v:0,agroup:s~a:0,agroup:s"
        try TestClips.make(
            "part%v.m3u8", in: folder.path,
            ["-i", clip] + TestClips.arguments(words).map { $0.replacing("~", with: " ") })
        for playlist in 0...1 {
            let text = String(decoding: try TestClips.bytes(of: folder.path("part\(playlist).m3u8")), as: UTF8.self)
            for (number, name) in text.split(separator: "\n").filter({ !$0.hasPrefix("#") }).enumerated() {
                var bytes = try TestClips.bytes(of: folder.path(String(name)))
                edit(playlist == 0, number, &bytes)
                try folder.write(bytes, to: String(name))
            }
        }
        let master = [
            "#EXTM3U", "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",NAME=\"x\",DEFAULT=YES,URI=\"part1.m3u8\"",
            "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"", "part0.m3u8", "",
        ]
        return try MediaFile.open(
            try folder.write(Array(master.joined(separator: "\n").utf8), to: "parts.m3u8"))
    }

    /// Returns the position of a field of a box of ISO 14496-12, after its name, version and flags.
    private static func place(of name: String, in bytes: [UInt8]) -> Int? {
        bytes.indices.dropLast(12).first { bytes[$0..<$0 + 4].elementsEqual(name.utf8) }.map { $0 + 8 }
    }

    private func expectSixSeconds(_ film: MediaFile) throws {
        let seen = try walk(film)
        #expect(seen.ends.allSatisfy { $0 > 5 && $0 < 7 }, "\(seen.ends)")
        #expect(seen.step < 1.5 && seen.beeps.count >= 5)
    }

    /// `tfdt` (8.8.12) of all audio is a day later than that of the video.
    @Test func aPlaylistThatBeginsHoursAfterTheOtherBeginsWithIt() throws {
        let film = try playlists { isVideo, _, bytes in
            guard !isVideo, let place = Self.place(of: "tfdt", in: bytes) else { return }
            bytes[place + 3] = 1
        }
        #expect(film.summary.tracks.allSatisfy { ($0.start ?? .zero).seconds < 0.2 })
        try expectSixSeconds(film)
    }

    /// The duration of a sample (8.8.7) is days in one segment: neither a slide show nor a pause.
    @Test func picturesOfASegmentThatAreDaysApartArePlayedInTheirPlace() throws {
        var edited = 0
        let film = try playlists { isVideo, number, bytes in
            guard isVideo, number == 0, let place = Self.place(of: "tfhd", in: bytes) else { return }
            let flags = Int(bytes[place - 2]) << 8 | Int(bytes[place - 1])
            guard flags & 8 != 0 else { return }
            let field = place + 4 + (flags & 1 != 0 ? 8 : 0) + (flags & 2 != 0 ? 4 : 0)
            bytes.replaceSubrange(field..<field + 4, with: [0xFB, 0xDE, 0x60, 0x04])
            edited += 1
        }
        #expect(edited == 1)
        try expectSixSeconds(film)
        // As a player reads it, by another film that knows of no gap yet.
        let again = try MediaFile.open(folder.path("parts.m3u8"))
        let video = try again.reader(for: try #require(again.summary.track(.video)))
        try video.seek(to: .zero, mode: .exact)
        var last = MediaTime.zero
        while let buffer = try video.read() { last = max(last, buffer.presentationTime ?? last) }
        #expect(last.seconds > 5 && last.seconds < 7, "\(last)")
    }

    /// The first packets are read before discontinuities are followed, to find the start times of the tracks.
    @Test func aGapAfterThePacketsThatWereReadAheadIsClosed() throws {
        let context = try #require(avformat_alloc_context())
        defer { avformat_free_context(context) }
        let stream = try #require(avformat_new_stream(context, nil))
        stream.pointee.time_base = AVRational(num: 1, den: 1000)
        stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        let own = try #require(packet)
        var follower = JumpFollower(
            TimestampDiscontinuities(), streams: [stream], origin: FilmOrigin(common: .zero),
            pauses: PauseLimit(maxGap: .seconds(30), duration: nil), hasPositions: false)
        func time(_ stamp: Int64, _ isReadAhead: Bool = false) -> Double {
            (own.pointee.pts, own.pointee.dts, own.pointee.duration) = (stamp, stamp, 40)
            if isReadAhead { follower.record(own) }
            return Double(stamp) / 1000 + (isReadAhead ? 0 : follower.shift(of: own).seconds)
        }
        #expect(time(0, true) == 0)
        #expect(abs(time(412_661_600) - 0.04) < 0.001 && abs(time(825_323_200) - 0.08) < 0.001)
    }

    /// Pauses of less than ten seconds each, in a stream whose timestamps may jump.
    @Test func pausesOfAPlaylistCountTogether() throws {
        let context = try #require(avformat_alloc_context())
        defer { avformat_free_context(context) }
        let stream = try #require(avformat_new_stream(context, nil))
        stream.pointee.time_base = AVRational(num: 1, den: 1000)
        stream.pointee.codecpar.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        let own = try #require(packet)
        func end(after count: Int64, length: Int64, _ time: (Int64) -> Int64) -> Double {
            var follower = JumpFollower(
                TimestampDiscontinuities(), streams: [stream], origin: FilmOrigin(common: .zero),
                pauses: PauseLimit(maxGap: .seconds(30), duration: nil), hasPositions: false)
            var end = 0.0
            for number in 0..<count {
                own.pointee.dts = time(number)
                (own.pointee.pts, own.pointee.duration) = (own.pointee.dts, length)
                end = Double(time(number) + length) / 1000 + follower.shift(of: own).seconds
            }
            return end
        }
        #expect(end(after: 400, length: 20) { $0 * 9000 } < 70)
        // Played media compensates for pauses, and a single one is kept.
        #expect(abs(end(after: 600, length: 1000) { $0 / 6 * 9000 + $0 % 6 * 1000 } - 897) < 1)
        #expect(abs(end(after: 2, length: 20) { $0 * 9000 } - 9.02) < 0.01)
    }

    @Test func aPauseShorterThanTheLimitStays() throws {
        let film = try film(MatroskaEdit(timestamp: { $0 < 4 ? $1 : $1 + 20_000 }))
        #expect(try walk(film).ends.allSatisfy { $0 > 23 && $0 < 24.2 })
    }

    // MARK: Not a gap

    /// Returns the times of the video frames of a clip with audio, in seconds.
    private func pictures(_ codec: String, _ name: String, _ select: String, sound seconds: Int) throws -> [Double] {
        let path = try TestClips.make(
            name,
            ["-f", "lavfi", "-i", "color=c=gray:s=64x48:r=5:d=400,select='\(select)'"]
                + (seconds > 0 ? ["-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono:d=\(seconds)"] : [])
                + TestClips.arguments("-fps_mode vfr \(codec)"))
        let film = try MediaFile.open(path)
        if let sound = film.summary.track(.audio) { _ = try film.reader(for: sound) }
        let reader = try film.reader(for: try #require(film.summary.track(.video)))
        var times: [Double] = []
        while let buffer = try reader.read() { times += [buffer.presentationTime?.seconds ?? -1] }
        return times.sorted()
    }

    @Test(arguments: ["slides.mkv", "slides.mp4"]) func slidesStayForAsLongAsTheyWere(_ name: String)
        throws
    {
        let codec = "-c:v mpeg2video -bf 0 -g 1 -c:a mp2"
        for sound in [0, 350] {
            let times = try pictures(codec, name, "not(mod(n\\,500))", sound: sound)
            #expect(times.count == 4)
            for (number, time) in times.enumerated() { #expect(abs(time - Double(number) * 100) < 0.5, "\(times)") }
        }
    }

    @Test(arguments: ["pause.mkv", "pause.mp4"]) func picturesThatPauseWhileSoundPlaysKeepTheirTimes(_ name: String)
        throws
    {
        let times = try pictures("-c:v mpeg4 -c:a aac", name, "lt(n\\,50)+gt(n\\,1000)", sound: 400)
        #expect(times.count > 900)
        #expect(abs(times[49] - 9.8) < 0.3 && abs(times[50] - 200.2) < 0.3)
    }
}
