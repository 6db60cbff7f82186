import MediaCore
import MediaFiles
import TalkieTestKit
import Testing

/// Tracks for the visually and the hearing impaired, and commentary, by container.
@Suite struct TrackPurposeTests {
    private let folder = TemporaryFolder()

    /// A clip whose first and default audio track is the audio description; the second is the usual sound.
    private func clip(_ name: String) throws -> String {
        let tracks = [("visual_impaired+default", 400), ("0", 500), ("hearing_impaired", 600), ("comment", 700)]
        let inputs = tracks.map { "-f lavfi -i sine=frequency=\($0.1):sample_rate=48000:d=1" }
        let options = tracks.enumerated().map { number, track in
            "-map \(number) -disposition:a:\(number) \(track.0) -metadata:s:a:\(number) language=eng"
        }
        return try TestClips.make(
            name, TestClips.arguments((inputs + options + ["-c:a aac"]).joined(separator: " ")))
    }

    @Test(arguments: ["mkv", "mp4"]) func tracksHaveTheirPurposeAndTheUsualSoundIsChosenThoughItStandsSecond(
        _ container: String
    ) throws {
        let summary = try MediaFile.open(clip("purposes.\(container)")).summary
        #expect(summary.tracks.map(\.purpose) == [.description, .main, .hearingImpaired, .commentary])
        #expect(summary.track(.audio)?.number == 2)
        #expect(summary.track(.audio, languages: ["en"])?.number == 2)
        for (purpose, number) in [(Track.Purpose.description, 1), (.hearingImpaired, 3), (.commentary, 4)] {
            #expect(summary.track(.audio, languages: ["en"], purpose: purpose)?.number == number)
        }
    }

    @Test func aTransportStreamStatesTracksForTheVisuallyAndTheHearingImpaired() throws {
        let summary = try MediaFile.open(clip("purposes.ts")).summary
        // A commentary has no audio_type (ISO 13818-1, 2.6.19).
        #expect(summary.tracks.map(\.purpose) == [.description, .main, .hearingImpaired, .main])
        #expect(summary.track(.audio)?.number == 2)
    }

    /// - Parameter mixType: 0: to be mixed by the receiver; 1: complete (ETSI EN 300 468, 6.4.11).
    @Test(arguments: [0, 1] as [UInt8]) func aTrackThatHasToBeMixedWithAnotherIsNotOffered(mixType: UInt8) throws {
        var stream = try TestClips.bytes(of: clip("purposes.ts"))
        Self.describeAudio(in: &stream, mixType: mixType)
        try folder.write(stream, to: "mixed.ts")
        let film = try MediaFile.open(folder.path("mixed.ts"))
        let offered: [Track.Purpose] = [.main, .hearingImpaired, .main]
        #expect(film.summary.tracks.map(\.purpose) == (mixType == 0 ? [] : [.description]) + offered)
        #expect(film.summary.track(.audio, purpose: .description)?.purpose == (mixType == 0 ? .main : .description))
        #expect(film.warnings.contains { $0.contains("has to be mixed with another sound track") } == (mixType == 0))
    }

    /// Adds a supplementary_audio_descriptor to each audio description in the program map of a stream of `ffmpeg`.
    private static func describeAudio(in stream: inout [UInt8], mixType: UInt8) {
        for packet in stride(from: 0, to: stream.count, by: 188)
        where stream[packet + 1] & 0x5F == 0x50 && stream[packet + 2] == 0 {
            let start = packet + 5 + Int(stream[packet + 4])
            func length(_ offset: Int) -> Int { Int(stream[offset] & 0x0F) << 8 | Int(stream[offset + 1]) }
            let end = start + 3 + length(start + 1) - 4
            var entry = start + 12 + length(start + 10)
            var section = Array(stream[start..<entry])
            while entry < end {
                let next = entry + 5 + length(entry + 3)
                var descriptors = Array(stream[(entry + 5)..<next])
                // ISO_639_language_descriptor with audio_type 3.
                if descriptors.starts(with: [0x0A, 4]), descriptors[5] == 3 {
                    descriptors += [0x7F, 2, 6, mixType << 7 | 1 << 2 | 2]
                }
                section += stream[entry..<(entry + 3)] + [0xF0, UInt8(descriptors.count)] + descriptors
                entry = next
            }
            section[2] = UInt8(section.count + 1)
            var checksum: UInt32 = .max
            for byte in section {
                checksum ^= UInt32(byte) << 24
                for _ in 0..<8 { checksum = checksum << 1 ^ (checksum >> 31 == 1 ? 0x04C1_1DB7 : 0) }
            }
            section += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: checksum >> $0) }
            stream.replaceSubrange(start..<(start + section.count), with: section)
        }
    }

    // MARK: Playlists

    private func make(_ words: String, into name: String) throws {
        let film = try TestClips.flashAndBeep("hls-source.mkv", "-c:v libx264 -g 25 -c:a aac", seconds: 8)
        try TestClips.make(
            name, in: folder.path,
            ["-i", film, "-t", "3", "-map", "0:v", "-map", "0:a", "-map", "0:a", "-map", "0:a", "-c", "copy"]
                + words.split(separator: " ").map { String($0).replacing("~", with: " ") })
    }

    @Test func renditionsOfHLSHaveThePurposeOfTheirCharacteristics() throws {
        try make(
            "-f hls -hls_time 1 -hls_playlist_type vod -var_stream_map v:0,agroup:s~a:0,agroup:s~a:1,agroup:s~a:2,agroup:s",
            into: "part%v.m3u8")
        let rendition = "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"s\",LANGUAGE=\"en\""
        let lines = [
            "#EXTM3U",
            "\(rendition),NAME=\"a\",DEFAULT=YES,CHARACTERISTICS=\"public.accessibility.describes-video\",URI=\"part1.m3u8\"",
            "\(rendition),NAME=\"b\",URI=\"part2.m3u8\"",
            "#EXT-X-STREAM-INF:BANDWIDTH=900000,CODECS=\"avc1.64001f,mp4a.40.2\",AUDIO=\"s\"", "part0.m3u8", "",
        ]
        try folder.write(Array(lines.joined(separator: "\n").utf8), to: "film.m3u8")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let summary = try MediaFile.open(server.url("film.m3u8")).summary
        #expect(summary.tracks.filter { $0.kind == .audio }.map(\.purpose) == [.description, .main])
        #expect(summary.track(.audio)?.purpose == .main)
        #expect(summary.track(.audio, purpose: .description)?.purpose == .description)
    }

    @Test func adaptationSetsOfDASHHaveThePurposeOfTheirRolesAndAccessibility() throws {
        try make(
            "-adaptation_sets id=0,streams=0~id=1,streams=1~id=2,streams=2~id=3,streams=3 -f dash -seg_duration 1",
            into: "film.mpd")
        var text = folder.read("film.mpd")
        for (id, descriptor) in [
            ("1", "<Accessibility schemeIdUri=\"urn:tva:metadata:cs:AudioPurposeCS:2007\" value=\"1\"/>"),
            ("3", "<Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"commentary\"/>"),
        ] {
            let set = try #require(text.firstRange(of: "<AdaptationSet id=\"\(id)\""))
            let end = try #require(text[set.upperBound...].firstIndex(of: ">"))
            text.insert(contentsOf: descriptor, at: text.index(after: end))
        }
        try folder.write(Array(text.utf8), to: "film.mpd")
        let server = try TinyWebServer(serving: folder.path)
        defer { server.stop() }
        let summary = try MediaFile.open(server.url("film.mpd")).summary
        #expect(summary.tracks.filter { $0.kind == .audio }.map(\.purpose) == [.description, .main, .commentary])
        #expect(summary.track(.audio)?.number == 2 && summary.track(.audio)?.isDefault == true)
        #expect(summary.track(.audio, purpose: .commentary)?.number == 3)
    }
}
