internal import MediaCore
internal import Playback
internal import ScreenOutput

// Schedule, configuration changes, sleep, screen and slate.
extension KioskDirector {
    /// Applies everything that the schedule makes due.
    func followTheClock() {
        let now = stage.now()
        if hours.hasStarted(at: now) {
            hideSlate()
            if !isPlaying { open() }
        } else if let start = hours.start, slate == nil, !shown.isQuiet {
            showSlate(.begins(start))
        }
        applySchedule(at: now)
    }

    private func applySchedule(at now: WallTime) {
        guard let before = hours.advance(to: now) else { return }
        if shown.part != before.part {
            say(
                .info, shown.part.map { "part of the day: '\($0)'" } ?? "no part of the day applies",
                KioskNote(.schedule))
        }
        if shown.programme.playlist != before.programme.playlist || shown.programme.order != before.programme.order {
            findItems()
        }
        applySound(before: before.programme)
        if shown.isQuiet != before.isQuiet { shown.isQuiet ? beQuiet() : wake() }
    }

    /// Applies the speakers and the volume of the current programme.
    private func applySound(before: KioskConfiguration.Programme) {
        let programme = shown.programme
        sound?.want(SoundTiers(wanted: programme.speakers, fallbacks: programme.fallbacks), at: now)
        if let volume = programme.volume {
            stage.player.setVolume(volume)
        } else if before.volume != nil {
            stage.player.restoreVolumes()
        }
    }

    private func beQuiet() {
        say(.info, "quiet hours begin: screen and sound are off\(quietEnd)", KioskNote(.schedule))
        nextAttempt = nil
        stage.player.pause()
        setScreenPower(false)
    }

    /// Returns " until 07:00", or an empty string without an end.
    var quietEnd: String { hours.quietEnd(after: stage.now()) }

    private func wake() {
        say(.info, "quiet hours are over", KioskNote(.schedule))
        setScreenPower(true)
        if !isHeld { stage.player.play() }
        if rules.restartsByClock || !isPlaying { open() }
    }

    // MARK: Configuration

    /// Reads the configuration again and applies it unless it has mistakes.
    func reload() {
        stage.manager.notify(.reloading(at: .now))
        defer { stage.manager.notify(.ready) }
        let fresh: KioskConfiguration
        do throws(KioskConfigurationError) { fresh = try stage.reload() } catch {
            let note = KioskNote(.reload)
            reporter.noteRefusal(ConfigMistake.messages(for: error.mistakes).first)
            stage.log.say(.error, "the new configuration is invalid; the old one remains active", note)
            for sentence in ConfigMistake.messages(for: error.mistakes) { stage.log.say(.error, sentence, note) }
            return
        }
        reporter.noteConfiguration(at: stage.now())
        let event = fresh == configuration ? ": no changes" : ""
        say(.info, "the configuration was reloaded\(event)", KioskNote(.reload))
        if fresh != configuration { apply(fresh) }
        let waiting = configuration.keysThatWait(inForce: inForce, hasAudioOutputs: sound != nil)
        if !waiting.isEmpty {
            stage.log.say(
                .warning, "these keys take effect at the next start: \(waiting.joined(separator: ", "))",
                KioskNote(.reload))
        }
    }

    private func apply(_ fresh: KioskConfiguration) {
        let old = configuration
        configuration = fresh
        hours.replace(fresh)
        for sentence in ConfigMistake.messages(for: fresh.remarks) {
            stage.log.say(.warning, sentence, KioskNote(.reload))
        }
        if fresh.loops != old.loops { applyLoop() }
        if fresh.start != old.start, fresh.start != inForce.start, !isPlaying, rules.allowsWaiting {
            inForce.start = fresh.start
            applyStart()
        }
        if fresh.imageDuration != old.imageDuration {
            stage.setImageDuration(fresh.imageDuration)
            if let wall {
                wall.forgetExtents()
                findItems()
            }
        }
        sound?.answerTimeout = fresh.speakerTimeout
        screen?.arrange(by: fresh)
        if fresh.mode != old.mode { applyMode() }
        if fresh.slate != old.slate, case .nothing? = slate {
            if fresh.slate == nil, isSlatePicture { stage.player.skip() }
            showSlatePicture()
            refreshSlate()
        }
        applySchedule(at: stage.now())
    }

    /// Applies a changed `start_at` before the start.
    private func applyStart() {
        let wasAhead = beginsAt != nil
        hours.waitForStart(at: stage.now())
        if case .begins? = slate { hideSlate() }
        if wasAhead, beginsAt == nil { open() }
    }

    // MARK: Sleep

    /// Logs the state of the sleep inhibitor; saves the position before sleep.
    func handleSleepEvent(_ event: SleepInhibitor.Event) {
        switch event {
        case .kept(.system("idle")):
            say(.info, "this computer is kept from idling, but the system does not permit blocking sleep")
        case .kept: say(.info, "this computer is kept from sleeping")
        case .refused(let reason): say(.info, "this computer cannot be kept from sleeping: \(reason)")
        case .fallsAsleep:
            say(.warning, "the computer is going to sleep", KioskNote(.fault))
            keepPlace()
        case .woke:
            say(.warning, "the computer has woken up", KioskNote(.repair))
            // Observations from before the sleep are not faults.
            watch.forgive(at: now)
        }
    }

    // MARK: Screen

    /// Switches the display on or off, and runs the hook's command.
    func setScreenPower(_ isOn: Bool) {
        stage.screen?.setPower(isOn)
        let hooks = configuration.hooks
        hookRunner.run(isOn ? "screen_on" : "screen_off", isOn ? hooks.screenOn : hooks.screenOff)
    }

    func applyMode() {
        let rate = stage.player.state.pictureFormat?.frameRate.map { Double($0.numerator) / Double($0.denominator) }
        stage.screen?.setMode(configuration.mode, filmRate: rate)
    }

    // MARK: Slate

    /// Shows a slate. A slate of a fleet command stays visible while the kiosk is paused.
    func showSlate(_ slate: Slate) { if slates.show(slate) { applySlate() } }

    func hideSlate() { if slates.hide() { applySlate() } }

    /// Shows the current slate, or removes the previous one.
    func applySlate() {
        guard let slate else { screen?.show(nil, places: nil, isInCorner: false); return }
        if case .nothing(let reason) = slate {
            say(.warning, "nothing is shown: \(reason ?? "no films have been found yet")", KioskNote(.fault))
            showSlatePicture()
        }
        refreshSlate()
    }

    /// Shows the configured image while there is nothing to play.
    func showSlatePicture() {
        guard let picture = configuration.slate, !isPlaying, stage.screen != nil, !exclusions.isSkipped(picture)
        else { return }
        isSlatePicture = true
        progress.expectOpening()
        stage.player.openOutsideList(picture)
        stage.player.play()
    }

    /// Handles player phases while the slate image is open; nothing follows it.
    func takeOfSlate(_ phase: PlayerState.Phase) {
        switch phase {
        case .buffering, .playing: attachScreen()
        case .failed:
            isSlatePicture = false
            say(
                .error, stage.player.state.failure?.message ?? "the image of the slate cannot be shown",
                KioskNote(.broken))
            refreshSlate()
        case .idle, .opening, .paused, .ended: break
        }
    }

    /// Updates the text of the slate, which may have changed.
    func refreshSlate() {
        guard let slate else { return }
        screen?.show(
            slate, places: sound?.places, isInCorner: isSlatePicture && configuration.slate != nil)
    }
}
