internal import AirPlayWire
public import MediaCore
internal import PTP
public import SyncRendering

/// What the speaker costs in time, and how much it wants ahead.
extension AirPlaySpeaker {
    public var latency: OutputLatency {
        var lead = StartLeads(isAsking: false).request
        var shares = [LatencyShare(name: "speaker", duration: .zero, source: .assumed)]
        if let session = state.withLock({ $0.session }) {
            let leads = session.startLeads
            lead = leads.request
            if let ready = session.clock.ready { lead += max(.zero, ready.advanced(by: leads.look) - host.now) }
            let path = session.pathCorrection
            if path != .zero {
                // The way of our clock to the speaker, and what the speaker is told to add for it.
                shares.append(
                    LatencyShare(name: "network path", duration: path, uncertainty: path, source: .measured))
                shares.append(LatencyShare(name: "path correction", duration: .zero - path, source: .measured))
            }
        }
        return OutputLatency(startLead: lead, shares: shares)
    }

    public var wait: OutputWait? {
        let (session, failure) = state.withLock { ($0.session, $0.failure) }
        if failure != nil { return nil }
        guard let session else { return OutputWait(.opening, of: name) }
        let (readiness, ready) = session.clock
        let remaining = ready.map { max(.zero, $0.advanced(by: session.startLeads.look) - host.now) }
        if readiness == .ready, remaining ?? .zero == .zero { return nil }
        return OutputWait(.clock, of: name, remaining: remaining)
    }

    /// Nothing can be started on a speaker that is not there or has not begun to measure the clock. Once it has been
    /// heard, the film goes on without it.
    public var isReadyToStart: Bool {
        let now = host.now
        let (session, isDecided) = state.withLock { ($0.session, $0.isHeard(at: now) || $0.failure != nil) }
        return isDecided || session?.clock.ready != nil
    }

    public var earliestStart: HostInstant? {
        let now = host.now
        guard let session = state.withLock({ $0.isHeard(at: now) ? nil : $0.session }) else { return nil }
        return session.clock.ready?.advanced(by: session.startLeads.look + PlaybackSupervisor.lead)
    }

    /// Behind a realtime stream only what a busy moment of this computer may cost.
    private static let realtimeDepth: Duration = .seconds(3)

    public var desiredDepth: Duration {
        guard route == .buffered else { return Self.realtimeDepth }
        return state.withLock { state in
            guard let stream = state.stream, let size = state.setup?.bufferSize else { return .seconds(60) }
            // 40 kB/s is AAC at 320 kb/s; lossless sound seldom needs more than two thirds of its plain size.
            let rate =
                stream.coding == .aacLC ? 40_000 : stream.sampleRate * stream.channels * stream.bitsPerSample / 12
            return min(.seconds(240), .seconds(size / 100 * 95 / max(1, rate)))
        }
    }

    /// One receiver ends when it is started with less than half a second of sound.
    public var preroll: Duration { .milliseconds(600) }
}
