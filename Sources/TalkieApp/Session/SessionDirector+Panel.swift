internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput

/// The panel over the video: the output list, a choice list, or a page. Only one is open at a time.
extension SessionDirector {
    var isListOpen: Bool { desk?.isOpen == true || choice != nil }

    func showPanel() { stage.screen?.show(panel: desk?.picker?.panel ?? choice?.panel ?? page?.panel) }

    func closePanel() {
        desk?.closePicker()
        (choice, page) = (nil, nil)
        showPanel()
    }

    /// Opens a page instead of a list, or closes it if it is open.
    func togglePage(_ subject: InfoPage.Subject) {
        let isOpen = page?.subject == subject
        closePanel()
        guard !isOpen else { return }
        page = subject == .keys ? .keys : statistics
        showPanel()
    }

    private var statistics: InfoPage {
        StatisticsPage(
            state: measuredState, address: PrintableText.withoutCredentials(current.address),
            decoder: stage.player.videoDecoder, screen: stage.screen?.status, outputs: stage.player.outputs
        ).page
    }

    /// Handles the wheel outside the list rows: it moves in an open list; over the bar's volume it changes the volume.
    func turnWheel(over part: ScreenBar.Part?, _ turned: Int) {
        switch part {
        case .volume, .volumeNumber, .mute: perform(.addVolume(Double(2 * turned)))
        default: if !pressInPanel(turned > 0 ? "UP" : "DOWN") { press(turned > 0 ? "WHEEL_UP" : "WHEEL_DOWN") }
        }
    }

    /// Passes a key to the open panel. Returns false if it is not used.
    func pressInPanel(_ key: String) -> Bool {
        if let desk, desk.isOpen {
            guard desk.press(key) else { return false }
        } else if choice != nil {
            guard let wish = choice?.press(key) else { return false }
            if let wish { carryOut(wish) }
        } else if page != nil, key == "ESC" {
            page = nil
        } else {
            guard page?.press(key) == true else { return false }
        }
        showPanel()
        return true
    }

    func point(at row: Int, _ part: ScreenPanel.Part, turned: Int) {
        if let desk, desk.isOpen {
            desk.point(at: row, RoutePicker.Part(part), turned: turned)
        } else if let wish = choice?.point(at: row, turned: turned) {
            carryOut(wish)
        } else if choice == nil {
            page?.scroll(by: -3 * turned)
        }
        showPanel()
    }

    /// Opens a list, or closes it if it is open.
    func toggleChoice(_ subject: ChoiceList.Subject) {
        let isOpen = choice?.subject == subject
        closePanel()
        guard !isOpen else { return }
        let rows = ChoiceList.rows(subject, of: stage.player.state)
        guard !rows.isEmpty else { return }
        choice = ChoiceList(subject, title: ChoiceList.title(subject), rows: rows)
        showPanel()
    }

    /// Updates an open list or page: another film can have other tracks.
    func refreshChoice() {
        if page?.subject == .statistics, statisticsDue <= .now {
            page = statistics
            showPanel()
            statisticsDue = .now.advanced(by: .seconds(1))
        }
        guard let old = choice else { return }
        choice?.update(ChoiceList.rows(old.subject, of: stage.player.state))
        if choice != old { showPanel() }
    }

    private func carryOut(_ wish: ChoiceList.Wish) {
        guard case .choose(let row) = wish, let subject = choice?.subject else { return closePanel() }
        let state = stage.player.state
        closePanel()
        switch subject {
        case .sound where state.audioTracks.indices.contains(row):
            stage.player.selectAudioTrack(state.audioTracks[row].number)
        case .subtitles where row == 0: stage.player.selectSubtitles(nil)
        case .subtitles where state.subtitleTracks.indices.contains(row - 1):
            stage.player.selectSubtitles(state.subtitleTracks[row - 1].number)
            if !settings.showsSubtitles { perform(.toggleSubtitles) }
        case .chapters where state.chapters.indices.contains(row):
            showJump()
            stage.player.seek(to: state.chapters[row].start)
        case .speed where ChoiceList.speeds.indices.contains(row): perform(.setSpeed(ChoiceList.speeds[row]))
        case .sound, .subtitles, .chapters, .speed: break
        }
    }
}
