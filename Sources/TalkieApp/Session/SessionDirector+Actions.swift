internal import MediaCodecs
internal import MediaCore
internal import Playback
internal import ScreenOutput
internal import SyncRendering
internal import Telemetry

extension SessionDirector {
    /// Performs the actions bound to a key, in order.
    func press(_ key: String, isRepeat: Bool = false) {
        for action in arguments.keys.actions(for: key) where !isRepeat || action.repeats { perform(action) }
    }

    /// Performs an action and displays the change.
    func perform(_ action: PlayerAction) {
        let player = stage.player
        switch action {
        case .quit: quit(keepingPlace: arguments.keepsPlaces)
        case .quitKeepingPlace: quit(keepingPlace: true)
        case .togglePause: setPaused(player.state.phase == .playing || player.state.phase == .buffering)
        case .setPaused(let isPaused): setPaused(isPaused)
        case .seek(let distance, let exact):
            showJump()
            player.seek(by: distance, exact: exact)
        case .seekChapters(let count):
            showJump()
            player.seek(byChapters: count)
        case .stepForward: player.stepForward()
        case .stepBackward: player.stepBackward()
        case .multiplySpeed(let factor):
            settings.multiplySpeed(by: factor)
            applySpeed()
        case .resetSpeed:
            settings.speed = 1
            applySpeed()
        case .addVolume(let steps):
            player.changeVolume(by: steps)
            show("\(volumeText)\(settings.isMuted ? " (muted)" : "")")
        case .toggleMute:
            settings.isMuted.toggle()
            player.setMuted(settings.isMuted)
            show(settings.isMuted ? "Muted" : volumeText)
        case .toggleNightMode:
            settings.isNight.toggle()
            player.setNightMode(settings.isNight)
            show(settings.isNight ? "Night mode" : "Night mode: off")
        case .cycleDialogueLift:
            settings.cycleDialogueLift()
            player.setDialogueLift(settings.dialogueLift)
            show(
                settings.dialogueLift == 0
                    ? "Voices: unchanged" : "Voices: +\(Decimals.text(settings.dialogueLift, 0)) dB")
        case .addAudioDelay(let step):
            settings.addAudioDelay(step)
            player.setAudioDelay(settings.audioDelay)
            stage.distributor.note(.audioDelay(settings.audioDelay))
            show(StatusText.audioDelay(settings.audioDelay))
        case .cycleAudioTrack: player.cycleAudioTrack()
        case .cycleSubtitles(let step): player.cycleSubtitles(by: step)
        case .toggleSubtitles:
            settings.showsSubtitles.toggle()
            player.setSubtitlesShown(settings.showsSubtitles)
            show(settings.showsSubtitles ? "Subtitles: shown" : "Subtitles: hidden")
        case .cycleSecondarySubtitles(let step): player.cycleSecondarySubtitles(by: step)
        case .toggleSecondarySubtitles:
            settings.showsSecondarySubtitles.toggle()
            player.setSecondarySubtitlesShown(settings.showsSecondarySubtitles)
            show(settings.showsSecondarySubtitles ? "Secondary subtitles: shown" : "Secondary subtitles: hidden")
        case .addSubtitleDelay(let step):
            settings.addSubtitleDelay(step)
            player.setSubtitleDelay(settings.subtitleDelay)
            show(StatusText.subtitleDelay(settings.subtitleDelay))
        case .cycleDeinterlacing:
            settings.cycleDeinterlacing()
            player.setDeinterlacing(settings.deinterlacing)
            show("Deinterlace: \(settings.deinterlacing.rawValue)")
        case .changeView(let change):
            let words = settings.view.apply(change)
            stage.screen?.view = settings.view
            show(words)
        case .toggleFullScreen: stage.screen?.setFullScreen(nil)
        case .leaveFullScreen: stage.screen?.setFullScreen(false)
        case .chooseRoute: toggleRoutePicker()
        case .screenshot(let kind): takeScreenshot(kind)
        case .next: step(by: 1)
        case .previous: step(by: -1)
        case .toggleLoop:
            settings.toggleLoop()
            player.setLoop(settings.loop)
            show(settings.loop == .forever ? "Loop: this film" : "Loop: off")
        case .markSection: markSection()
        case .showProgress: show(StatusText.film(player.state) + pictureLine + soundLine)
        case .showStatistics: togglePage(.statistics)
        case .showKeys: togglePage(.keys)
        case .seekTo(let place, let exact):
            guard let moment = place.moment(in: player.state.duration) else {
                return show("The duration is unknown")
            }
            showJump()
            player.seek(to: moment, exact: exact)
        case .setSpeed(let speed):
            settings.speed = speed
            applySpeed()
        case .setVolume(let volume):
            player.setMasterVolume(volume)
            show("\(volumeText)\(settings.isMuted ? " (muted)" : "")")
        case .setMuted(let isMuted): if settings.isMuted != isMuted { perform(.toggleMute) }
        case .enterFullScreen: stage.screen?.setFullScreen(true)
        case .showText(let text): show(PrintableText.of(text))
        }
    }

    private var volumeText: String {
        "Volume: " + (stage.player.knownVolume.map { "\(Decimals.text($0, 0))%" } ?? "unknown")
    }

    private func setPaused(_ isPaused: Bool) {
        if isPaused {
            stage.player.pause()
            show("Paused\n" + StatusText.place(stage.player.state) + soundLine)
        } else {
            stage.player.play()
            stage.screen?.show(nil)
        }
    }

    private func applySpeed() {
        stage.player.setSpeed(settings.speed)
        show("Speed: x\(Decimals.text(settings.speed, 2))")
    }

    private func takeScreenshot(_ kind: ScreenshotKind) {
        guard let screen = stage.screen else { return }
        let mailbox = mailbox
        let layer = stage.player.layer
        screen.takeSnapshot(kind == .window ? .window : .picture) { picture in
            guard let picture else { return mailbox.post(.done("There is no picture to save")) }
            do {
                // A separate thread: encoding must not delay the loop's thread.
                _ = try WorkerThread.start(name: "screenshot") {
                    do {
                        var picture = picture
                        if kind == .subtitles { picture.lay(words: layer) }
                        let file = try ScreenshotFile.write(PNGEncoder.encode(bgra: picture.pixels, size: picture.size))
                        mailbox.post(.done("Screenshot: '\(file)'"))
                    } catch {
                        mailbox.post(.remark(.warning, "the screenshot cannot be saved: \(error)"))
                    }
                }
            } catch {
                mailbox.post(.remark(.warning, "the screenshot cannot be saved: \(error)"))
            }
        }
    }
}
