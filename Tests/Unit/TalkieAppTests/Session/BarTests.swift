import MediaCore
import ScreenOutput
import Testing

@testable import Playback
@testable import TalkieApp

@Suite struct BarTests {
    private let now = HostInstant(nanoseconds: 1_000_000_000_000)

    @Test func aPageOfKeysScrollsByPagesToItsEndAndBack() {
        var page = InfoPage.keys
        let count = page.rows.count
        // The third one has an effect at once.
        for (key, first) in [("PGDWN", 11), ("END", count - 12), ("UP", count - 13), ("PGUP", count - 24), ("HOME", 0)]
        {
            let isUsed = page.press(key, visible: 12)
            #expect(isUsed && page.panel.current == first, "\(key)")
        }
        let isUsed = page.press("RIGHT", visible: 12)
        #expect(!isUsed)
    }

    @Test func theBarStaysTwoSecondsBehindThePointerAndLongerUnderIt() {
        var bar = BarVisibility()
        #expect(!bar.isShown(at: now))
        bar.pointerMoved(at: now, over: nil)
        #expect(bar.isShown(at: now.advanced(by: .milliseconds(1999))))
        #expect(!bar.isShown(at: now.advanced(by: .seconds(2))))
        bar.pointerLeft(at: now)
        #expect(bar.isShown(at: now.advanced(by: .milliseconds(1999))), "a pointer that leaves changes nothing")
        bar.pointerMoved(at: now, over: .play)
        #expect(bar.isShown(at: now.advanced(by: .seconds(9))))
        #expect(!bar.isShown(at: now.advanced(by: .seconds(10))))
        bar.pointerLeft(at: now)
        #expect(!bar.isShown(at: now.advanced(by: .seconds(2))), "nothing rests on it any more")
        var fresh = BarVisibility()
        fresh.pointerLeft(at: now)
        #expect(!fresh.isShown(at: now), "a window that opens beside the pointer")
    }

    @Test func itShowsWhatThereIsToChooseAndNoMore() {
        var state = PlayerState()
        (state.phase, state.duration) = (.playing, MediaTime(value: 100, timescale: 1))
        state.position = MediaTime(value: 25, timescale: 1)
        let plain = ScreenBar(state, hasPrevious: false, hasNext: false)
        #expect(plain.position == 0.25)
        #expect(plain.isPlaying)
        #expect(plain.buttons == [.speed: ["×1"], .fullScreen: []])
        state.subtitleTracks = [track(1, "eng"), track(2, "deu", "signs")]
        state.speed = 1.25
        let more = ScreenBar(state, hasPrevious: true, hasNext: true)
        #expect(
            more.buttons == [
                .speed: ["×1.25"], .fullScreen: [], .subtitles: ["Subtitles: none", "Subs: none", "Subs"],
            ])
        state.subtitleTrack = state.subtitleTracks[1]
        state.chapters = [(0, "Calm"), (20, "Wind")].map {
            Chapter(start: MediaTime(value: $0.0, timescale: 1), title: $0.1)
        }
        let fullBar = ScreenBar(state, hasPrevious: true, hasNext: true)
        #expect(
            fullBar.buttons[.subtitles] == [
                "Subtitles: German, signs", "Subs: German, signs", "Subs: German", "Subs",
            ])
        #expect(fullBar.buttons[.chapters] == ["2/2 Wind", "2/2"])
        #expect(ScreenBar.Aim(0.1, in: state)?.text == "00:00:10  Calm")
    }

    @Test func itShowsThatAFilmWaitsForItsSource() {
        var state = PlayerState()
        (state.phase, state.bufferingProgress) = (.buffering, 0.34)
        state.reason = "Waiting for the network: 34 %"
        let bar = ScreenBar(state, hasPrevious: false, hasNext: false)
        #expect(bar.isWaiting && bar.isPlaying)
        #expect(StatusText.line(state, columns: 80).hasPrefix("(Waiting for the network: 34 %)"))
        (state.phase, state.bufferingProgress) = (.playing, nil)
        #expect(!ScreenBar(state, hasPrevious: false, hasNext: false).isWaiting)
    }

    @Test func aTenthOfASecondOfATwoHourFilmLooksTheSame() {
        var state = PlayerState()
        (state.phase, state.duration) = (.playing, MediaTime(value: 7200, timescale: 1))
        state.position = MediaTime(value: 10_0, timescale: 10)
        let first = ScreenBar(state, hasPrevious: false, hasNext: false)
        state.position = MediaTime(value: 10_1, timescale: 10)
        #expect(ScreenBar(state, hasPrevious: false, hasNext: false) == first)
    }

    private func track(_ number: Int, _ language: String?, _ title: String? = nil) -> Track {
        Track(
            id: number, number: number,
            format: .subtitle(SubtitleFormat(parameters: CodecParameters(codec: "subrip"))), language: language,
            title: title)
    }

    @Test func aListOfTracksBeginsOnTheOneThatIsShownAndTakesAnotherByKeysOrPointer() throws {
        var state = PlayerState()
        state.subtitleTracks = [track(1, "eng"), track(2, nil)]
        state.subtitleTrack = state.subtitleTracks[0]
        var list = ChoiceList(.subtitles, title: "Subtitles", rows: ChoiceList.rows(.subtitles, of: state))
        #expect(list.rows.map(\.text) == ["None", "English", "Track 2"])
        #expect(list.current == 1)
        #expect(list.press("DOWN") == .some(nil))
        #expect(list.press("DOWN") == .some(nil), "stays on the last")
        #expect(list.press("ENTER") == .some(.choose(2)))
        #expect(list.point(at: 0, turned: 0) == .choose(0))
        #expect(list.point(at: 7, turned: 0) == nil, "no such row")
        #expect(list.press("ESC") == .some(.close))
        #expect(list.press("f") == nil, "the film's")
        list.update([])
        #expect(list.press("ENTER") == .some(nil))
        #expect(list.panel.current == nil)
    }

    @Test func theListOfSpeedsTakesEffectByThePointerAlone() {
        let rig = SessionRig("long")
        rig.mailbox.post(.pointer(.bar(.button(.speed), isDragged: false)))
        let row = ChoiceList.speeds.firstIndex(of: 1.5)!
        rig.mailbox.post(.pointer(.panel(row: row, .text, turned: 0)))
        #expect(rig.run(.screen(.close)) == 0)
        #expect(rig.player.state.speed == 1.5)
        #expect(rig.director.panel.choice == nil)
    }

    @Test func theLoudnessFollowsThePointerAndTheSignMutes() {
        let rig = SessionRig("long")
        rig.mailbox.post(.pointer(.bar(.volume(0.35), isDragged: true)))
        #expect(rig.run(.pointer(.bar(.mute, isDragged: false)), .screen(.close)) == 0)
        #expect(rig.player.masterVolume == 35)
        #expect(rig.player.state.isMuted)
    }

    // feature: volume
    @Test func theWheelOverTheVolumeChangesItAndBesideAListMovesInTheList() {
        let rig = SessionRig("long")
        rig.mailbox.post(.pointer(.wheel(over: .volume(0.5), turned: -1)))
        rig.mailbox.post(.pointer(.wheel(over: .mute, turned: -1)))
        rig.mailbox.post(.pointer(.wheel(over: .volumeNumber, turned: -1)))
        rig.mailbox.post(.pointer(.bar(.volumeNumber, isDragged: false)))
        rig.mailbox.post(.pointer(.bar(.button(.speed), isDragged: false)))
        rig.mailbox.post(.pointer(.wheel(over: nil, turned: -1)))
        rig.mailbox.post(.terminalKey("ENTER"))
        #expect(rig.run(.screen(.close)) == 0)
        #expect(rig.player.masterVolume == 94)
        #expect(rig.player.state.speed == 1.25, "the row below ×1")
    }

    // feature: statistics
    @Test func aPageOfStatisticsOrKeysClosesByItsKeyByEscAndByAList() {
        let rig = SessionRig("long")
        var shown: [InfoPage.Subject?] = []
        // The session's thread does not run, so the director may be used on this thread.
        for key in ["i", "i", "?", "ESC", "?", "i"] {
            if !rig.director.controls.pressInPanel(key) { rig.director.controls.press(key) }
            shown.append(rig.director.panel.page?.subject)
        }
        #expect(shown == [.statistics, nil, .keys, nil, .keys, .statistics])
        #expect(!rig.director.controls.pressInPanel("LEFT"), "the film's")
        rig.director.controls.perform([.text("choose-route")])
        #expect(rig.director.panel.page == nil && rig.director.panel.isListOpen)
        #expect(rig.run(.screen(.close)) == 0)
    }

    @Test func theKeysHaveTheCodeOfThePageForAPhone() {
        let rig = SessionRig("long", pageLink: "http://192.168.1.10:9596/AbCdEfGhIjKlMnOpQrStUv/")
        rig.director.controls.press("?")
        #expect(rig.director.panel.page?.code.count == 29)
        rig.director.controls.press("i")
        #expect(rig.director.panel.page?.code == [])
        #expect(rig.run(.screen(.close)) == 0)
        let other = SessionRig("long")
        other.director.controls.press("?")
        #expect(other.director.panel.page?.code == [])
        #expect(other.run(.screen(.close)) == 0)
    }

    @Test func statisticsSayWhatPlaysAndWhereItIsHeard() {
        var state = PlayerState()
        (state.phase, state.hasVideo, state.hasAudio) = (.playing, true, true)
        (state.position, state.duration) = (MediaTime(value: 31, timescale: 1), MediaTime(value: 100, timescale: 1))
        (state.droppedFrames, state.offset) = (3, .milliseconds(-2))
        let rows = StatisticsPage(state: state, address: "film.mkv", decoder: "h264 (software)").page.rows
        func words(_ name: String) -> String? { rows.first { $0.name == name }?.text }
        #expect(words("File") == "film.mkv")
        #expect(words("Position") == "00:00:31 / 00:01:40 (31%)")
        #expect(words("Video") == "h264 (software)")
        #expect(words("Frames") == "0 shown, 3 dropped")
        #expect(words("A-V") == "-2.0 ms")
    }

    @Test func statisticsSayHowFarAFilmWithoutSoundHasBeenRead() {
        var state = PlayerState()
        (state.phase, state.hasVideo, state.position) = (.playing, true, MediaTime(value: 31, timescale: 1))
        state.loadedUntil = MediaTime(value: 34, timescale: 1)
        let rows = StatisticsPage(state: state, address: "film.mkv").page.rows
        #expect(rows.first { $0.name == "Cache" }?.text == "3.0 s read")
    }

    @Test func whatWasReadAheadFromAServerIsInBarStatisticsAndProperties() throws {
        var state = PlayerState()
        (state.phase, state.hasVideo, state.position) = (.playing, true, MediaTime(value: 30, timescale: 1))
        state.duration = MediaTime(value: 100, timescale: 1)
        state.loadedUntil = MediaTime(value: 34, timescale: 1)
        state.readAhead = ReadAheadProgress(byteCount: 12 << 20, duration: .seconds(26))
        let rows = StatisticsPage(state: state, address: "http://a.org/film.mkv").page.rows
        #expect(rows.first { $0.name == "Cache" }?.text == "4.0 s read, read ahead: 12.0 MiB (26 s)")
        #expect(ScreenBar(state, hasPrevious: false, hasNext: false).loaded == 0.6)
        func value(_ name: String) -> JSONValue? { ControlProperty.playback.first { $0.name == name }?.read(state) }
        #expect(value("demuxer-cache-duration")?.number == 30 && value("demuxer-cache-time")?.number == 60)
        // The estimate does not exceed the film.
        state.readAhead?.duration = .seconds(500)
        #expect(state.cachedUntil == state.duration)
        // A reserve that is awaited is not in memory.
        state.bufferingProgress = 0.3
        #expect(ScreenBar(state, hasPrevious: false, hasNext: false).loaded == 0.34)
    }

    /// A speaker may have buffered minutes of audio beyond the video that has been read.
    @Test func whileAFilmWaitsTheBarShowsNothingBeyondWhatHasBeenRead() {
        var state = PlayerState()
        (state.phase, state.duration) = (.playing, MediaTime(value: 100, timescale: 1))
        state.loadedUntil = MediaTime(value: 20, timescale: 1)
        state.handedUntil = MediaTime(value: 80, timescale: 1)
        #expect(ScreenBar(state, hasPrevious: false, hasNext: false).handed == 0.8)
        (state.phase, state.bufferingProgress) = (.buffering, 0.3)
        let waiting = ScreenBar(state, hasPrevious: false, hasNext: false)
        #expect(waiting.loaded == 0.2 && waiting.handed == 0.2)
    }

    @Test func languagesAreNamedInEnglish() {
        #expect(track(1, "eng").name == "English" && track(1, "ger").name == "German")
        #expect(track(1, "pt-BR").name == "Portuguese (BR)")
        #expect(track(1, "und").name == "Track 1" && track(1, "tlh", "Opera").name == "tlh, Opera")
        #expect(track(1, "eng", "English").name == "English", "once")
        #expect(track(2, "fre").description(among: 3) == "2 of 3, French")
    }
}
