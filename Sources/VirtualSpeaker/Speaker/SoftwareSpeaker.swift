internal import AirPlayWire
internal import Discovery
internal import MediaCodecs
internal import MediaCore
internal import PTP
package import SyncRendering

/// An AirPlay 2 speaker in software, for rehearsal, demonstration and tests.
///
/// It listens on an address of its own, takes realtime streams (type 96) with PTP or NTP timing and buffered ones
/// (type 103) with PTP, follows the sender's clock as nqptp does, and writes down what would be heard when. Its
/// threads run from `start` to `stop`; releasing the last reference stops it too.
package final class SoftwareSpeaker: Sendable {
    package let configuration: SpeakerConfiguration
    /// What was sounded, and what happened.
    package let record: SpeakerRecord
    private let core: SpeakerCore
    private let server: ControlServer
    private let announcement: ServiceAnnouncement?

    /// Begins to listen.
    ///
    /// - Parameter codecs: decode ALAC and AAC; this machine's FFmpeg when none are given.
    /// - Throws: `cannotListen`, `noClock`, `notPermitted`, `noOutput` or `cannotWrite`; nothing is left behind.
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
                ServiceName.Kind(rawValue: "_airplay._tcp"), name: configuration.name, host: core.identity.hostName,
                address: configuration.address, port: server.port, strings: SpeakerDescription(core).strings,
                failed: { [record] in record.note(.notAnnounced(reason: $0)) }) : nil
    }

    deinit { stop() }

    private static func openClock(_ configuration: SpeakerConfiguration) throws(SpeakerError) -> PTPSockets? {
        if configuration.clock == .never { return nil }
        do {
            return try PTPSockets.open(
                on: configuration.address, eventPort: configuration.ptpPorts.event,
                generalPort: configuration.ptpPorts.general)
        } catch {
            guard configuration.clock == .required else { return nil }
            throw SpeakerError(error.code == .notPermitted ? .notPermitted : .noClock, error.message)
        }
    }

    /// The TCP port of its requests.
    package var port: UInt16 { server.port }

    /// Whether PTP timing and with it buffered streams are offered.
    package var offersPTP: Bool { core.ptp != nil }

    /// Loudness as the sender set it, in dB; −144 is mute.
    package var volume: Double { core.volume }

    /// Falls silent, ends every connection and completes recording and record. Waits for its threads.
    package func stop() {
        announcement?.stop()
        server.stop()
        record.close()
    }
}
