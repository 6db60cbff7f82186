internal import MediaCore
internal import Playback
internal import SyncRendering

// Remote control and monitoring over MQTT.
extension KioskDirector {
    func joinFleet() {
        guard let settings = configuration.fleet else { return }
        let mailbox = mailbox
        do throws(TalkieError) {
            let link = try FleetLink(
                settings, tell: { mailbox.post(.remark(.warning, $0)) },
                handle: { mailbox.post(.fleet($0, $1)) })
            do throws(ExhaustionError) { try link.start() } catch { throw TalkieError(error) }
            fleet = link
        } catch {
            // Films are shown even without the broker.
            say(.error, error.message, KioskNote(.fault))
        }
    }

    func tellFleet() {
        if let fleet { fleet.publish(stateMessage) }
    }

    /// The state message published to the broker.
    var stateMessage: KioskStateMessage {
        let state = stage.player.state
        var message = KioskStateMessage(stage.health.withLock { $0 })
        if let current, isPlaying {
            message.title = current.title ?? state.title
            (message.item, message.items) = (state.itemNumber, state.itemCount)
            (message.position, message.duration) = (state.position, state.duration)
        }
        message.part = shown.part
        message.volume = state.volume
        wall?.describe(in: &message)
        return message
    }

    /// Runs a command and replies with its result. A screenshot is replied to later.
    func carryOut(_ command: FleetCommand, _ reply: @escaping FleetLink.Reply) {
        if let line = commandLog.line(for: command.action.words, at: now) { say(.info, line) }
        switch command.action {
        case .next where !rules.allowsSeeking, .previous where !rules.allowsSeeking:
            return reply(false, "a wall plays at the position of its clock; its screens cannot seek")
        case .next where isWaiting, .previous where isWaiting: return reply(false, "nothing is scheduled at this time")
        // A skip would end the image of the slate.
        case .next where !isPlaying: return reply(false, "no film is shown")
        case .next: stage.player.skip()
        case .previous:
            guard current != nil, stage.player.state.itemNumber > 1 else {
                return reply(false, "this is the first film")
            }
            (nextAttempt, isSlatePicture) = (nil, false)
            progress.leave()
            stage.player.previous()
            if isHeld { stage.player.pause() }
        case .pause:
            slates.hold()
            stage.player.pause()
        case .play:
            if slates.resume() { applySlate() }
            if !startOnWall(), !isWaiting { stage.player.play() }
        case .reload: reload()
        case .screenshot: return screenshots.request(reply)
        case .volume(let volume): stage.player.setVolume(volume)
        case .slate(let words):
            stage.player.pause()
            if slates.hold(showing: words) { applySlate() }
        }
        reply(true, nil)
    }
}

extension FleetCommand.Action {
    /// The name of the command in the log.
    fileprivate var words: String {
        switch self {
        case .next: "next"
        case .previous: "previous"
        case .pause: "pause"
        case .play: "play"
        case .reload: "reload"
        case .screenshot: "screenshot"
        case .volume(let volume): "volume \(Decimals.text(volume, 0))"
        case .slate: "slate"
        }
    }
}
