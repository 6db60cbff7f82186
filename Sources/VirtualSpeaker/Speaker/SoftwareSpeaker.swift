internal import AirPlayWire
internal import Discovery
internal import MediaCodecs
internal import MediaCore
internal import PTP
internal import Sockets
package import SyncRendering

/// An AirPlay speaker in software, for demonstrations and tests.
///
/// It accepts realtime streams (type 96) with PTP or NTP timing and buffered ones (type 103) with PTP on its own
/// address; or classic AirPlay instead (`SpeakerConfiguration.isClassic`). It follows the sender's clock as nqptp does
/// and records what is audible when. Its threads run from `init` to `stop`, or until the last reference is released.
package final class SoftwareSpeaker: Sendable {
    /// The configuration given to `init`.
    package let configuration: SpeakerConfiguration
    /// The audio and the events of this speaker.
    package let record: SpeakerRecord
    private let core: SpeakerCore
    private let server: ControlServer
    private let announcement: ServiceAnnouncement?

    /// Opens the sockets, starts the threads and announces the speaker.
    ///
    /// - Parameter codecs: Decoders for ALAC and AAC; nil: the FFmpeg of this machine.
    /// - Throws: `cannotListen`, `noClock`, `notPermitted`, `noOutput`, `cannotWrite` or
    ///   `exhausted`; all resources are released.
    package init(_ configuration: SpeakerConfiguration, codecs: (any AudioCodecs)? = nil) throws(SpeakerError) {
        self.configuration = configuration
        if case .card(let device) = configuration.output { try CardSink.check(device: device) }
        var journal: RecordJournal?
        if let path = configuration.journal { journal = try RecordJournal(path: path) }
        record = SpeakerRecord(journal: journal)
        core = SpeakerCore(
            configuration: configuration, codecs: codecs ?? FilmAudioCodecs(), record: record,
            ptp: try Self.openClock(configuration))
        server = try ControlServer(core: core)
        announcement =
            configuration.isAnnounced
            ? ServiceAnnouncement(
                ServiceName.Kind(rawValue: configuration.isClassic ? "_raop._tcp" : "_airplay._tcp"),
                name: configuration.isClassic
                    ? core.identity.deviceID.filter { $0 != ":" } + "@" + configuration.name : configuration.name,
                host: core.identity.hostName,
                address: configuration.address, port: server.port,
                strings: configuration.isClassic
                    ? SpeakerDescription.classic(configuration) : SpeakerDescription(core).strings,
                failed: { [record] in record.record(.notAnnounced(reason: $0)) }) : nil
    }

    deinit { stop() }

    private static func openClock(_ configuration: SpeakerConfiguration) throws(SpeakerError) -> PTPSockets? {
        if configuration.clock == .never || configuration.isClassic { return nil }
        do {
            return try PTPSockets.open(
                on: configuration.address, eventPort: configuration.ptpPorts.event,
                generalPort: configuration.ptpPorts.general)
        } catch {
            guard configuration.clock == .required else { return nil }
            throw SpeakerError(error.code == .notPermitted ? .notPermitted : .noClock, error.message)
        }
    }

    /// The TCP port for control connections.
    package var port: UInt16 { server.port }

    /// Its address for senders, `airplay://…`.
    package var url: String { "airplay://\(NetworkEndpoint(configuration.address, port: port))" }

    /// Whether PTP timing, and with it buffered streams, is offered.
    package var offersPTP: Bool { core.ptp != nil }

    /// The volume set by the sender, in dB; −144 is mute.
    package var volume: Double { core.volume }

    /// Stops playback, ends all connections and completes recording and record. Blocks until all threads have ended.
    package func stop() {
        announcement?.stop()
        server.stop()
        record.close()
    }
}
