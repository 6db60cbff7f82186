internal import CardOutput
internal import Glibc
internal import MediaCodecs
package import MediaCore
internal import MediaFiles
internal import Playback
internal import Profiles
internal import Remote
internal import Routing
internal import ScreenOutput
internal import Sockets
internal import SyncRendering
internal import Talkie
internal import Telemetry

/// Runs `talkie play` on the main thread, as SDL requires. Returns after the last film or when the user quits.
package enum PlaySession {
    /// Runs a session.
    ///
    /// - Returns: The exit status; errors have been printed.
    /// - Throws: `TalkieError` if it cannot start; nothing is open then.
    package static func run(_ arguments: PlayArguments) throws(TalkieError) -> Int32 {
        var log: LogFile?
        if let path = arguments.logPath { log = try LogFile(creating: path) }
        do throws(TalkieError) {
            let status = try play(arguments, log: log)
            log?.write(.info, "the session ends with status \(status)")
            return status
        } catch {
            log?.write(.error, error.message)
            throw error
        }
    }

    /// Checks the inputs, opens the outputs, plays, and releases everything.
    private static func play(_ arguments: PlayArguments, log: LogFile?) throws(TalkieError) -> Int32 {
        let terminal = Terminal()
        for note in arguments.notes { log?.write(.warning, note) }
        if !arguments.isReallyQuiet, arguments.logLevel >= .warning {
            for note in arguments.notes { terminal.say("talkie: " + PrintableText.sentence(note)) }
        }
        // Inputs are checked before outputs are opened.
        var inputs = try Inputs(arguments)
        let mailbox = SessionMailbox()
        MainQueue.acquire()
        // Called before any other thread is started: all threads inherit the blocked signals.
        let interruption = Interruption()
        let signals = try SignalWatch.begin { request in
            mailbox.post(.request(request))
            if case .end(let status) = request { interruption.raise(status: status) }
        }
        defer { signals.stop() }
        let timeline = try timelineFile(arguments, notes: &inputs.notes)
        let listener = try controlListener(arguments)
        var sessionPage: SessionPage?
        if let remote = arguments.remote { sessionPage = try SessionPage(remote) }
        let destination: Destination
        do throws(TalkieError) {
            destination = try Destination(arguments, terminal, until: interruption)
        } catch {
            if let status = interruption.status { return status }
            throw error
        }
        let events = EventLog(clock: MonotonicClock())
        let distributor = try record(events, in: timeline, mailbox)
        let keys = terminalKeys(arguments, films: inputs.list.items, mailbox: mailbox, notes: &inputs.notes)
        defer { keys?.stop() }
        let player = try player(
            arguments, inputs: &inputs, destination: destination, events: events, distributor: distributor,
            mailbox: mailbox)
        let loop = arguments.options.playsVideo ? screenLoop(arguments, of: player, mailbox) : nil
        let inhibitor = inhibitor(of: player)
        defer { inhibitor?.stop() }
        let director = SessionDirector(
            stage: SessionDirector.Stage(
                player: player, screen: loop?.control, terminal: terminal, keys: keys, distributor: distributor,
                registry: destination.registry,
                routes: destination.route?.destinations ?? [], tracks: destination.route?.tracks ?? [:],
                home: destination.card.thisComputer, log: log, pageLink: sessionPage?.address, inhibitor: inhibitor),
            arguments: arguments, items: inputs.list.items, mailbox: mailbox)
        director.report(leftOut: inputs.list.failures, warnings: inputs.list.warnings + inputs.notes)
        var server: IPCServer?
        var page: RemotePage?
        do throws(ExhaustionError) {
            if let listener { server = try IPCServer.start(on: listener, control: director.control) }
            page = try sessionPage?.start(
                director.control, screen: loop?.control, terminal: terminal, log: log, isQuiet: arguments.isReallyQuiet)
            try director.start()
        } catch {
            server?.close()
            page?.close()
            player.shutDown()
            distributor.stop()
            throw TalkieError(error)
        }
        let remote = remote(of: director, arguments)
        loop?.run()
        let status = director.join()
        director.controls.finishScreenshots()
        server?.close()
        page?.close()
        // The speaker is released before the program ends, regardless of the status.
        let isDown = player.shutDown(within: Player.usualTimeout)
        remote?.stop()
        destination.registry.remember()
        distributor.stop()
        terminal.leaveStatus()
        director.reportRest()
        guard isDown else {
            keys?.stop()
            _exit(status)
        }
        return status
    }

    // MARK: Parts

    /// What is read before anything is opened.
    private struct Inputs {
        let list: PlaylistLoader
        let trust: ServerTrust
        let cookies: CookieJar?
        /// Warnings for the user.
        var notes: [String] = []

        init(_ arguments: PlayArguments) throws(TalkieError) {
            list = try PlaylistLoader(arguments.files)
            trust = try PlaySession.serverTrust(arguments)
            cookies = try PlaySession.cookies(arguments, notes: &notes)
        }
    }

    /// The outputs of a session.
    private struct Destination {
        let card: SoundCardProvider
        let registry: OutputRegistry
        /// The outputs at the start; nil without audio.
        let route: AudioRoute?

        /// Waits for the outputs that the arguments name.
        init(
            _ arguments: PlayArguments, _ terminal: Terminal, until interruption: Interruption
        ) throws(TalkieError) {
            card = SoundCardProvider(
                device: arguments.options.audioDevice,
                replacesLostCards: [nil, .local].contains(arguments.lostRoute),
                channels: arguments.options.audioChannels)
            registry = OutputRegistry(card: card, saying: .commands, preferring: arguments.speakerPreferences)
            guard arguments.options.playsAudio else {
                route = nil
                return
            }
            // A film without the language of a speaker plays there as on the others.
            let requests = arguments.speakers.map { speaker in
                AudioRoute.Request(
                    speaker.choice.name, choice: speaker.track(beside: arguments.options), channels: speaker.part)
            }
            do throws(TalkieError) {
                route = try AudioRoute(
                    to: requests.isEmpty ? [AudioRoute.Request("local")] : requests, in: registry, until: interruption
                ) {
                    if !arguments.isReallyQuiet { terminal.show(status: "\($0) …") }
                }
            } catch {
                // A damaged pairing file can be the reason for the refusal.
                if interruption.status == nil {
                    for note in registry.notes { terminal.say("talkie: \(PrintableText.sentence(note))") }
                }
                throw error
            }
        }
    }

    /// Starts the flight recorder and the events of outputs.
    private static func record(
        _ events: EventLog, in timeline: consuming TimelineFile?, _ mailbox: SessionMailbox
    ) throws(TalkieError) -> EventDistributor {
        let distributor = EventDistributor(log: events)
        do throws(ExhaustionError) {
            try distributor.start(
                recordingTo: timeline, complain: { mailbox.post(.remark(.warning, $0)) },
                onClockEvent: { mailbox.post(.clock($0, $1)) })
        } catch {
            throw TalkieError(error)
        }
        return distributor
    }

    /// Creates the player.
    ///
    /// - Parameter inputs: Receives the notes about outputs and insecure options.
    private static func player(
        _ arguments: PlayArguments, inputs: inout Inputs, destination: Destination,
        events: EventLog, distributor: EventDistributor, mailbox: SessionMailbox
    ) throws(TalkieError) -> Player {
        let registry = destination.registry
        let profiles = arguments.isAudioDelayChosen ? [] : ProfileStore().all().profiles
        let calibration = destination.route.map { route in
            RouteCalibration(route.output, identify: { registry.identity(of: $0) }, profiles: { profiles })
        }
        registry.onIdentityChange {
            // At once, as the start follows: a later change would be a discontinuity of the audio.
            calibration?.reapply()
            mailbox.post(.sinkChanged)
        }
        let playsCard = arguments.speakers.isEmpty || arguments.speakers.contains { $0.choice == .local }
        let notice = (playsCard ? ProfileStore().noticeOfOldCards(among: profiles) : nil).map {
            $0 + "; talkie calibrate local measures it again, talkie profile list still shows it"
        }
        // The screen is known only once the window is open; usually there is only one.
        calibration?.setScreen(
            nil, mode: LatencyProfile.Key.mode(refresh: nil, isFullScreen: arguments.isFullScreen))
        var options = arguments.options
        options.isOutputNamed = !arguments.speakers.isEmpty
        options.reading.trust = inputs.trust
        options.reading.cookies = inputs.cookies
        options.pages.onList = { page, films in
            mailbox.post(.listed(page: page, films.map { PlaylistLoader.Item(address: $0.address, title: $0.title) }))
        }
        options.reading.onTrouble = { mailbox.post(.remark(.warning, $0)) }
        options.loadsArtwork = arguments.hasMediaControls && SystemMessageBus.isPresent(.session)
        options.expectsMore = inputs.list.items.count > 1
        var components = Player.Components.film(audioOutput: destination.route?.output, options: options)
        components.subtitles?.makeDrawing = { SubtitlePainter() }
        components.calibration = calibration
        let player = Player(components: components, options: options, events: events) { mailbox.post(.player($0)) }
        if player.state.phase == .failed, let failure = player.state.failure {
            distributor.stop()
            throw failure
        }
        inputs.notes += cautions(arguments) + registry.notes + (notice.map { [$0] } ?? [])
        return player
    }

    /// Starts the control by other programs of the desktop. Returns nil if it is switched off or there is none.
    private static func remote(of director: SessionDirector, _ arguments: PlayArguments) -> MPRISService? {
        guard arguments.hasMediaControls else { return nil }
        let service = MPRISService(director.control, identity: "Talkie", desktopEntry: "talkie")
        return service.start() ? service : nil
    }

    /// Starts the inhibition of idleness, which is not needed yet. Returns nil without a message bus.
    private static func inhibitor(of player: Player) -> SleepInhibitor? {
        guard SystemMessageBus.isPresent(.system) || SystemMessageBus.isPresent(.session) else { return nil }
        do throws(ExhaustionError) {
            let inhibitor = try SleepInhibitor(
                why: "A film is playing", scope: .idleness, isNeeded: false,
                onEvent: SleepInhibitor.interruptions(of: player))
            try inhibitor.start()
            return inhibitor
        } catch { return nil }
    }

    /// Returns the certificates to trust.
    private static func serverTrust(_ arguments: PlayArguments) throws(TalkieError) -> ServerTrust {
        guard arguments.verifiesServers else { return .unverified }
        guard let file = arguments.authorityFile else { return .system }
        do throws(MediaError) { return try .system(and: file) } catch {
            throw TalkieError(error.code == .notPermitted ? .notPermitted : .cannotOpen, error.message)
        }
    }

    /// Returns the shared cookies; nil: each film starts without cookies.
    private static func cookies(_ arguments: PlayArguments, notes: inout [String]) throws(TalkieError) -> CookieJar? {
        guard arguments.sharesCookies else { return nil }
        let jar = CookieJar()
        guard let path = arguments.cookieFile else { return jar }
        do throws(MediaError) {
            let file = try CookieFile(reading: path)
            file.fill(jar)
            notes += file.mistakes
        } catch {
            throw TalkieError(error.code == .notPermitted ? .notPermitted : .cannotOpen, error.message)
        }
        return jar
    }

    /// Warnings about insecure options.
    private static func cautions(_ arguments: PlayArguments) -> [String] {
        arguments.verifiesServers
            ? [] : ["server certificates are not checked (--tls-verify=no); connections can be intercepted"]
    }

    /// Creates the socket for other programs; they connect once it is served.
    private static func controlListener(_ arguments: PlayArguments) throws(TalkieError) -> LocalListener? {
        guard let path = arguments.controlSocketPath else { return nil }
        do throws(SocketError) { return try LocalListener(path: path) } catch {
            throw TalkieError(
                error.code == .notPermitted ? .notPermitted : .failed,
                "the socket '\(path)' cannot be created (\(error.message)); choose another path")
        }
    }

    /// Creates the flight recorder's file.
    private static func timelineFile(
        _ arguments: PlayArguments, notes: inout [String]
    ) throws(TalkieError) -> TimelineFile? {
        guard let path = arguments.timelinePath else { return nil }
        let file = try TimelineFile(creating: path, rotation: arguments.timelineRotation)
        if let aside = file.setAside { notes.append("the timeline of an interrupted run was renamed to '\(aside)'") }
        return file
    }

    /// Starts reading keys from the terminal. Returns nil without a terminal, or if a film is read from standard input.
    private static func terminalKeys(
        _ arguments: PlayArguments, films: [PlaylistLoader.Item], mailbox: SessionMailbox, notes: inout [String]
    ) -> TerminalKeys? {
        guard isatty(0) == 1, !films.contains(where: { $0.address == "-" }) else { return nil }
        do throws(ExhaustionError) {
            let keys = try TerminalKeys { mailbox.post(.terminalKey($0)) }
            return try keys.start() ? keys : nil
        } catch {
            notes.append("keys of the terminal cannot be read: \(error.message)")
            return nil
        }
    }

    private static func screenLoop(
        _ arguments: PlayArguments, of player: Player, _ mailbox: SessionMailbox
    ) -> ScreenLoop {
        var options = ScreenOptions()
        options.isFullScreen = arguments.isFullScreen
        (options.followsDisplays, options.isPlacedByUser) = (true, true)
        if let size = arguments.windowSize { options.size = PixelSize(width: size.width, height: size.height) }
        options.presentation =
            switch arguments.videoOutput {
            case .auto: .automatic
            case .gpuNext, .gpu: .placebo
            case .sdl: .texture
            case .x11, .wlshm: .surface
            }
        options.drawing = arguments.options.drawing
        switch arguments.screen {
        case .number(let index)?: options.display = .index(index)
        case .named(let name)?: options.display = .name(name)
        case nil: break
        }
        let loop = ScreenLoop(options: options, converter: SoftwareFrameConverter(drawing: options.drawing))
        loop.control.view = arguments.view
        // Set before the first frame is decoded.
        player.layer.toneMapping.isDoneByScreen = loop.mapsTones
        loop.control.onInput { mailbox.post(.screen($0)) }
        return loop
    }
}
