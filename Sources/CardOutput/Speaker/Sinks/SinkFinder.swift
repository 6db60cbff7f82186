internal import CALSA
internal import CardPlayout
internal import Glibc
internal import MediaCore
internal import Synchronization

/// Determines the sink of each device that a card has used, and forwards measured latencies to it. Any thread.
final class SinkFinder: Sendable {
    /// The mutable state; guarded by `state`.
    private struct State {
        /// By ALSA name.
        var ways: [String: ALSADevice.Way] = [:]
        var belief = SinkBelief()
        var watch: SoundServerWatch?
        /// That of the device registered last.
        var latency: ServerLatency?
        var isOver = false
        /// The sinks of this process's streams in the last view that had one.
        var sinks: Set<UInt32> = []

        /// Adopts a view; returns true if it shows the streams on other sinks.
        ///
        /// At a seek there is no stream for a moment.
        mutating func adoptSinks(of view: SoundServerView?) -> Bool {
            let found = Set(view?.ownStreams.map(\.sink) ?? [])
            if view != nil, found.isEmpty { return false }
            defer { sinks = found }
            return !sinks.isEmpty && !found.isEmpty && found != sinks
        }
    }

    private let state = Lock(State())
    private let pulse: PulseLibrary?
    /// Called when the knowledge about the server's sink has changed.
    private let changed: @Sendable (_ before: SinkKnowledge, _ now: SinkKnowledge) -> Void

    init(
        pulse: PulseLibrary? = .shared,
        changed: @escaping @Sendable (_ before: SinkKnowledge, _ now: SinkKnowledge) -> Void = { _, _ in }
    ) {
        (self.pulse, self.changed) = (pulse, changed)
    }

    /// Registers an opened device. Starts watching the sound server if the device plays through one.
    func register(_ device: ALSADevice) {
        let watch = state.withLock { state -> SoundServerWatch? in
            state.ways[device.name] = device.way
            state.latency = device.serverLatency
            guard device.way == .elsewhere else { return nil }
            guard let pulse, !state.isOver else {
                device.serverLatency?.setUnavailable()
                return nil
            }
            guard state.watch == nil else { return nil }
            let watch = SoundServerWatch(
                pulse, changed: { [weak self] in self?.update($0) }, measured: { [weak self] in self?.publish($0) })
            state.watch = watch
            return watch
        }
        watch?.start()
    }

    /// Stops watching the sound server. Joins its thread.
    func stop() {
        let watch = state.withLock { state -> SoundServerWatch? in
            state.isOver = true
            return state.watch
        }
        watch?.stop()
    }

    private func update(_ view: SoundServerView?) {
        let (before, now, moved) = state.withLock { state in
            let before = state.belief.knowledge
            state.belief.update(view)
            return (before, state.belief.knowledge, state.adoptSinks(of: view) ? state.latency : nil)
        }
        moved?.recordMove()
        if before != now { changed(before, now) }
    }

    /// Publishes a latency of the server, on the watch's thread.
    private func publish(_ measurement: ServerLatency.Measurement?) {
        // With several devices the stream may be that of another one.
        let isOnly = ALSADevice.serverStreams.load(ordering: .relaxed) == 1
        guard let latency = state.withLock({ $0.latency }) else { return }
        if isOnly, let measurement { latency.publish(measurement) } else { latency.setUnavailable() }
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
                pulse == nil ? .unknown("the library libpulse.so.0 is not installed") : state.belief.knowledge
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
