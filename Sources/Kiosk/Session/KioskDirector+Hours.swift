internal import MediaCore
internal import Playback
internal import ScreenOutput

// Schedule, configuration changes, sleep, screen and slate.
extension KioskDirector {
    /// True if nothing may be opened: before the start, or in quiet hours.
    var isWaiting: Bool { beginsAt != nil || shown.isQuiet }

    /// Applies everything that the schedule makes due.
    func followTheClock() {
        let now = stage.now()
        if let start = beginsAt {
            if now >= start {
                beginsAt = nil
                hideSlate()
                if !isPlaying { open() }
            } else if slate == nil, !shown.isQuiet {
                showSlate(.begins(stage.calendar.local(start).time.words))
            }
        }
        take(schedule.shown(at: now))
    }

    private func take(_ shown: KioskSchedule.Shown) {
        let before = self.shown
        guard shown != before else { return }
        self.shown = shown
        if shown.part != before.part {
            say(
                .info, shown.part.map { "part of the day: '\($0)'" } ?? "no part of the day applies",
                KioskNote(.schedule))
        }
        if shown.programme.playlist != before.programme.playlist || shown.programme.order != before.programme.order {
            look()
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
    var quietEnd: String {
        schedule.quietEnd(after: stage.now()).map { " until \(stage.calendar.local($0).time.words)" } ?? ""
    }

    private func wake() {
        say(.info, "quiet hours are over", KioskNote(.schedule))
        setScreenPower(true)
        if !isHeld { stage.player.play() }
        if wall != nil || !isPlaying { open() }
    }

    // MARK: Configuration

    /// Reads the configuration again and applies it unless it has mistakes.
    func reload() {
        stage.manager.tell(.reloading(at: .now))
        defer { stage.manager.tell(.ready) }
        let fresh: KioskConfiguration
        do throws(KioskConfigurationError) { fresh = try stage.reload() } catch {
            let note = KioskNote(.reload)
            reporter.noteRefusal(ConfigMistake.told(error.mistakes).first)
            stage.log.say(.error, "the new configuration is invalid; the old one remains active", note)
            for sentence in ConfigMistake.told(error.mistakes) { stage.log.say(.error, sentence, note) }
            return
        }
        reporter.noteConfiguration(at: stage.now())
        let news = fresh == configuration ? ": no changes" : ""
        say(.info, "the configuration was reloaded\(news)", KioskNote(.reload))
        if fresh != configuration { apply(fresh) }
        let waiting = waitingKeys
        if !waiting.isEmpty {
            stage.log.say(
                .warning, "these keys take effect at the next start: \(waiting.joined(separator: ", "))",
                KioskNote(.reload))
        }
    }

    private func apply(_ fresh: KioskConfiguration) {
        let old = configuration
        configuration = fresh
        schedule = KioskSchedule(fresh, calendar: stage.calendar)
        for sentence in ConfigMistake.told(fresh.remarks) { stage.log.say(.warning, sentence, KioskNote(.reload)) }
        if fresh.loops != old.loops { applyLoop() }
        if fresh.start != old.start, fresh.start != inForce.start, !isPlaying, wall == nil {
            inForce.start = fresh.start
            applyStart()
        }
        if fresh.imageDuration != old.imageDuration {
            stage.setImageDuration(fresh.imageDuration)
            forgetLengths()
        }
        sound?.answerTimeout = fresh.speakerTimeout
        applyScreen(old: old)
        if fresh.slate != old.slate, case .nothing? = slate {
            if fresh.slate == nil, isSlatePicture { stage.player.skip() }
            showSlatePicture()
            refreshSlate()
        }
        take(schedule.shown(at: stage.now()))
    }

    /// Applies a changed `start_at` before the start.
    private func applyStart() {
        let wasAhead = beginsAt != nil
        beginsAt = schedule.start(from: stage.now())
        if case .begins? = slate { hideSlate() }
        if wasAhead, beginsAt == nil { open() }
    }

    // MARK: Sleep

    /// Logs the state of the sleep inhibitor; saves the position before sleep.
    func take(_ news: SleepInhibitor.News) {
        switch news {
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
        if let command = isOn ? configuration.hooks.screenOn : configuration.hooks.screenOff {
            run(hook: isOn ? "screen_on" : "screen_off", command)
        }
    }

    /// Runs a command in the shell without blocking. A failure is logged under the hook's key: the command may contain
    /// a password.
    private func run(hook name: String, _ command: String) {
        let mailbox = mailbox
        do throws(ExhaustionError) {
            try stage.run("kiosk hook", .background) {
                var trouble: String?
                do throws(BoundedProgram.Failure) {
                    let outcome = try BoundedProgram.run(
                        "/bin/sh", ["-c", command], most: 64 << 10, patience: Self.hookPatience, isCancelled: { false })
                    if outcome.status != 0 {
                        let line = outcome.complaint.split(separator: "\n").last.map { String($0.prefix(200)) }
                        // The shell's own messages quote the command.
                        let reason = line.flatMap { $0.contains(command) ? nil : $0 }
                        trouble = reason ?? outcome.status.map { "status \($0)" } ?? "ended by a signal"
                    }
                } catch {
                    trouble = error.words
                }
                if let trouble { mailbox.post(.remark(.warning, "the command hooks.\(name) failed: \(trouble)")) }
            }
        } catch {
            say(.warning, error.message)
        }
    }

    /// Timeout of a hook's command.
    private static let hookPatience = Duration.seconds(30)

    private func applyScreen(old: KioskConfiguration) {
        applyArrangement()
        if configuration.mode != old.mode { applyMode() }
    }

    /// Applies rotation and overscan for the window's display.
    func applyArrangement() {
        guard let screen = stage.screen else { return }
        let isOverscanning = configuration.overscan == nil && stage.isOverscanning(screen.status.display)
        let wanted = configuration.arrangement(isOverscanning: isOverscanning)
        if wanted != screen.arrangement { screen.arrangement = wanted }
    }

    /// The keys of `configuration` that take effect at the next start, in the order of the guide.
    private var waitingKeys: [String] {
        let (fresh, old) = (configuration, inForce)
        let isChanged: [(key: String, waits: Bool)] = [
            ("speakers", sound == nil && fresh.hasSound),
            ("screen", fresh.screen != old.screen),
            ("operator_screen", fresh.operatorScreen != old.operatorScreen),
            ("start_at", fresh.start != old.start),
            ("metrics", fresh.metrics != old.metrics), ("timeline", fresh.timeline != old.timeline),
            ("wall", fresh.wall != old.wall), ("fleet", fresh.fleet != old.fleet),
        ]
        return isChanged.filter(\.waits).map(\.key)
    }

    func applyMode() {
        let rate = stage.player.state.pictureFormat?.frameRate.map { Double($0.numerator) / Double($0.denominator) }
        stage.screen?.setMode(configuration.mode, filmRate: rate)
    }

    // MARK: Slate

    /// Shows a slate. A slate of a fleet command stays visible while the kiosk is paused.
    func showSlate(_ slate: Slate) {
        guard slate != self.slate else { return }
        if case .asked? = self.slate, isHeld {
            if case .asked = slate {} else { return coveredSlate = slate }
        }
        self.slate = slate
        if case .nothing(let reason) = slate {
            say(.warning, "nothing is shown: \(reason ?? "no films have been found yet")", KioskNote(.fault))
        }
        if case .nothing = slate { showSlatePicture() }
        refreshSlate()
    }

    /// Shows the text of a fleet command until `endAskedSlate`.
    func showAskedSlate(_ words: String?) {
        if case .asked? = slate {} else { coveredSlate = slate }
        showSlate(.asked(words))
    }

    /// Removes the text of a fleet command and restores the slate that it replaced.
    func endAskedSlate() {
        guard case .asked? = slate else { return }
        hideSlate()
        if let coveredSlate { showSlate(coveredSlate) }
        coveredSlate = nil
    }

    /// Shows the configured image while there is nothing to play.
    func showSlatePicture() {
        guard let picture = configuration.slate, !isPlaying, stage.screen != nil, !exclusions.isSkipped(picture)
        else { return }
        isSlatePicture = true
        opensUnderWay += 1
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
        guard let slate, let screen = stage.screen else { return }
        if !isScreenAttached { screen.open(for: Slate.size) }
        screen.show(
            ScreenMessage(
                slate.words(places: sound?.places), for: .seconds(86_400),
                at: isSlatePicture && configuration.slate != nil ? .corner : .middle))
    }

    func hideSlate() {
        if case .asked? = slate, isHeld { return coveredSlate = nil }
        guard slate != nil else { return }
        slate = nil
        stage.screen?.show(nil as ScreenMessage?)
    }
}
