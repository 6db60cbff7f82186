internal import LocalOutput
internal import MediaCore
internal import Playback
internal import Routing

/// The list that lies over the film: where the sound goes, or one to choose from. There is one at a time.
extension SessionDirector {
    func showPanel() { stage.screen?.show(panel: desk?.picker?.panel ?? choice?.panel) }

    func closePanel() {
        desk?.closePicker()
        choice = nil
        showPanel()
    }

    /// False when the key means nothing to the list, or there is none.
    func pressInPanel(_ key: String) -> Bool {
        if let desk, desk.isOpen {
            guard desk.press(key) else { return false }
        } else {
            guard let wish = choice?.press(key) else { return false }
            if let wish { carryOut(wish) }
        }
        showPanel()
        return true
    }

    func point(at row: Int, _ part: ScreenPanel.Part, turned: Int) {
        if let desk, desk.isOpen {
            desk.point(at: row, RoutePicker.Part(part), turned: turned)
        } else if let wish = choice?.point(at: row, turned: turned) {
            carryOut(wish)
        }
        showPanel()
    }

    /// Opens a list, or closes it when it is open.
    func toggleChoice(_ subject: ChoiceList.Subject) {
        let isOpen = choice?.subject == subject
        closePanel()
        guard !isOpen else { return }
        let rows = ChoiceList.rows(subject, of: stage.player.state)
        guard !rows.isEmpty else { return }
        choice = ChoiceList(subject, title: ChoiceList.title(subject), rows: rows)
        showPanel()
    }

    /// Keeps an open list true: another film may have other tracks.
    func refreshChoice() {
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
