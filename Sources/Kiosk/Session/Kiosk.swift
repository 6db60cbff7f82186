internal import MediaCodecs
package import MediaCore
internal import Playback
internal import Remote
package import Routing
internal import ScreenOutput
internal import Storage
package import SyncRendering
internal import Synchronization
internal import Talkie
internal import Telemetry

/// A kiosk: shows video on a screen and plays audio on speakers as configured, until it is ended.
///
/// `run` must be called on the main thread, as the window system requires; `ask` is callable from any thread, also
/// before `run`.
package final class Kiosk: Sendable {
    /// The parts of a kiosk that the program provides.
    package struct Components: Sendable {
        /// The available outputs.
        var registry: OutputRegistry
        /// The audio output of this computer, the last fallback.
        var home: OutputDestination
        /// Reads the configuration from its file again.
        var reload: @Sendable () throws(KioskConfigurationError) -> KioskConfiguration
        /// The log of the kiosk.
        var log: KioskLog
        /// The work of the program for controllers.
        var tasks: KioskTasks
        /// The service manager. Must be created before other threads start.
        var manager: ServiceManager

        package init(
            registry: OutputRegistry, home: OutputDestination,
            reload: @escaping @Sendable () throws(KioskConfigurationError) -> KioskConfiguration,
            log: KioskLog, tasks: KioskTasks, manager: ServiceManager
        ) {
            (self.registry, self.home, self.reload, self.log) = (registry, home, reload, log)
            (self.tasks, self.manager) = (tasks, manager)
        }
    }

    private let configuration: KioskConfiguration
    private let file: String
    let mailbox = Mailbox<KioskEvent>()
    /// Nil before `run`.
    private let screen = Lock<ScreenControl?>(nil)

    /// Creates a kiosk.
    ///
    /// - Parameter file: The path of the configuration, from which the state files are named.
    package init(_ configuration: KioskConfiguration, file: String) {
        (self.configuration, self.file) = (configuration, file)
    }

    /// Posts a request, which is handled once `run` has started the kiosk's thread. Returns at once. Any thread.
    package func ask(_ request: KioskRequest) { mailbox.post(.request(request)) }

    /// Closes the window and restores the display's mode. Blocks until then, at most a second. Any thread but the main
    /// thread.
    package func closeScreen() { screen.withLock { $0 }?.stop(within: .seconds(1)) }

    /// How long the end of the threads may take: a broker gets two seconds, a calibration five, and an announced
    /// speaker two.
    private static let endTimeout: Duration = .seconds(12)

    /// Runs until the kiosk ends. Must be called once, on the main thread.
    ///
    /// - Returns: The reason of the end, and whether all threads ended and the player released its inputs within their
    ///   timeouts.
    /// - Throws: The error that prevented the start; the player is shut down.
    package func run(_ parts: Components) throws(TalkieError) -> (end: KioskEnd, isDown: Bool) {
        let mailbox = mailbox
        var options = PlayerOptions()
        // A visitor who touches a speaker must not stop the kiosk.
        options.obeysOutputs = false
        // The kiosk repairs its outputs itself; films never pause.
        options.session.mixing = .mixes
        // Video starts without waiting for speakers; each joins as soon as it is ready.
        options.startPolicy = .video
        // A wall's list may become longer; other lists are known when they start.
        options.expectsMore = configuration.wall != nil
        options.stopsAtFailures = configuration.wall == nil
        options.playsAudio = configuration.hasAudio
        // A speaker accepts damaged packets: without this, a film without progress would seem to be heard.
        options.checksPackets = true
        options.imageDisplayDuration = configuration.imageDuration
        options.reading.onTrouble = { mailbox.post(.remark(.warning, $0)) }
        let group = OutputGroup(members: try parts.registry.outputs(at: parts.home), codecs: FilmAudioCodecs())
        let crashes = CrashRecord(StateFolder.standard(), configuration: file)
        let player = Player(
            group, registry: parts.registry, options: options,
            willOpen: { address in
                if address == TestSound.address { return TestSound() }
                crashes.recordOpening(address)
                return nil
            }
        ) { mailbox.post(.player($0)) }
        if player.state.phase == .failed, let failure = player.state.failure { throw failure }
        let distributor = EventDistributor(log: player.events)
        let loop = screenLoop()
        player.layer.toneMapping.isDoneByScreen = loop.mapsTones
        screen.withLock { $0 = loop.control }
        loop.control.onInput { mailbox.post(.screen($0)) }
        let resumePositions = KioskResumePositions(StateFolder.standard(), configuration: file) {
            mailbox.post(.stateFailure($0))
        }
        var timeline: TimelineFile?
        if let wanted = configuration.timeline {
            do throws(TalkieError) {
                timeline = try TimelineFile(creating: wanted.file, rotation: wanted.rotation)
            } catch {
                // Films are shown even if the flight recorder cannot be opened.
                parts.log.say(.error, error.message, KioskNote(.fault))
            }
        }
        let film = Player.Components.film(audioOutput: nil, options: options)
        let measure: @Sendable (String) throws(MediaError) -> FilmExtent = { [options] (address) throws(MediaError) in
            try film.extent(of: address, options, OpenCancellation())
        }
        let health = Lock(
            KioskHealth(
                at: .now, shown: .nothing("no films have been found yet"), uptime: .zero,
                configuration: KioskHealth.Configuration(loaded: .now)))
        let control = loop.control
        let screenshots: @Sendable () async -> [UInt8]? = {
            await control.pngScreenshot { mailbox.post(.remark(.warning, $0)) }
        }
        let director: KioskDirector
        var page: RemotePage?
        var metrics: MetricsServer?
        var inhibitor: SleepInhibitor?
        var socket: IPCServer?
        do throws(ExhaustionError) {
            let awake = try SleepInhibitor(why: "Films are shown", scope: .sleep) { mailbox.post(.sleep($0)) }
            inhibitor = awake
            try distributor.start(
                recordingTo: timeline, complain: { mailbox.post(.remark(.warning, $0)) },
                onOutputEvent: { mailbox.post(.output($0, isLost: $1)) })
            director = try KioskDirector(
                stage: KioskStage(
                    player: player, screen: loop.control, distributor: distributor, registry: parts.registry,
                    resumePositions: resumePositions, crashes: crashes, reload: parts.reload, log: parts.log,
                    manager: parts.manager,
                    health: health, screenshot: screenshots, measure: measure,
                    setImageDuration: { duration in
                        player.setImageDisplayDuration(duration)
                        film.imageDuration.withLock { $0 = duration }
                    }, tasks: parts.tasks),
                configuration: configuration, outputs: player.outputs, mailbox: mailbox)
            if let address = configuration.metrics {
                metrics = try MetricsServer(
                    at: address,
                    source: MetricsServer.Source(
                        health: { health.withLock { $0 } }, screenshot: screenshots),
                    report: { mailbox.post(.remark($0, $1)) })
            }
            if let settings = configuration.remote {
                page = try KioskPage.start(settings, director.control, screenshot: screenshots) {
                    mailbox.post(.remark($0, $1))
                }
            }
            if let path = KioskSocket.path(configuration: file) {
                socket = try KioskSocket.serve(
                    director.control, at: path, group: configuration.controlGroup
                ) { mailbox.post(.remark(.warning, $0)) }
            }
            try awake.start()
            // Last: nothing ends its thread if a later step fails.
            try director.start()
        } catch {
            player.shutDown()
            page?.close()
            socket?.close()
            metrics?.stop()
            inhibitor?.stop()
            distributor.stop()
            throw TalkieError(error)
        }
        loop.run()
        let (end, haveThreadsEnded) = director.join(within: Self.endTimeout)
        page?.close()
        socket?.close()
        director.control.close()
        let isDown = player.shutDown(within: Player.usualTimeout)
        metrics?.stop()
        inhibitor?.stop()
        parts.registry.remember()
        distributor.stop()
        parts.log.close()
        return (end, isDown && haveThreadsEnded)
    }

    private func screenLoop() -> ScreenLoop {
        var options = ScreenOptions()
        options.isFullScreen = true
        options.hidesCursor = true
        options.staysAwake = true
        options.followsDisplays = true
        options.mode = configuration.mode
        // Overscan depends on the display, which is known once the window is visible.
        options.arrangement = configuration.arrangement(isOverscanning: false)
        options.display = configuration.screen?.display
        switch configuration.operatorScreen {
        case .other?: options.dashboardDisplay = .other
        case .chosen(let screen)?: options.dashboardDisplay = .chosen(screen.display)
        case nil: break
        }
        return ScreenLoop(options: options, converter: SoftwareFrameConverter())
    }
}
