internal import AirPlayWire
public import MediaCore
internal import PTP
public import SyncRendering

/// The latency of the speaker and its buffering requirements.
extension AirPlaySpeaker {
    /// The start lead and the path delay, as known now. Any thread.
    public var latency: OutputLatency {
        var lead = StartLeads(isAsking: false).request
        var shares = [LatencyShare(name: "speaker", duration: .zero, source: .assumed)]
        if let session = state.withLock({ $0.session }) {
            let leads = session.startLeads
            lead = leads.request
            if let ready = session.clock.ready { lead += max(.zero, ready.advanced(by: leads.look) - host.now) }
            let path = session.pathCorrection
            if path != .zero {
                // The path delay of our clock to the speaker, and the correction that the speaker applies.
                shares.append(
                    LatencyShare(name: "network path", duration: path, uncertainty: path, source: .measured))
                shares.append(LatencyShare(name: "path correction", duration: .zero - path, source: .measured))
            }
        }
        return OutputLatency(startLead: lead, shares: shares)
    }

    /// The reason why a start must wait: no session yet, or an unsynchronized clock. Any thread.
    public var wait: OutputWait? {
        let (session, failure) = state.withLock { ($0.session, $0.failure) }
        if failure != nil { return nil }
        guard let session else { return OutputWait(.opening, of: name) }
        let (readiness, ready) = session.clock
        let remaining = ready.map { max(.zero, $0.advanced(by: session.startLeads.look) - host.now) }
        if readiness == .ready, remaining ?? .zero == .zero { return nil }
        return OutputWait(.clock, of: name, remaining: remaining)
    }

    /// Whether a start is possible: the speaker has begun to measure the clock, has failed, or was audible before. Any
    /// thread.
    ///
    /// After it was audible once, playback continues without the speaker.
    public var isReadyToStart: Bool {
        let now = host.now
        let (session, isDecided) = state.withLock { ($0.session, $0.isHeard(at: now) || $0.failure != nil) }
        return isDecided || session?.clock.ready != nil
    }

    /// The earliest possible start, from the readiness of the speaker's clock; nil once audible or while unknown. Any
    /// thread.
    public var earliestStart: HostInstant? {
        let now = host.now
        guard let session = state.withLock({ $0.isHeard(at: now) ? nil : $0.session }) else { return nil }
        return session.clock.ready?.advanced(by: session.startLeads.look + PlaybackSupervisor.lead)
    }

    /// For a realtime stream only stalls of this computer must be bridged.
    private static let realtimeDepth: Duration = .seconds(3)

    /// The renderer's fill target: 95 % of the speaker's buffer, at most 240 s; 3 s for realtime streams.
    public var desiredDepth: Duration {
        guard route == .buffered else { return Self.realtimeDepth }
        return state.withLock { state in
            guard let stream = state.stream, let size = state.setup?.bufferSize else { return .seconds(60) }
            // 40 kB/s is AAC at 320 kb/s; lossless audio rarely exceeds two thirds of its PCM size.
            let rate =
                stream.coding == .aacLC ? 40_000 : stream.sampleRate * stream.channels * stream.bitsPerSample / 12
            return min(.seconds(240), .seconds(size / 100 * 95 / max(1, rate)))
        }
    }

    /// Required audio before a start. One receiver terminates when started with less than half a second.
    public var preroll: Duration { .milliseconds(600) }
}
