import CFFmpeg
import MediaCore
import TalkieTestKit
import Testing

@testable import MediaFiles

/// Stamps that jump in containers where they should not, and tracks that pause, which stay as they are.
@Suite struct GapTests {
    let folder = ScratchFolder()
    private static let day: UInt64 = 86_400_000

    /// Four seconds in clusters of half a second; times are milliseconds.
    private func clip(_ codecs: String = "-c:v libx264 -g 12 -c:a aac") throws -> [UInt8] {
        try TestClips.bytes(of: TestClips.flashAndBeep("gap.mkv", "\(codecs) -cluster_time_limit 500"))
    }

    private func film(_ edit: MatroskaEdit, _ name: String = "a.mkv") throws -> MediaFile {
        try MediaFile.open(try folder.write(edit.edited(try clip()), to: name))
    }

    /// Where both tracks end, and the largest step of either, in seconds.
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
        let pictures = try film.summary.track(.video).map { try SeenPictures.decode(try film.reader(for: $0)) }
        let sound = try film.summary.track(.audio).map { try HeardSound.decode(try film.reader(for: $0)) }
        return (ends, step, sound?.beeps ?? [], pictures?.flashes.map(\.seconds) ?? [])
    }

    /// A jump lies where the last track ended: up to a picture and a packet of sound from where it was.
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

    /// In nanoseconds, jumping 190 years ahead and back; and far beyond what 64 bits hold.
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
        let seen = try SeenPictures.decode(pictures, showingFrom: target)
        #expect(abs(try #require(seen.flashes.first).seconds - 3) < 0.15)
        try pictures.seek(to: .zero, mode: .exact)
        #expect(abs(try #require(try pictures.read()?.presentationTime).seconds) < 0.1)
    }

    /// Pauses are made up for by what follows them.
    @Test func pausesBetweenScenesStay() throws {
        let film = try film(MatroskaEdit(timestamp: { $1 + UInt64($0 / 3) * 8_000 }))
        let ends = try walk(film).ends
        #expect(ends.allSatisfy { $0 > 19 && $0 < 28.5 }, "\(ends)")
    }

    /// At the film's start nothing is known yet of how often pictures come. Timestamps of FLV count milliseconds (Adobe's specification
    /// of it, E.4.1).
    @Test func oneWrongTimestampAmongTheFirstPicturesIsPlayedInItsPlace() throws {
        var bytes = try TestClips.bytes(
            of: TestClips.flashAndBeep("early.flv", "-c:v libx264 -g 12 -bf 0 -c:a aac -ar 44100"))
        var (tag, pictures) = (13, 0)
        while tag + 11 < bytes.count {
            // After the configuration and the first picture.
            if bytes[tag] == 9 {
                if pictures == 2 { bytes.replaceSubrange(tag + 4..<tag + 7, with: [0xFF, 0xFF, 0xFF]) }
                pictures += 1
            }
            tag += 15 + Int(bytes[tag + 1]) << 16 + Int(bytes[tag + 2]) << 8 + Int(bytes[tag + 3])
        }
        #expect(pictures > 50)
        try expectContinuous(try MediaFile.open(try folder.write(bytes, to: "early.flv")))
    }

    @Test func aPauseShorterThanTheLimitStays() throws {
        let film = try film(MatroskaEdit(timestamp: { $0 < 4 ? $1 : $1 + 20_000 }))
        #expect(try walk(film).ends.allSatisfy { $0 > 23 && $0 < 24.2 })
    }

    // MARK: What is no gap

    /// Frame numbers of the pictures of a clip with sound, in seconds.
    private func pictures(_ codec: String, _ name: String, _ select: String, sound seconds: Int) throws -> [Double] {
        let path = try TestClips.make(
            name,
            ["-f", "lavfi", "-i", "color=c=gray:s=64x48:r=5:d=400,select='\(select)'"]
                + (seconds > 0 ? ["-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono:d=\(seconds)"] : [])
                + TestClips.words("-vsync vfr \(codec)"))
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
