package import MediaCore
internal import SyncRendering

/// Commands of the user and of the renderers.
extension PlaybackEngine {
    // MARK: List

    /// Replaces the list by one item and plays it.
    func open(_ address: String, at position: MediaTime? = nil) {
        open([preparation.openedItem(address) ?? QueueItem(address)], at: position)
    }

    /// Replaces the list and plays from one of its items on.
    func open(
        _ items: [QueueItem], startingWith first: QueueItem.ID? = nil, at position: MediaTime? = nil,
        order: PlayerOptions.PlaylistOrder? = nil
    ) {
        restart(with: shared.update { $0.reset(to: items, first: first, order: order) }, at: position)
    }

    /// Plays an item that is not in the list.
    func openOutsideList(_ address: String) {
        var listPosition = PlaylistPosition(item: QueueItem(address))
        listPosition.isOutsideList = true
        restart(with: listPosition)
    }

    /// Opens the current item of the list again, or its first one.
    func reopen(at position: MediaTime?) {
        let present = list.present.flatMap { list.contains($0.item.id) ? $0.plain : nil }
        restart(with: present ?? list.firstPosition() ?? shared.update { $0.startOver() }, at: position)
    }

    /// Opens the first item of the pass, and permits items that have failed.
    func startOver() { restart(with: shared.update { $0.startOver() }) }

    /// Opens an item without regard to earlier failures; ends playback if there is none.
    private func restart(with listPosition: PlaylistPosition?, at position: MediaTime? = nil) {
        guard let listPosition else { return finish() }
        recovery.restart()
        preparation.forgetFailedLoops()
        begin(with: listPosition, at: position)
    }

    /// Applies an edit.
    ///
    /// - Parameter done: Called once, when the schedule and the audio agree with the list.
    func apply(_ edit: QueueEdit, done: (@Sendable (QueueEditOutcome) -> Void)? = nil) {
        guard shared.update({ $0.apply(edit) }) else {
            done?(.unchanged)
            return
        }
        if let done { edits.add(done) }
        listHasChanged()
    }

    /// Replaces the items after the current one.
    func setNext(_ items: [QueueItem]) {
        shared.update { $0.setFollowing(items) }
        listHasChanged()
    }

    /// Sets the repetitions of this item and the following ones.
    func setLoop(_ loop: PlayerOptions.Loop) { apply(.loop(item: loop, list: list.loopList)) }

    /// Inserts items after the first item from the current one on that has an address, unless they are there.
    func insert(_ items: [QueueItem], after address: String, done: () -> Void) {
        guard shared.update({ $0.insert(items, after: address) }) else { return }
        listHasChanged()
        done()
    }

    private func listHasChanged() {
        let list = list
        status.describe(list)
        preparation.cancelOpeningOfRemoved()
        audioControl.choosePassThrough(for: list)
        if recovery.isWaiting, !list.mayComeBack, !recovery.isBetweenPasses || list.items.isEmpty {
            recovery.cancel()
            return status.setPhase(.ended)
        }
        guard state.phase == .ended, seeks.wantsPlay else { return reconcile() }
        // Items were added after the end had been reached.
        let next = list.entries.first.map { list.successor(of: $0) } ?? list.firstPosition()
        if let next { begin(with: next) }
        reconcile()
    }

    /// Seeks to a position of an item in the list.
    ///
    /// - Parameter instant: When the position is to be presented; nil: as soon as possible.
    func jump(to id: QueueItem.ID, at position: MediaTime, perceivedAt instant: HostInstant? = nil) {
        guard let listPosition = shared.update({ $0.recall(id) }) else { return }
        if let entry = current, entry.item.id == id, !entry.isCut, entry.film.summary.isSeekable {
            return instant == nil
                ? seek(to: position, exact: true) : begin(at: max(entry.start, position), perceivedAt: instant)
        }
        // An explicitly requested item is not delayed after failures.
        recovery.forgetFailures()
        begin(with: listPosition, at: max(.zero, position), perceivedAt: instant)
    }

    /// Skips to the next item, also if the current one is to be repeated.
    func skip() {
        if let actions = seekPlan.skipInterstitial() { return perform(actions) }
        let entry = current
        guard let listPosition = entry.map({ $0.basis ?? $0.listPosition }) ?? list.awaited else { return }
        if let next = list.successor(of: listPosition, leavesLoop: true, plays: entry != nil) {
            return begin(with: next)
        }
        shared.update { _ = $0.apply(.remove(listPosition.item.id)) }
        finish()
        status.describe(list)
    }

    /// Continues after an item that has failed, or after one that is not in the list; ends if nothing follows.
    func skipFailed() {
        let isOutsideList = (current?.listPosition ?? list.awaited)?.isOutsideList ?? false
        guard state.phase == .failed || isOutsideList, let listPosition = list.present else { return }
        perform(list.actionAfterFailure(of: listPosition))
    }

    /// Starts the item at a distance in the order of the current pass.
    func step(by distance: Int, refuse: () -> Void = {}) {
        guard let listPosition = shared.update({ $0.step(by: distance) }) else { return refuse() }
        restart(with: listPosition)
    }

    // MARK: Transport

    /// Starts, resumes or repeats playback; ends the interruptions that have paused it, and opens lost outputs again.
    package func play() {
        let reopens = interruptions.contains(.takenOver) || (isOutputLost && tracks.isAudioLost)
        endPausingInterruptions()
        if reopens {
            hasReopenedOutputs = true
            audioControl.reopenOutputs()
            retryLostAudio()
        }
        startOrResume()
    }

    /// Starts, resumes or repeats playback.
    func startOrResume() {
        isPausedWithoutOutput = false
        seeks.requestPlay()
        switch state.phase {
        case .paused: seeks.resume()
        // An item that was removed is not played again.
        case .ended where current.map { list.contains($0.item.id) || $0.listPosition.isOutsideList } ?? false:
            seek(to: resolvedStart, exact: true)
        case .idle, .ended, .failed: if let first = list.firstPosition() { begin(with: first) }
        case .opening, .buffering, .playing: break
        }
    }

    /// Pauses after the output's stop lead, so that delivered audio ends together with the video.
    package func pause() {
        interruptions.cancelResume()
        seeks.pause()
    }

    func togglePause() { seeks.wantsPlay ? pause() : play() }

    /// Sets the speed in media seconds per second, clamped to `PlayerOptions.speedRange`.
    func setSpeed(_ speed: Double) {
        guard audioControl.setSpeed(speed, isFixed: seekPlan.forbidsSkipping) else { return }
        guard current != nil else { return audioControl.applySpeed() }
        if state.phase == .playing {
            // Playback continues at the old speed until the renderer has audio at the new one.
            synchronizer.setRate(Float(state.speed))
            return
        }
        audioControl.applySpeed()
        if state.phase == .buffering, !seeks.adaptHoldToSpeed() { beginAudio() }
    }

    // MARK: Seeks

    /// The consequences of seek commands at the current position.
    var seekPlan: SeekDecision { SeekDecision(in: list, state, at: seeks.mediaTime, wantsPlay: seeks.wantsPlay) }

    /// Seeks to a media time; exactly, or to the sync frame before it.
    package func seek(to time: MediaTime, exact: Bool) {
        seekOrigin = current.map { (seekPlan.commandTime, $0.item.id) }
        perform(seekPlan.seek(to: time, exact: exact))
    }

    /// Seeks by a distance from the current position, or from the target of a seek in progress.
    func seek(by distance: MediaTime, exact: Bool) {
        seekOrigin = current.map { (seekPlan.commandTime, $0.item.id) }
        perform(seekPlan.seek(by: distance, exact: exact))
    }

    /// Seeks by chapters from the current position, or from the target of a seek in progress.
    func seek(byChapters count: Int) {
        seekOrigin = current.map { (seekPlan.commandTime, $0.item.id) }
        perform(seekPlan.seek(byChapters: count))
    }

    /// Marks the current position for `revertSeek`.
    func markSeek() { seekMark = current.map { (seekPlan.commandTime, $0.item.id) } }

    /// Seeks to the marked position of the current item, otherwise to that before the last seek. Returns false if there
    /// is none.
    func revertSeek() -> Bool {
        let origin = [seekMark, seekOrigin].lazy.compactMap { $0 }.first { $0.item == current?.item.id }
        guard let origin else { return false }
        seek(to: origin.time, exact: true)
        return true
    }

    /// Seeks by subtitles: to the appearance of a later one, of the shown one, or of an earlier one. Returns false if
    /// there is none among those that have been read.
    func seek(bySubtitles count: Int) -> Bool {
        let now = seekPlan.commandTime + state.timelineOffset
        guard let target = tracks.subtitles.appearance(count, from: now) else { return false }
        seek(to: target - state.timelineOffset, exact: true)
        return true
    }

    /// Changes the delay of subtitles so that a later or an earlier one appears now. Returns false if there is none.
    func step(bySubtitles count: Int) -> Bool {
        let now = seekPlan.commandTime + state.timelineOffset
        guard let target = tracks.subtitles.appearance(count, from: now) else { return false }
        tracks.subtitles.setDelay(state.subtitleDelay + (now - target).duration)
        return true
    }

    /// Sets the repeated section; nil: none.
    func setRepeatedSection(_ wanted: MediaTimeRange?) {
        section.set(wanted, at: seekPlan.commandTime)
        let joining = section.seamless(in: current)
        let isNew = list.section != joining
        shared.update { $0.section = joining }
        guard status.isUnderWay, let entry = current else { return }
        audioControl.choosePassThrough(for: list)
        // A seek in progress or a pending edit continues with the new section.
        if seeks.pending != nil || truncation.isActive {
            return isNew ? perform(truncation.restartHere()) : ()
        }
        if let joining, seeks.mediaTime < joining.end, entry.sectionEnd.map({ joining.end < $0 }) ?? true {
            // If it is too late, the section repeats with a seek.
            perform(truncation.endCurrent(withSectionAt: joining.end))
        }
        reconcile()
    }

    /// Pauses and shows a later (1) or an earlier (-1) frame.
    func step(byFrames count: Int) {
        pause()
        guard current?.videoTrack != nil else { return }
        steps.add(count)
        proceedWithSteps()
    }

    func proceedWithSteps() {
        guard steps.isActive, seeks.pending == nil else { return }
        guard state.phase == .paused else { return steps.cancel() }
        switch steps.next(tracks.frames, playhead: synchronizer.currentTime()) {
        case nil: break
        case .forward(let time): synchronizer.setRate(0, time: time)
        case .backward(let shown):
            // Any time within the preceding frame.
            let target = max(.zero, shown - state.timelineOffset - SeekDecision.instant)
            current?.listPosition.interstitialPart == nil ? seek(to: target, exact: true) : begin(at: target)
        }
    }

    // MARK: Tracks and outputs

    func cycleAudioTrack() { if factory.cycleAudioTrack() { readSelectedAudio() } }
    func selectAudioTrack(_ number: Int) { if factory.selectAudioTrack(number) { readSelectedAudio() } }

    func selectAudioTrack(_ choice: AudioTrackChoice) { if factory.selectAudioTrack(choice) { readSelectedAudio() } }

    func overrideAudioTrack(with choice: AudioTrackChoice?) {
        if factory.overrideAudioTrack(with: choice) { readSelectedAudio() }
    }

    /// Reads the main audio from the current position on; beside added audio tracks, which play on, only its own
    /// outputs are interrupted.
    private func readSelectedAudio() {
        guard !tracks.added.all.isEmpty, state.phase == .playing, seeks.pending == nil, !truncation.isActive,
            tracks.audio != nil
        else { return beginAudio() }
        tracks.seekMainAudio(to: seeks.trackTarget)
    }

    func cycleVideoTrack() { if factory.selectVideoTrack(nil) { begin(at: seeks.mediaTime) } }
    func selectVideoTrack(_ number: Int) { if factory.selectVideoTrack(number) { begin(at: seeks.mediaTime) } }

    func cycleSubtitles(by step: Int) { tracks.subtitles.cycle(by: step, at: seeks.trackTarget) }
    func selectSubtitles(_ number: Int?) { tracks.subtitles.select(number, at: seeks.trackTarget) }
    func cycleSecondarySubtitles(by step: Int) { tracks.subtitles.cycleSecondary(by: step, at: seeks.trackTarget) }
    func selectSecondarySubtitles(_ number: Int?) { tracks.subtitles.selectSecondary(number, at: seeks.trackTarget) }

    func addAudio(_ choice: AudioTrackChoice, to output: any AudioDestination, number: Int) {
        guard renderer != nil else { return status.message("This player was created without sound.") }
        let added = tracks.added.add(choice, to: output, number: number)
        audioControl.join(added)
        audioControl.choosePassThrough(for: list)
        tracks.added.start(added, at: seeks.trackTarget)
    }

    /// Restarts audio that had been lost, after a change of outputs.
    func outputsHaveChanged() {
        retryLostAudio()
        audioControl.compareOutputs()
        reportOutputs()
    }

    /// Restarts audio that had been lost.
    func retryLostAudio() {
        guard let renderer, tracks.audio != nil, tracks.isAudioLost || renderer.progress.hasFailed else { return }
        tracks.retryAudio()
        isOutputLost = false
        if status.isUnderWay { beginAudio() }
    }
}
