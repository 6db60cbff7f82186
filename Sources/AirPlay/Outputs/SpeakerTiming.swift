internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import SyncRendering

/// The timing of a session: the earliest start, the wait until then, and the shares of the latency.
struct SpeakerTiming: Sendable {
    let readiness: ClockReadiness
    /// When the speaker's clock is ready; nil while unknown.
    let ready: HostInstant?
    let leads: StartLeads
    /// The path delay from our clock to the speaker, sent to it for correction.
    var path = Duration.zero
    /// What the speaker states about its own delay.
    var stated = StatedLatency()

    /// The earliest instant of a start command: the speaker reads its stream after its clock is ready.
    private var settled: HostInstant? { ready?.advanced(by: leads.look) }

    /// The earliest possible start; nil while unknown.
    var earliestStart: HostInstant? { settled?.advanced(by: leads.late) }

    /// Returns the lead of a start and the shares of the delay.
    ///
    /// - Parameters:
    ///   - timing: The timing of the session; nil without a session.
    ///   - known: What the speaker stated at its last use; counts without a session.
    static func latency(
        _ timing: SpeakerTiming?, known: StatedLatency = StatedLatency(), at now: HostInstant
    ) -> OutputLatency {
        var lead = (timing?.leads ?? StartLeads(isAsking: false)).request
        var shares = (timing?.stated ?? known).shares
        if let timing {
            if let settled = timing.settled { lead += max(.zero, settled - now) }
            let path = timing.path
            if path != .zero {
                // The path delay of our clock to the speaker, and the correction that the speaker applies.
                shares.append(
                    LatencyShare(name: "network path", duration: path, uncertainty: path, source: .measured))
                shares.append(LatencyShare(name: "path correction", duration: .zero - path, source: .measured))
            }
        }
        return OutputLatency(startLead: lead, shares: shares)
    }

    /// Returns the reason why a start must wait; nil if it need not.
    ///
    /// - Parameter timing: The timing of the session; nil without a session.
    static func wait(_ timing: SpeakerTiming?, of speaker: String, at now: HostInstant) -> OutputWait? {
        guard let timing else { return OutputWait(.opening, of: speaker) }
        let remaining = timing.settled.map { max(.zero, $0 - now) }
        if timing.readiness == .ready, remaining ?? .zero == .zero { return nil }
        return OutputWait(.clock, of: speaker, remaining: remaining)
    }

    /// The depth of a realtime stream: it bridges stalls of this computer only.
    private static let realtimeDepth: Duration = .seconds(3)

    /// Returns how far ahead a stream is filled: 95 % of the speaker's buffer, at most 240 s and at least 3 s, whatever
    /// it states; 3 s for realtime streams.
    ///
    /// - Parameter bufferSize: In bytes; nil if the speaker does not state it.
    static func depth(of format: StreamFormat?, bufferSize: Int?, route: Route) -> Duration {
        guard route == .buffered else { return realtimeDepth }
        guard let format, let bufferSize else { return .seconds(60) }
        // 40 kB/s is AAC at 320 kb/s; 12.5 kB/s for each channel of surround sound is more than the encoder is asked
        // for. Lossless audio rarely exceeds two thirds of its PCM size.
        let rate =
            switch format.coding {
            case .aacLC: max(40_000, 12_500 * format.channels)
            case .appleLossless: format.sampleRate * format.channels * format.bitsPerSample / 12
            }
        return max(realtimeDepth, min(.seconds(240), .seconds(bufferSize / 100 * 95 / max(1, rate))))
    }
}

extension SpeakerTiming {
    init(_ session: AirPlaySession, _ setup: StreamSetup?) {
        let clock = session.clock
        self.init(
            readiness: clock.readiness, ready: clock.ready, leads: session.startLeads, path: session.pathCorrection,
            stated: StatedLatency(session, setup))
    }
}

extension StatedLatency {
    init(_ session: AirPlaySession, _ setup: StreamSetup?) {
        self.init(arrivalToRender: setup?.arrivalToRender, output: session.outputLatency)
        subtracted = session.subtractedLatency
    }
}
