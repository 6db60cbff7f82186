internal import LocalOutput
internal import MediaCodecs
internal import MediaCore
internal import SyncRendering

/// Everything between the words of `talkie play` and its exit status. Runs on the main thread and returns when the
/// last film has ended or the user has had enough.
public enum PlaySession {
    /// - Parameter say: tells a person one sentence. Any thread.
    /// - Returns: the exit status.
    /// - Throws: what kept the films from being played, with its exit status; nothing is left open.
    public static func run(_ arguments: PlayArguments, say: @escaping @Sendable (String) -> Void)
        throws(PlayerFailure) -> Int32
    {
        for file in arguments.files {
            if let objection = InputCheck.objection(to: file) { throw objection }
        }
        for case .named(let name) in arguments.speakers {
            throw PlayerFailure(
                exitStatus: ExitStatus.unavailable,
                message: "the speaker '\(name)' cannot be driven yet; leave --speaker out or say --speaker local")
        }
        var timeline: TimelineFile?
        if let path = arguments.timelinePath { timeline = try TimelineFile(creating: path) }
        let events = EventLog(clock: MonotonicClock())
        let distributor = EventDistributor(log: events)
        distributor.start(recordingTo: timeline) { say($0) }
        defer { distributor.stop() }

        var screenOptions = ScreenOptions()
        screenOptions.isFullScreen = arguments.isFullScreen
        if let size = arguments.windowSize { screenOptions.size = PixelSize(width: size.width, height: size.height) }
        let loop =
            arguments.options.playsVideo
            ? ScreenLoop(options: screenOptions, converter: SoftwarePictureConverter()) : nil
        let ending = Ending(screen: loop?.control)
        let output: (any AudioOutput)? =
            arguments.options.playsAudio ? SoundCard(device: arguments.options.audioDevice ?? "default") : nil
        let player = Player(parts: .film(audioOutput: output), options: arguments.options, events: events) { news in
            switch news {
            case .phase(.ended): ending.end(ExitStatus.done)
            case .phase(.failed): ending.end(nil)
            case .message(let text): say(text)
            case .phase, .sought: break
            }
        }
        loop?.control.attach(player.layer, timebase: player.synchronizer.timebase, events: events)
        player.open(arguments.files[0])
        loop?.run()
        ending.wait()
        let failure = player.state.failure
        player.shutDown()
        if let failure { throw failure }
        return ending.status ?? ExitStatus.failed
    }
}

/// How the session ends: whoever knows first says so.
final class Ending: Sendable {
    private let state = Lock<(isOver: Bool, status: Int32?)>((false, nil))
    private let signal = Signal()
    private let screen: ScreenControl?

    init(screen: ScreenControl?) { self.screen = screen }

    /// Ends the session; only the first status counts. Any thread.
    func end(_ status: Int32?) {
        let first = state.withLock { state -> Bool in
            defer { state.isOver = true }
            if !state.isOver { state.status = status }
            return !state.isOver
        }
        guard first else { return }
        screen?.stop()
        signal.raise()
    }

    func wait() { signal.wait() }
    var status: Int32? { state.withLock { $0.status } }
}
