import MediaCore
import Testing

@testable import MediaFiles
@testable import TalkieTestKit

@Suite struct ReplayGainReadingTests {
    private func read(_ tags: [String: String]) -> ReplayGain? { ReplayGainReading.read { tags[$0] } }

    @Test func gainAndPeakOfTrackAndAlbumAreRead() {
        let gain = read([
            "REPLAYGAIN_TRACK_GAIN": "-6.48 dB", "REPLAYGAIN_TRACK_PEAK": "0.988553", "REPLAYGAIN_ALBUM_GAIN": "+1.5dB",
        ])
        #expect(gain?.track == ReplayGain.Level(gain: -6.48, peak: 0.988553))
        #expect(gain?.album == ReplayGain.Level(gain: 1.5))
    }

    @Test func opusCountsIn256thsAndFromAnotherLoudness() {
        #expect(read(["R128_TRACK_GAIN": "-256"])?.track == ReplayGain.Level(gain: 4))
        #expect(read(["R128_ALBUM_GAIN": "1280"])?.album == ReplayGain.Level(gain: 10))
    }

    @Test(arguments: ["", "loud", "nan dB", "1e9", "-61 dB", "99999999999999999999999999999999", "1 2 dB", "- 3 dB"])
    func whatIsNoNumberIsNotSaid(text: String) {
        #expect(read(["REPLAYGAIN_TRACK_GAIN": text, "R128_TRACK_GAIN": text]) == nil)
    }

    @Test(arguments: ["0", "-1", "101", "inf", "x"]) func aPeakThatMakesNoSenseIsNotSaid(text: String) {
        let gain = read(["REPLAYGAIN_TRACK_GAIN": "1 dB", "REPLAYGAIN_TRACK_PEAK": text])
        #expect(gain?.track == ReplayGain.Level(gain: 1, peak: nil))
    }

    @Test(arguments: ["flac", "mp3", "ogg", "mka"]) func aFilesTagsAreThoseOfItsTrack(ending: String) throws {
        let codec = ["flac": "flac", "mp3": "libmp3lame", "ogg": "libvorbis", "mka": "flac"][ending] ?? "flac"
        let clip = try TestClips.make(
            "gain.\(ending)",
            ["-f", "lavfi", "-i", "sine=d=1", "-c:a", codec, "-metadata", "REPLAYGAIN_TRACK_GAIN=-3.25 dB"])
        let film = try MediaFile.open(clip)
        #expect(film.summary.track(.audio)?.replayGain?.track?.gain == -3.25)
    }
}
