internal import CALSA
internal import CardPlayout
internal import Glibc
internal import MediaCore

/// Determines the sink of each device that a card has used. Any thread.
final class SinkFinder: Sendable {
    /// The mutable state; guarded by `state`.
    private struct State {
        /// By ALSA name.
        var ways: [String: ALSADevice.Way] = [:]
        /// The last known sink of the server. Between two streams, for example during a seek, there is none for a
        /// moment; the previous sink remains until the next report.
        var knowledge = SinkKnowledge.unknown("the sound server shows no stream of this program")
        /// That of the device registered last.
        var registration: SoundServer.Registration?
        /// Whether the server has reported its sink.
        var isFound = false
        var isOver = false
    }

    private let state = Lock(State())
    private let server: SoundServer?
    /// Called when the knowledge about the server's sink has changed.
    private let changed: @Sendable (_ before: SinkKnowledge, _ now: SinkKnowledge) -> Void

    init(
        server: SoundServer? = .shared,
        changed: @escaping @Sendable (_ before: SinkKnowledge, _ now: SinkKnowledge) -> Void = { _, _ in }
    ) {
        (self.server, self.changed) = (server, changed)
    }

    /// Registers an opened device, in place of the former one, and with the sound server if it plays through one.
    func register(_ device: ALSADevice) {
        state.withLock { $0.ways[device.name] = device.way }
        var registration: SoundServer.Registration?
        if device.way == .elsewhere, let latency = device.serverLatency {
            latency.awaitAnswer()
            if server == nil {
                latency.setUnavailable()
                latency.recordAnswer()
            }
            registration = server?.add(
                SoundServer.Stream(
                    sinkName: device.sinkName, latency: latency, changed: { [weak self] in self?.update($0) }))
        }
        let former = state.withLock { state in
            guard !state.isOver else { return registration }
            state.isFound = false
            defer { state.registration = registration }
            return state.registration
        }
        if let former { server?.remove(former) }
    }

    /// Ends the registration with the sound server.
    func stop() {
        let registration = state.withLock { state in
            state.isOver = true
            return state.registration.take()
        }
        if let registration { server?.remove(registration) }
    }

    private func update(_ knowledge: SinkKnowledge?) {
        guard let knowledge else { return }
        let before = state.withLock { state -> SinkKnowledge in
            // A stream that plays on is where it was: with ALSA's PipeWire plugin, only what serves PulseAudio's
            // protocol is gone. A stream that ends with its server is opened again, or another device is.
            if knowledge == .noServer, state.isFound { return knowledge }
            state.isFound = state.isFound || knowledge.sink != nil
            defer { state.knowledge = knowledge }
            return state.knowledge
        }
        if before != knowledge { changed(before, knowledge) }
    }

    /// Returns the sink of a device.
    ///
    /// - Parameter device: The ALSA name of the device that plays; nil if none does.
    func knowledge(of device: String?) -> SinkKnowledge {
        guard let device else { return .unknown("nothing plays") }
        return state.withLock { state in
            switch state.ways[device] {
            case .hardware(let id, let number, let title): .known(.hardware(id: id, device: number, title: title))
            case .elsewhere:
                server == nil ? .unknown("the library libpulse.so.0 is not installed") : state.knowledge
            case nil: .unknown("it has not been opened")
            }
        }
    }
}

extension ALSADevice {
    /// The target of an ALSA name.
    enum Way: Sendable, Hashable {
        /// A card of this computer: identifier, device number, user-facing name.
        case hardware(id: String, device: Int, title: String)
        /// A sound server, or another target known only to its plugin.
        case elsewhere
    }

    /// Returns the target of an open device, as reported by alsa-lib.
    static func way(_ handle: OpaquePointer) -> Way {
        var info: OpaquePointer?
        snd_pcm_info_malloc(&info)
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_type(handle) != SND_PCM_TYPE_IOPLUG, snd_pcm_info(handle, info) >= 0 else { return .elsewhere }
        let card = snd_pcm_info_get_card(info)
        var control: OpaquePointer?
        guard card >= 0, snd_ctl_open(&control, "hw:\(card)", 0) >= 0, let control else { return .elsewhere }
        defer { snd_ctl_close(control) }
        var about: OpaquePointer?
        snd_ctl_card_info_malloc(&about)
        defer { snd_ctl_card_info_free(about) }
        guard snd_ctl_card_info(control, about) >= 0, let id = snd_ctl_card_info_get_id(about), id[0] != 0 else {
            return .elsewhere
        }
        let title = [snd_ctl_card_info_get_name(about), snd_pcm_info_get_name(info)].compactMap { text in
            text.map { String(cString: $0) }
        }.filter { !$0.isEmpty }.joined(separator: ", ")
        return .hardware(id: String(cString: id), device: Int(snd_pcm_info_get_device(info)), title: title)
    }
}
