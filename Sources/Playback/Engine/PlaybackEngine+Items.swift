internal import MediaCore
internal import SyncRendering

/// Starts, boundaries and ends of items: what the engine executes for its parts.
extension PlaybackEngine {
    func perform(_ actions: [PlaybackAction]) { for action in actions { perform(action) } }

    func perform(_ action: PlaybackAction?) {
        switch action {
        case nil: break
        case .report(let event): status.report(event)
        case .seek(let time, let aim, let instant): begin(at: time, aim: aim, perceivedAt: instant)
        case .open(let listPosition, let position): begin(with: listPosition, at: position)
        case .advance(let entry):
            announcer.advance()
            begin(at: entry.start)
        case .startAgain(let listPosition):
            if let entry = current {
                shared.update { list in list.change(entry.serial) { $0.listPosition = listPosition } }
            }
            begin(at: resolvedStart)
        case .skip(let listPosition, let failure): perform(preparation.skip(listPosition, failure))
        case .endEntry:
            seeks.cancel()
            reachEnd()
        case .reconcile: reconcile()
        case .waitForReturn:
            recovery.wait(for: current?.listPosition ?? list.awaited, title: current?.title ?? state.title)
            closeMedia()
            status.close(entering: .opening)
        case .waitForPass(let listPosition, let pause):
            recovery.wait(forPass: listPosition, pause)
            closeMedia()
            shared.update { $0.setCurrent(listPosition) }
            status.close(entering: .opening)
        case .stop: synchronizer.setRate(0, atHostTime: components.clock.now)
        case .end: status.setPhase(.ended)
        case .finish: finish()
        case .fail(let failure): fail(failure)
        }
    }

    // MARK: Starts

    /// The start position; zero if it depends on an unknown duration.
    var resolvedStart: MediaTime { options.start?.mediaTime(in: state.duration) ?? .zero }

    /// Opens an item and starts it.
    ///
    /// - Parameters:
    ///   - position: The media time of the start; nil: the default start.
    ///   - instant: When the position is to be presented; nil: as soon as possible.
    func begin(
        with listPosition: PlaylistPosition, at position: MediaTime? = nil, perceivedAt instant: HostInstant? = nil
    ) {
        closeMedia()
        recovery.cancel()
        arrival.await(listPosition, at: position, perceivedAt: instant)
        perform(arrival.proceed())
    }

    /// Seeks to a media time of the current item.
    ///
    /// - Parameters:
    ///   - movesVideo: Whether the video seeks as well. Media time then becomes the timeline, and the following
    ///     entries are scheduled again. Otherwise the timeline is preserved.
    ///   - instant: When the media time is to be presented; nil: as soon as possible.
    func begin(
        at time: MediaTime, aim: SeekAim = .exact, movesVideo: Bool = true, perceivedAt instant: HostInstant? = nil
    ) {
        if movesVideo {
            truncation.abandon()
            preparation.abandon()
            let joining = section.seamless(in: current)
            shared.restart { list in
                list.section = joining
                list.rebase(at: time)
            }
            status.change { $0.timelineOffset = .zero }
        }
        audioControl.choosePassThrough(for: list)
        seeks.seek(to: time, aim: aim, movesVideo: movesVideo, perceivedAt: instant)
    }

    /// Reads the audio of the current position again; the video only if it is seeking, or during a removal, whose cut
    /// of the audio the seek drops.
    func beginAudio() {
        begin(at: seeks.mediaTime, movesVideo: truncation.isActive || (seeks.pending?.movesVideo ?? false))
    }

    // MARK: Ends of entries

    /// Ends the current entry if nothing follows gaplessly; the successor starts as soon as possible.
    func reachEnd() { perform(announcer.endEntry()) }

    /// Seeks to the section's start if its end was passed.
    func repeatSection() {
        guard let entry = current, entry.listPosition.interstitialPart == nil else { return }
        let canPass = seeks.pending == nil && state.phase == .playing && entry.sectionEnd == nil
        guard let passed = section.passed(at: seeks.mediaTime, canPass: canPass, isAtEnd: hasReachedEnd) else { return }
        if let refusal = seekPlan.refusal {
            perform(refusal)
            return section.set(nil, at: .zero)
        }
        // The section is beyond the end of the item.
        guard state.duration.map({ passed.start < $0 }) ?? true else { return }
        begin(at: passed.start)
        section.restart()
    }

    // MARK: Ends

    /// Stops all tracks and clears the timeline.
    func closeMedia() {
        synchronizer.setRate(0, time: .zero)
        seeks.cancel()
        // A track or a prefetch may wait for a server that does not answer.
        for entry in list.entries { entry.media.cancel() }
        tracks.stop()
        truncation.abandon()
        preparation.abandon()
        shared.restart { $0.await(nil) }
        tracks.flush()
    }

    /// Ends playback before the end of the list was reached.
    func finish() {
        interruptions.cancelResume()
        closeMedia()
        status.close(entering: .ended)
    }

    /// Ends playback with a failure.
    private func fail(_ failure: TalkieError) {
        interruptions.cancelResume()
        // The next playback opens the outputs again.
        endInterruption(.takenOver, mayResume: false)
        closeMedia()
        status.close(entering: .failed, failure: failure)
    }

    /// Handles a failure of the main audio track. A user-provided output that fails before playback has begun ends
    /// playback. Otherwise the video continues without audio. Between two items the failure was one of the previous
    /// item.
    ///
    /// - Parameter error: The error of the outputs; nil: the audio cannot be decoded.
    func audioFailed(_ failure: TalkieError, output error: OutputError? = nil) {
        guard let current, tracks.loseAudio() else { return }
        let isOfOutput = failure.code != .failed
        if isOfOutput {
            isOutputLost = true
            // The user is to see that the outputs have refused again.
            if hasReopenedOutputs { audioControl.forgetSilence() }
            hasReopenedOutputs = false
        }
        audioControl.compareOutputs()
        reportOutputs(failure: error)
        respondToRouteChange()
        if isOfOutput, isAwaitingOutput { return }
        let isWanted = (options.audioDevice != nil || options.isOutputNamed) && isOfOutput
        if current.videoTrack == nil || (isWanted && !recovery.hasBegun) {
            fail(failure)
        } else {
            let isHeard = tracks.added.all.contains { !$0.isLost }
            status.message(
                PrintableText.sentence(failure.message)
                    + (isHeard ? " The other outputs continue." : " The picture continues without sound."))
        }
    }

    /// Reopens lost media when the retry is due.
    func retryLostMedia() {
        guard recovery.consumeDue() else { return }
        shared.update { $0.forgive() }
        perform(recovery.position(in: list).map { .open($0) } ?? .end)
    }

    // MARK: Schedule

    /// Adapts the schedule to the list.
    func reconcile() {
        guard !truncation.isActive else { return }
        let list = list
        if let awaited = list.awaited, !list.contains(awaited.item.id), !awaited.isOutsideList {
            // The awaited item was removed.
            perform(.openOrFinish(list.successor(of: awaited)))
        }
        guard status.isUnderWay, !list.entries.isEmpty else { return edits.finish() }
        if let index = list.firstMismatch { return perform(truncation.remove(from: index)) }
        preparation.layOut()
        edits.finish()
    }
}
