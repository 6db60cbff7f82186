import AirPlay
import AirPlayTransport
import CardOutput
import Dispatch
import MediaCodecs
import MediaCore
@_exported import SpeakerKit
import SyncRendering

/// The routes on which a body of `RouteContract` runs.
enum RouteUnderTest: OpenableRoute, CaseIterable, CustomStringConvertible {
    case virtualCard, soundCard
    case softwareBuffered, softwareRealtime, foreignBuffered, foreignRealtime
    case softwareClassic, foreignClassic

    /// shairport-sync; with tight bounds the software speaker too, which takes twice the time.
    static var buffered: [RouteUnderTest] {
        Bounds.isTight ? [.softwareBuffered, .foreignBuffered] : [.foreignBuffered]
    }
    static var classic: [RouteUnderTest] {
        Bounds.isTight ? [.softwareClassic, .foreignClassic] : [.foreignClassic]
    }
    static var realtime: [RouteUnderTest] {
        Bounds.isTight ? [.softwareRealtime, .foreignRealtime] : [.foreignRealtime]
    }

    func open(seconds: Double, isExact: Bool) throws -> any RecordedRoute {
        let tolerance: Lab.DriftTolerance = isExact ? .frameByFrame : .asShipped
        return switch self {
        case .virtualCard: VirtualRoute.card()
        case .soundCard: try CardRoute()
        case .softwareBuffered: try SpeakerRoute(.software, .buffered, seconds: seconds, tolerance)
        case .softwareRealtime: try SpeakerRoute(.software, .realtime, seconds: seconds, tolerance)
        case .foreignBuffered: try SpeakerRoute(.foreign, .buffered, seconds: seconds, tolerance)
        case .foreignRealtime: try SpeakerRoute(.foreign, .realtime, seconds: seconds, tolerance)
        case .softwareClassic: try SpeakerRoute(.software, .classic, seconds: seconds, tolerance)
        case .foreignClassic: try SpeakerRoute(.foreign, .classic, seconds: seconds, tolerance)
        }
    }

    var description: String {
        switch self {
        case .virtualCard: "virtual card"
        case .soundCard: "ALSA into a null sink"
        case .softwareBuffered: "software speaker, buffered"
        case .softwareRealtime: "software speaker, realtime"
        case .foreignBuffered: "shairport-sync, buffered"
        case .foreignRealtime: "shairport-sync, realtime"
        case .softwareClassic: "software speaker, classic"
        case .foreignClassic: "shairport-sync, classic"
        }
    }
}

/// ALSA's PulseAudio plugin into a private null sink, recorded with the instants at which samples were audible.
final class CardRoute: RecordedRoute {
    let name = RouteUnderTest.soundCard.description
    let synchronizer = RenderSynchronizer()
    let renderer = AudioRenderer(codecs: FilmAudioCodecs())
    let queue: any MediaRequestQueue = DispatchQueue(label: "test feeding")
    let promises = RoutePromises(
        depth: 1...3, factor: Bounds.factor, startError: 5)
    private let server: PulseServer
    private let recorder: PulseServer.Recorder

    init() throws {
        server = try PulseServer()
        recorder = try server.record()
        synchronizer.addRenderer(renderer)
        renderer.setOutput(SoundCard(device: "pulse"))
    }

    func run(until instant: HostInstant) { instant.sleep() }

    func finish() throws -> OutputCapture {
        renderer.invalidate()
        defer { server.stop() }
        return try recorder.finish()
    }
}

/// An AirPlay speaker, recorded at its output.
final class SpeakerRoute: RecordedRoute {
    let name: String
    let synchronizer = RenderSynchronizer()
    let renderer = AudioRenderer(codecs: FilmAudioCodecs())
    let queue: any MediaRequestQueue = DispatchQueue(label: "test feeding")
    let promises: RoutePromises
    private let peer: Peer

    /// Seconds that the recording may need beyond the film: session setup and synchronization of the speaker's clock
    /// took ten beside two lanes and a build. `finish` ends it earlier.
    private static let margin = 30.0

    init(_ receiver: Receiver, _ route: Route, seconds: Double, _ tolerance: Lab.DriftTolerance) throws {
        name = "\(receiver), \(route)"
        // A realtime stream needs its queue, which is at most 700 ms deep, or 2.25 s with classic AirPlay, and 20 ms.
        let queue: Duration = route == .classic ? .milliseconds(2300) : .milliseconds(750)
        promises = RoutePromises(
            flushLead: route == .buffered ? .milliseconds(1050) : queue,
            maxFlushLead: route == .buffered ? .milliseconds(1500) : queue, refusedFlushLead: .milliseconds(500),
            depth: route == .buffered ? 30...600 : 1...20, factor: Bounds.factor, startError: 5,
            restart: route == .classic ? .milliseconds(2600) : .milliseconds(600))
        peer = try Peer(receiver, tolerance, isClassic: route == .classic)
        try peer.record(seconds: Int((seconds + Self.margin).rounded(.up)))
        synchronizer.addRenderer(renderer)
        renderer.setGain(0.99)
        renderer.setOutput(route == .classic ? peer.classicOutput() : peer.output(route))
    }

    func run(until instant: HostInstant) { instant.sleep() }

    func finish() throws -> OutputCapture {
        renderer.invalidate()
        return try peer.heardSound()
    }
}
