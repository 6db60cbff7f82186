import AirPlay
import Glibc
import MediaCore
import Profiles
import ScreenOutput
import SyncRendering
import TalkieTestKit

@testable import Playback
@testable import Routing
@testable import Storage
@testable import TalkieApp
@testable import Telemetry

/// A session with synthetic films, an output that only counts, and no window.
final class SessionRig {
    let mailbox = SessionMailbox()
    let opened = Lock<[String]>([])
    /// Raised when a film was opened or the player reported an event.
    let wakeSignal = Signal()
    /// The changes of outputs that the player has reported.
    let routeChanges = Lock<[PlaybackRouteChange]>([])
    let toys: ToyProvider
    /// While true, films named "stick…" cannot be opened.
    let isStickPulled = Lock(false)
    let person = PseudoTerminal(columns: 200)
    let player: Player
    let stage: SessionDirector.Stage
    let director: SessionDirector
    let output = RecordingOutput(capacity: 48_000 * 60)
    /// The output of this computer.
    let card = RecordingOutput(name: "card", capacity: 48_000 * 60)
    private let distributor: EventDistributor
    /// A temporary state folder: the user's is neither read nor written.
    let folder: TemporaryFolder
    private let log: LogFile?

    /// Films named "bad…" cannot be opened, "long…" last a minute, others 0.2 s. "long tracks" has English and German
    /// sound, and an audio description.
    init(
        _ films: String..., more: [String] = [], arguments: PlayArguments = PlayArguments(files: []),
        routes: [OutputDestination] = [],
        showsStatus: Bool = false, timeline: String? = nil, folder: TemporaryFolder = TemporaryFolder(),
        logs: Bool = false, pageLink: String? = nil, presentRooms: [String]? = nil,
        calibration: RouteCalibration? = nil
    ) {
        self.folder = folder
        log = logs ? try? LogFile(creating: folder.path("log")) : nil
        var arguments = arguments
        arguments.options.playsVideo = false
        let events = EventLog(clock: MonotonicClock())
        distributor = EventDistributor(log: events)
        try! distributor.start(recordingTo: timeline.flatMap { try? TimelineFile(creating: $0) })
        toys = ToyProvider(["card": card], present: presentRooms)
        var components = Player.Components(
            open: { [opened, isStickPulled, wakeSignal] (address, _) throws(MediaError) in
                opened.withLock { $0.append(address) }
                wakeSignal.raise()
                if address.hasPrefix("bad") { throw MediaError(.notMedia, "'\(address)' is no film") }
                if address.hasPrefix("stick"), isStickPulled.withLock({ $0 }) {
                    throw MediaError(.cannotOpen, "there is no '\(address)'")
                }
                let name = address.split(separator: "/").last ?? ""
                let length = name.hasPrefix("long") ? 60_000 : 200
                return SyntheticFilm(
                    duration: MediaTime(value: Int64(length), timescale: 1000),
                    audioTracks: name == "long tracks"
                        ? [("eng", .main), ("deu", .main), ("eng", .description)] : [(nil, .main)])
            },
            codecs: SyntheticCodecs(),
            makeDecoder: { _ in SyntheticVideoDecoder(frame: MediaTime(value: 1, timescale: 24)) },
            audioOutput: output)
        components.calibration = calibration
        player = Player(
            components: components,
            options: arguments.options, events: events
        ) { [mailbox, wakeSignal, routeChanges] in
            mailbox.post(.player($0))
            if case .routeChanged(let change) = $0 { routeChanges.withLock { $0.append(change) } }
            wakeSignal.raise()
        }
        stage = SessionDirector.Stage(
            player: player, screen: nil, terminal: Terminal(descriptor: person.program, showsStatus: showsStatus),
            keys: nil, distributor: distributor, registry: OutputRegistry([toys]), routes: routes,
            home: toys.destination("card"), stateFolder: StateFolder(path: folder.path), log: log, pageLink: pageLink)
        director = SessionDirector(
            stage: stage, arguments: arguments, items: (films + more).map { PlaylistLoader.Item(address: $0) },
            mailbox: mailbox)
    }

    /// Wakes the feeder of the output, as an output does whose state has changed.
    func wakeOutput() { output.state.withLock { $0.context }?.writable.raise() }

    /// Runs to the end and returns the exit status.
    func run(_ events: SessionEvent...) -> Int32 {
        for event in events { mailbox.post(event) }
        try! director.start()
        return end()
    }

    /// Waits for a state, at most 50 s, on the test's own thread: the film plays in real time, and a test that suspends
    /// resumes only after others that block the threads of the pool.
    func wait(for condition: (PlayerState) -> Bool) {
        let deadline = HostInstant.now.advanced(by: .seconds(50))
        while !condition(player.state), .now < deadline { usleep(2000) }
    }

    /// Lets the output fail for good, and waits until the player has reported it.
    func fail(_ error: OutputError) { change { ($0.failure, $0.refusal) = (error, error) } }

    /// Lets the output be lost until it recovers (nil), and waits until the player has reported it.
    func lose(_ error: OutputError?) { change { $0.loss = error } }

    private func change(_ body: (inout RecordingOutput.State) -> Void) {
        let count = routeChanges.withLock { $0.count }
        output.state.withLock(body)
        wakeOutput()
        wait { _ in routeChanges.withLock { $0.count } > count }
    }

    /// Waits for the end of a session that was started.
    func end(_ events: SessionEvent...) -> Int32 {
        for event in events { mailbox.post(event) }
        let status = director.join()
        player.shutDown()
        distributor.stop()
        return status
    }

    var played: [String] { opened.withLock { $0 } }
}

extension SessionEvent {
    /// Pointer input on the bar or the panel.
    static func pointer(_ event: PointerInput.Event) -> SessionEvent { .screen(.pointer(PointerInput(event))) }
}
