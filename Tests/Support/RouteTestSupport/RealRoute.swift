import AirPlay
import CardOutput
import Dispatch
import MediaCodecs
import MediaCore
import SyncRendering

/// Where a body of `RouteContract` is heard.
enum RouteUnderTest: CaseIterable, CustomStringConvertible {
    case virtualCard, soundCard
    case softwareBuffered, softwareRealtime, foreignBuffered, foreignRealtime

    /// With the receiver that is not ours; with both where time is no object.
    static var buffered: [RouteUnderTest] {
        Bounds.isTight ? [.softwareBuffered, .foreignBuffered] : [.foreignBuffered]
    }
    static var realtime: [RouteUnderTest] {
        Bounds.isTight ? [.softwareRealtime, .foreignRealtime] : [.foreignRealtime]
    }

    /// - Parameters:
    ///   - seconds: of film that the test plays; a recorder that must be told stops soon after.
    ///   - tolerance: of a receiver that has one.
    func open(seconds: Double, _ tolerance: Lab.DriftTolerance = .asShipped) throws -> any RecordedRoute {
        switch self {
        case .virtualCard: try VirtualRoute()
        case .soundCard: try CardRoute()
        case .softwareBuffered: try SpeakerRoute(.software, .buffered, seconds: seconds, tolerance)
        case .softwareRealtime: try SpeakerRoute(.software, .realtime, seconds: seconds, tolerance)
        case .foreignBuffered: try SpeakerRoute(.foreign, .buffered, seconds: seconds, tolerance)
        case .foreignRealtime: try SpeakerRoute(.foreign, .realtime, seconds: seconds, tolerance)
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
        }
    }
}

/// ALSA's PulseAudio plugin into a null sink of our own, recorded with the instants at which it was heard.
final class CardRoute: RecordedRoute {
    let name = RouteUnderTest.soundCard.description
    let synchronizer = RenderSynchronizer()
    let renderer = AudioRenderer(codecs: FilmAudioCodecs())
    let queue: any MediaRequestQueue = DispatchQueue(label: "test feeding")
    let promises = RoutePromises(
        flushLead: .milliseconds(350), mostFlushLead: .milliseconds(350), depth: 1...3, factor: Bounds.factor,
        startError: 5)
    private let server: PulseServer
    private let recorder: PulseServer.Recorder

    init() throws {
        server = try PulseServer()
        recorder = try server.record()
        synchronizer.addRenderer(renderer)
        renderer.setOutput(SoundCard(device: "pulse"))
    }

    func run(until instant: HostInstant) { instant.sleep() }

    func finish() throws -> Recording {
        renderer.invalidate()
        defer { server.stop() }
        return try recorder.finish()
    }
}

/// An AirPlay speaker, recorded where it is heard.
final class SpeakerRoute: RecordedRoute {
    let name: String
    let synchronizer = RenderSynchronizer()
    let renderer = AudioRenderer(codecs: FilmAudioCodecs())
    let queue: any MediaRequestQueue = DispatchQueue(label: "test feeding")
    let promises: RoutePromises
    private let peer: Peer

    /// What a recorder needs before and after the film: a session, the speaker's clock, the end.
    private static let margin = 5.0

    init(_ receiver: Receiver, _ route: Route, seconds: Double, _ tolerance: Lab.DriftTolerance) throws {
        name = "\(receiver), \(route)"
        promises = RoutePromises(
            flushLead: route == .buffered ? .milliseconds(1050) : .milliseconds(750),
            mostFlushLead: route == .buffered ? .milliseconds(1500) : .milliseconds(700),
            depth: route == .buffered ? 30...600 : 1...20, factor: Bounds.factor, startError: 5)
        peer = try Peer(receiver, tolerance)
        try peer.record(seconds: Int((seconds + Self.margin).rounded(.up)))
        synchronizer.addRenderer(renderer)
        renderer.setGain(0.99)
        renderer.setOutput(peer.output(route))
    }

    func run(until instant: HostInstant) { instant.sleep() }

    func finish() throws -> Recording {
        renderer.invalidate()
        return try peer.heardSound()
    }
}
