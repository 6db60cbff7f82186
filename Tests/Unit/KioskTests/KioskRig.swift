import Foundation
import Glibc
import MediaCore
import TalkieTestKit

@testable import Kiosk
@testable import Playback
@testable import Routing
@testable import ScreenOutput
@testable import Storage
@testable import SyncRendering
@testable import Telemetry

/// A kiosk in virtual time: director, player, group, feeders, folder watch and speaker search run on the test's thread,
/// with synthetic films in a real folder, speakers that only count, a wall clock set by the test, and no window. The
/// threads that write the state and the record are real; no test waits for them before its kiosk has ended.
///
/// `@unchecked Sendable`: its mutable properties are used by the one thread of a test that calls `start`, `wait` and
/// `end`.
final class KioskRig: @unchecked Sendable {
    /// Starts at the current host time, which the threads of a wall read.
    let clock = ManualClock(.now)
    let folder: String
    let mailbox = Mailbox<KioskEvent>()
    /// The names of opened items, in order.
    let opened = Lock<[String]>([])
    /// While true, addresses whose name begins with "stick" cannot be opened. Those that end with "stick.mp4" cannot be
    /// measured.
    let isStickPulled = Lock(false)
    /// How many of the next openings never end, as of a server that does not answer.
    let unansweredOpenings = Lock(0)
    /// Errors and warnings that were reported.
    let said = Lock<[String]>([])
    let wall = Lock(WallTime(seconds: 1_700_000_000))
    /// The result of the next reload of the configuration.
    let next = Lock<Result<KioskConfiguration, KioskConfigurationError>?>(nil)
    let card: RecordingOutput
    let kitchen = RecordingOutput(name: "kitchen", capacity: 48_000 * 60)
    let office = RecordingOutput(name: "office", capacity: 48_000 * 60)
    let toys: ToyProvider
    /// Receives the commands for the screen; no window is opened.
    let screen: ScreenControl?
    /// How often free memory was returned.
    let releases = Lock(0)
    let imageDurations = Lock<[Duration]>([])
    let health = Lock(
        KioskHealth(
            at: .now, shown: .nothing(""), uptime: .zero,
            configuration: KioskHealth.Configuration(loaded: WallTime(seconds: 0))))
    let player: Player
    let director: KioskDirector
    let engine: PlaybackEngine
    /// When the player's thread continues without a signal.
    private var engineDue = HostInstant(nanoseconds: 0)
    private let pipelines = Lock<[TrackPipeline]>([])
    private let group: OutputGroup
    private var feeder: AudioFeeder?
    /// Of added sounds, where threads would run them.
    private var addedFeeders: [(renderer: AudioRenderer, feeder: AudioFeeder)] = []
    /// Of outputs that have a feeder to themselves, where a thread would run it.
    private let memberFeeders = Lock<[OutputFeed]>([])
    private let distributor: EventDistributor

    /// Films named "ill…" end the program with SIGILL when they are opened or measured, "deep…" by a stack overflow,
    /// "bad…" cannot be opened, "cut…" break off in the middle, "none…" have no media, "dead…" have 20 s that cannot be
    /// decoded, "long…" last a minute, others 0.2 s.
    ///
    /// - Parameters:
    ///   - parent: where the folder of films is made, with a slash. A process that is killed does not remove it.
    ///   - depth, capacity: how far ahead the card is sent audio, and how much it accepts.
    ///   - passesPackets: whether the audio is AAC, which the card accepts undecoded.
    ///   - timeline: a file for the flight recorder.
    ///   - seed: of shuffled playlists.
    init(
        films: [String] = [], in parent: String = NSTemporaryDirectory(), places: StateFolder? = nil,
        present: [String] = ["local", "kitchen", "office"],
        manager: [String: String] = [:], hasScreen: Bool = false,
        depth: Duration = .seconds(2), capacity: Duration = .seconds(60), passesPackets: Bool = false,
        timeline: String? = nil, seed: UInt64 = 1, tasks: KioskTasks = .none,
        _ change: (inout KioskConfiguration) -> Void = { _ in }
    ) {
        folder = parent + "talkie-kiosk-\(UUID().uuidString)"
        try! FileManager.default.createDirectory(atPath: folder + "/films", withIntermediateDirectories: true)
        for film in films { Self.write(film, in: folder) }
        var configuration = KioskConfiguration()
        configuration.settings.playlist = [folder + "/films"]
        configuration.settings.speakers = ["local"]
        change(&configuration)
        let first = configuration
        let screen = hasScreen ? ScreenControl() : nil
        self.screen = screen
        card = RecordingOutput(
            name: "card", capacity: Int(capacity.inSeconds * 48_000), desiredDepth: depth,
            passThroughCodec: passesPackets ? "aac" : nil)
        toys = ToyProvider(["local": card, "kitchen": kitchen, "office": office], present: present, findsAbsent: false)
        let events = EventLog(clock: clock)
        distributor = EventDistributor(log: events)
        let file = timeline.map { try! TimelineFile(creating: $0, rotation: nil) }
        try! distributor.start(recordingTo: file, onOutputEvent: { [mailbox] in mailbox.post(.output($0, isLost: $1)) })
        var options = PlayerOptions()
        (options.playsVideo, options.stopsAtFailures) = (false, configuration.wall == nil)
        options.checksPackets = true
        var work = GroupWork()
        work.startFeeder = { [memberFeeders] feeder, _ in
            memberFeeders.withLock { $0.append(feeder) }
            return nil
        }
        work.run = { _, body in
            body()
            return nil
        }
        work.changesByHand = true
        let group = OutputGroup(members: [card], codecs: Codecs(), work: work)
        self.group = group
        let crashes = CrashRecord(places ?? StateFolder(path: folder + "/state"), configuration: "wall.toml")
        var made: PlaybackEngine?
        player = Player(
            components: Player.Components(
                open: { [opened, crashes, isStickPulled] (address, _) throws(MediaError) in
                    if address == TestSound.address { return TestSound() }
                    crashes.recordOpening(address)
                    let name = String(address.split(separator: "/").last ?? "")
                    opened.withLock { $0.append(name) }
                    if name.hasPrefix("ill") { Glibc.raise(SIGILL) }
                    if name.hasPrefix("deep") { Self.overflowStack() }
                    guard !name.hasPrefix("bad") else { throw MediaError(.notMedia, "'\(name)' is no film") }
                    if name.hasPrefix("stick"), isStickPulled.withLock({ $0 }) {
                        throw MediaError(.cannotOpen, "there is no '\(name)'")
                    }
                    guard address.contains("://") || FileManager.default.fileExists(atPath: address) else {
                        throw MediaError(.cannotOpen, "there is no '\(name)'")
                    }
                    if name.hasPrefix("cut") { return FilmThatBreaksOff() }
                    if name.hasPrefix("dead") {
                        return FilmOfPackets(seconds: 20, isDamaged: true, isAAC: passesPackets)
                    }
                    if name.hasPrefix("long"), passesPackets {
                        return FilmOfPackets(seconds: 60, isDamaged: false, isAAC: true)
                    }
                    let length = name.hasPrefix("none") ? 0 : name.hasPrefix("long") ? 60_000 : 200
                    return SyntheticFilm(duration: MediaTime(value: Int64(length), timescale: 1000))
                },
                codecs: Codecs(),
                makeDecoder: { _ in SyntheticVideoDecoder(frame: MediaTime(value: 1, timescale: 24)) },
                audioOutput: group, clock: clock),
            options: options, events: events,
            onEvent: { [mailbox] in mailbox.post(.player($0)) },
            start: { [pipelines, unansweredOpenings] make in
                made = make(
                    Player.EngineWork(
                        startPipeline: { pipeline, _ in pipelines.withLock { $0.append(pipeline) } },
                        runBackgroundWork: { name, body in
                            let isAnswered = unansweredOpenings.withLock { count in
                                guard name == "prefetch", count > 0 else { return true }
                                count -= 1
                                return false
                            }
                            if isAnswered { body() }
                            return nil
                        }))
                return nil
            })
        let engine = made!
        self.engine = engine
        feeder = engine.renderer.map { AudioFeeder(renderer: $0) }
        director = try! KioskDirector(
            stage: KioskStage(
                player: player, screen: screen, distributor: distributor, registry: OutputRegistry([toys]),
                resumePositions: KioskResumePositions(
                    places ?? StateFolder(path: folder + "/state"), configuration: "wall.toml", report: { _ in }),
                crashes: crashes,
                reload: { [next] () throws(KioskConfigurationError) in
                    switch next.withLock({ $0 }) {
                    case .success(let fresh): return fresh
                    case .failure(let error): throw error
                    case nil: return first
                    }
                },
                log: KioskLog(maxLevel: .info, journal: nil) { [said] _, text in
                    said.withLock { $0.append(text) }
                }, manager: ServiceManager(environment: manager, process: 1),
                health: health,
                measure: { [isStickPulled] (address) throws(MediaError) in
                    if address.contains("/ill") { Glibc.raise(SIGILL) }
                    if address.hasSuffix("stick.mp4"), isStickPulled.withLock({ $0 }) {
                        throw MediaError(.cannotOpen, "there is no 'stick.mp4'")
                    }
                    return FilmExtent(end: MediaTime(value: 60, timescale: 1))
                },
                setImageDuration: { [imageDurations] duration in imageDurations.withLock { $0.append(duration) } },
                isOverscanning: { _ in true }, now: { [wall] in wall.withLock { $0 } }, clock: clock,
                calendar: UTC(), run: { (_, _, body) in body() }, tasks: tasks,
                releaseFreeMemory: { [releases] in releases.withLock { $0 += 1 } }, seed: seed),
            configuration: configuration, outputs: configuration.hasAudio ? group : nil, mailbox: mailbox)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Overflows the stack of a thread such as those that open films.
    private static func overflowStack() {
        @Sendable @inline(never) func descend(_ depth: Int) -> Int {
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 16) { memory in
                memory[depth % 4096] = 1
                return descend(depth + 1) + Int(memory[depth % 4096])
            }
        }
        // ignored: without a thread the film is opened.
        try? WorkerThread.start(name: "deep") { _ = descend(0) }.join()
    }

    static func write(_ name: String, in folder: String, _ text: String = "film") {
        precondition(FileManager.default.createFile(atPath: "\(folder)/films/\(name)", contents: Data(text.utf8)))
    }

    func write(_ name: String, _ text: String = "film") { Self.write(name, in: folder, text) }
    func remove(_ name: String) { try! FileManager.default.removeItem(atPath: "\(folder)/films/\(name)") }

    /// Changes keys that the kiosk does not use before `start`.
    func configure(_ change: (inout KioskConfiguration) -> Void) {
        var configuration = director.settings.configuration
        change(&configuration)
        _ = director.settings.replace(with: configuration, movesStart: false)
    }

    func start() { try! director.start() }

    /// Advances virtual time until a condition holds; returns false after `limit`.
    func wait(
        atMost limit: Duration = .seconds(300), step: Duration = .milliseconds(20), until isSo: () -> Bool
    ) -> Bool {
        let deadline = clock.now.advanced(by: limit)
        while true {
            runUntilIdle()
            if isSo() { return true }
            guard clock.now < deadline else { return false }
            clock.advance(by: step)
        }
    }

    /// Runs everything that can progress without time passing.
    private func runUntilIdle() {
        if director.result == nil { director.runIteration() }
        var hasMoved = true
        while hasMoved {
            hasMoved = false
            // Iterations without a cause would hide a thread that rests too long.
            if engine.mailbox.signal.tryWait() || engineDue <= clock.now {
                guard engine.runIteration() else { return }
                engineDue = clock.now.advanced(by: engine.restingTime)
                hasMoved = true
            }
            for pipeline in pipelines.withLock({ $0 }) {
                // A waiting thread continues only after its signal was raised.
                while pipeline.signal.tryWait() {
                    while case .again = pipeline.runIteration() { hasMoved = true }
                }
            }
            let before = engine.renderer?.progress.acceptedUntil
            feeder?.performDueWork()
            if engine.renderer?.progress.acceptedUntil != before { hasMoved = true }
            for sound in engine.tracks.added.all where !addedFeeders.contains(where: { $0.renderer === sound.renderer })
            {
                addedFeeders.append((sound.renderer, AudioFeeder(renderer: sound.renderer)))
            }
            for index in addedFeeders.indices { addedFeeders[index].feeder.performDueWork() }
            let members = memberFeeders.withLock { members in
                members.removeAll { $0.isShared || $0.state.withLock { $0.isStopping } }
                return members
            }
            for member in members where member.runIteration().hasMoved { hasMoved = true }
            _ = group.advanceChange()
        }
    }

    /// Performs a command of a remote controller.
    func perform(_ words: String..., reply: @escaping ControlReply = { _ in }) {
        director.control.perform(words.map { .text($0) }, reply: reply)
    }

    func hasSaid(_ part: String) -> Bool { said.withLock { $0.contains { $0.contains(part) } } }

    /// The films that were played, in order, each time.
    func played(among films: [String]) -> [String] {
        said.withLock { lines in lines.compactMap { line in films.first { line.contains("playing '\($0)'") } } }
    }

    /// Requests the end; returns how the kiosk ended.
    func end() -> KioskEnd {
        mailbox.post(.request(.end(status: 143)))
        return join()
    }

    func join() -> KioskEnd {
        _ = wait { director.result != nil }
        director.finish()
        let end = director.join(within: .seconds(8)).end
        player.shutDown()
        runUntilIdle()
        distributor.stop()
        return end
    }

    /// A film of 0.4 s whose file ends after 0.2 s.
    private final class FilmThatBreaksOff: MediaSource {
        private let whole = SyntheticFilm(duration: MediaTime(value: 400, timescale: 1000))
        var summary: MediaSummary { whole.summary }

        func source(for track: Track) -> any SampleSource { Source(whole.source(for: track)) }

        private final class Source: SampleSource {
            private let source: any SampleSource
            var track: Track { source.track }

            init(_ source: any SampleSource) { self.source = source }

            func read() throws(MediaError) -> SampleBuffer? {
                let buffer = try source.read()
                guard let time = buffer?.presentationTime, time >= MediaTime(value: 200, timescale: 1000) else {
                    return buffer
                }
                throw MediaError(.incomplete, "the file is incomplete")
            }

            func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
                try source.seek(to: time, mode: mode)
            }

            func syncTime(before time: MediaTime) -> MediaTime? { source.syncTime(before: time) }
            func cancel() { source.cancel() }
        }
    }

    /// A film whose audio `Codecs` cannot decode if it is damaged: its packets have a byte.
    private final class FilmOfPackets: MediaSource {
        private let whole: SyntheticFilm
        private let isDamaged: Bool
        let summary: MediaSummary

        init(seconds: Int64, isDamaged: Bool, isAAC: Bool) {
            whole = SyntheticFilm(duration: MediaTime(value: seconds, timescale: 1))
            self.isDamaged = isDamaged
            let format = AudioFormat(
                parameters: CodecParameters(codec: isAAC ? "aac" : "synthetic"), sampleRate: 48_000, layout: .stereo)
            summary = MediaSummary(
                container: "synthetic",
                tracks: whole.summary.tracks.map { track in
                    track.kind == .audio ? Track(id: track.id, number: track.number, format: .audio(format)) : track
                }, duration: whole.summary.duration, chapters: [])
        }

        func source(for track: Track) -> any SampleSource { Source(whole, track, isDamaged) }

        private final class Source: SampleSource {
            private let source: any SampleSource
            let track: Track
            private let isDamaged: Bool

            init(_ film: SyntheticFilm, _ track: Track, _ isDamaged: Bool) {
                source = film.source(for: film.summary.tracks.first { $0.kind == track.kind }!)
                (self.track, self.isDamaged) = (track, isDamaged)
            }

            func read() throws(MediaError) -> SampleBuffer? {
                guard var buffer = try source.read() else { return nil }
                guard let format = track.audioFormat, case .encodedAudio(_, let whole) = buffer.payload else {
                    return buffer
                }
                let batch = PacketBatch(reservingBytes: 256, packets: whole.packets.count)
                for packet in whole.packets {
                    [UInt8](repeating: 0, count: isDamaged ? 1 : 0).withUnsafeBytes { batch.append($0, as: packet) }
                }
                buffer.payload = .encodedAudio(format, batch)
                return buffer
            }

            func seek(to time: MediaTime, mode: SeekMode) throws(MediaError) -> MediaTime? {
                try source.seek(to: time, mode: mode)
            }

            func syncTime(before time: MediaTime) -> MediaTime? { source.syncTime(before: time) }
            func cancel() { source.cancel() }
        }
    }

    /// Decodes synthetic audio except that of a damaged `FilmOfPackets`.
    private struct Codecs: AudioCodecs {
        func converter(from format: AudioFormat, to output: PCMFormat, speed: Double) throws(MediaError)
            -> any PCMConverter
        {
            Converter(try SyntheticCodecs().converter(from: format, to: output, speed: speed))
        }

        func encoder(from input: PCMFormat, to format: AudioFormat) throws(MediaError) -> any PCMEncoder {
            try SyntheticCodecs().encoder(from: input, to: format)
        }
    }

    private final class Converter: PCMConverter {
        private let inner: any PCMConverter
        private(set) var decodeErrorCount = 0
        private var lost: UndecodableAudio?

        init(_ inner: any PCMConverter) { self.inner = inner }

        func send(_ buffer: SampleBuffer) throws(MediaError) {
            guard let start = buffer.presentationTime, !buffer.flags.contains(.decodeOnly),
                case .encodedAudio(_, let batch) = buffer.payload, let first = batch.packets.first,
                batch.withBytes(of: first, { $0.count }) == 1
            else { return try inner.send(buffer) }
            decodeErrorCount += 1
            let own = UndecodableAudio(start: start, duration: buffer.duration)
            lost = lost?.adding(own) ?? own
        }

        func finish() { inner.finish() }
        func receive(into block: PCMBlock) throws(MediaError) -> Bool { try inner.receive(into: block) }
        func reset() {
            lost = nil
            inner.reset()
        }
        func consumeUndecodableAudio() -> UndecodableAudio? { lost.take() }
    }

    /// A calendar in UTC.
    private struct UTC: WallCalendar {
        func local(_ moment: WallTime) -> LocalTime {
            let time = moment.seconds % 86_400
            return LocalTime(
                year: 2023, month: 11, day: 14, weekday: 2,
                time: TimeOfDay(hour: time / 3600, minute: time / 60 % 60, second: time % 60)!)
        }

        func wallTime(year: Int, month: Int, day: Int, plusDays days: Int, at time: TimeOfDay) -> WallTime {
            WallTime(seconds: 1_699_920_000 + days * 86_400 + time.seconds)
        }
    }
}
