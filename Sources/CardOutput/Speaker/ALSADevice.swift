internal import CALSA
internal import CardPlayout
internal import Glibc
internal import MediaCore
internal import SyncRendering

/// One ALSA playback stream: opened, configured, then written by the pump.
///
/// `@unchecked Sendable`: one thread at a time uses it. The owner passes it to the pump thread before that thread
/// starts and reclaims it after the thread was joined.
final class ALSADevice: PlayoutDevice, @unchecked Sendable {
    /// The requested period and buffer.
    struct Sizes {
        /// The period. Short, because sound servers hold one period in addition to our buffer.
        var period: Duration = .milliseconds(10)
        var buffer: Duration = .milliseconds(250)
    }

    let name: String
    let way: Way
    let serverLatency: ServerLatency?
    /// The sink requested from the sound server; nil: the server's choice.
    let sinkName: String?
    /// The requested channels. Set before `nearest` is called.
    var choice = ChannelChoice.autoSafe
    /// The layout of the sink behind a sound server; nil if unknown. Set before `nearest` is called.
    var serverLayout: ChannelLayout?
    private let handle: OpaquePointer
    private let status: OpaquePointer
    private(set) var format = PCMFormat(sampleRate: 48000, layout: .stereo)
    private(set) var capacity = 0
    private(set) var canRewind = false
    private var sampleFormat = SampleFormat.float32
    private var order = ChannelOrder.alsaDefault(count: 2)
    private var sources: UnsafeMutablePointer<Int>
    private var scratch = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
    private var isConfigured = false
    /// The number of queued frames that a rewind must not touch, since the device may already have fetched them.
    private var untouchable = 0

    /// Opens a device by its ALSA name, or a sink of the sound server by `sink:NAME`. Blocks for some milliseconds
    /// while a sound server responds.
    init(name: String) throws(OutputError) {
        calsa_be_quiet()
        sinkName = SinkAddress.name(in: name)
        var handle: OpaquePointer?
        // Non-blocking: a device in use by another program fails with EBUSY instead of waiting.
        let code =
            try sinkName.map { name throws(OutputError) in try SinkAddress.open(name, &handle) }
            ?? snd_pcm_open(&handle, name, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
        guard code >= 0, let handle else { throw OutputError.alsa(code, device: name) }
        var status: OpaquePointer?
        snd_pcm_status_malloc(&status)
        self.name = name
        self.handle = handle
        self.status = status!
        way = ALSADevice.way(handle)
        serverLatency = way == .elsewhere ? ServerLatency() : nil
        sources = .allocate(capacity: 1)
    }

    deinit {
        snd_pcm_close(handle)
        snd_pcm_status_free(status)
        sources.deallocate()
        scratch.deallocate()
    }

    /// Whether the device reports channel maps.
    var saysLoudspeakers: Bool {
        guard let maps = snd_pcm_query_chmaps(handle) else { return false }
        defer { snd_pcm_free_chmaps(maps) }
        return maps[0] != nil
    }

    // MARK: Configuration

    /// Returns the supported format nearest to that of the media. No side effects.
    func nearest(to rate: Int, layout: ChannelLayout) throws(OutputError) -> PCMFormat {
        let parameters = try HardwareParameters(handle, device: name)
        let order = bestOrder(for: layout, choice, parameters)
        try parameters.set(channels: order.bits.count)
        return PCMFormat(sampleRate: try parameters.setRate(near: rate), layout: order.layout)
    }

    /// Configures and prepares the device for a format returned by `nearest`. May be called again with another format.
    ///
    /// - Throws: `OutputError` if the device rejects the format; the device is not playable then.
    func configure(_ wanted: PCMFormat, sizes: Sizes = Sizes()) throws(OutputError) {
        if isConfigured {
            snd_pcm_drop(handle)
            snd_pcm_hw_free(handle)
            isConfigured = false
        }
        let parameters = try HardwareParameters(handle, device: name)
        order = bestOrder(for: wanted.layout, .layout(wanted.layout), parameters)
        try parameters.set(channels: order.bits.count)
        let rate = try parameters.setRate(near: wanted.sampleRate)
        guard rate == wanted.sampleRate, order.layout == wanted.layout else {
            throw OutputError(
                .unsupportedFormat,
                "the sound device \"\(name)\" no longer supports \(wanted.sampleRate) Hz, \(wanted.layout.displayName);"
                    + " start again, or choose another device from the list of `aplay -L`")
        }
        sampleFormat = try parameters.setSampleFormat()
        let (period, buffer) = try parameters.setSizes(sizes)
        try parameters.apply()
        isConfigured = true
        format = wanted
        capacity = buffer
        adoptDeviceOrder()
        try setSoftwareParameters(period: period)
        untouchable = max(period * (parameters.isBatch ? 1 : 0), wanted.sampleRate / 500)
        canRewind = Self.isCard(handle)
        sources.deallocate()
        sources = .allocate(capacity: order.sources.count)
        for (index, source) in order.sources.enumerated() { (sources + index).initialize(to: source) }
        scratch.deallocate()
        scratch = .allocate(
            byteCount: SoundCardPlayout.maximumFrames * order.bits.count * sampleFormat.bytesPerSample, alignment: 16)
        let code = snd_pcm_prepare(handle)
        guard code >= 0 else { throw OutputError.alsa(code, device: name) }
    }

    /// Returns the channel map of the device that is most similar to a layout.
    ///
    /// Sound servers accept any channel count and have no channel maps. The layout of the server's sink is used then;
    /// if that is unknown, stereo.
    private func bestOrder(
        for film: ChannelLayout, _ choice: ChannelChoice, _ parameters: HardwareParameters
    ) -> ChannelOrder {
        let wanted = if case .layout(let layout) = choice { layout } else { film }
        var best: ChannelOrder?
        if let maps = snd_pcm_query_chmaps(handle) {
            defer { snd_pcm_free_chmaps(maps) }
            var index = 0
            while let query = maps[index] {
                // The map follows the type in the structure of the query.
                let map = UnsafeRawPointer(query).advanced(by: MemoryLayout<snd_pcm_chmap_type>.stride)
                    .assumingMemoryBound(to: snd_pcm_chmap_t.self)
                if let order = ChannelOrder(map), parameters.takes(channels: order.bits.count),
                    best.map({ order.likeness(to: wanted) > $0.likeness(to: wanted) }) ?? true
                {
                    best = order
                }
                index += 1
            }
        }
        if let best { return best }
        if let order = ChannelOrder.unmapped(
            for: film, choice: choice, server: serverLayout, takes: { parameters.takes(channels: $0) })
        {
            return order
        }
        if parameters.takes(channels: 2) { return .alsaDefault(count: 2) }
        return .alsaDefault(count: parameters.channels(near: 2))
    }

    /// Adopts the channel map in force, which may differ from the requested one.
    private func adoptDeviceOrder() {
        guard let map = snd_pcm_get_chmap(handle) else { return }
        defer { free(map) }
        if let actual = ChannelOrder(map), actual.layout == order.layout, actual.bits.count == order.bits.count {
            order = actual
        }
    }

    private func setSoftwareParameters(period: Int) throws(OutputError) {
        var parameters: OpaquePointer?
        snd_pcm_sw_params_malloc(&parameters)
        defer { snd_pcm_sw_params_free(parameters) }
        snd_pcm_sw_params_current(handle, parameters)
        // The device starts automatically after one period; `start` serves devices that do not.
        snd_pcm_sw_params_set_start_threshold(handle, parameters, snd_pcm_uframes_t(period))
        snd_pcm_sw_params_set_avail_min(handle, parameters, snd_pcm_uframes_t(period))
        snd_pcm_sw_params_set_tstamp_mode(handle, parameters, SND_PCM_TSTAMP_ENABLE)
        snd_pcm_sw_params_set_tstamp_type(handle, parameters, SND_PCM_TSTAMP_TYPE_MONOTONIC)
        let code = snd_pcm_sw_params(handle, parameters)
        guard code >= 0 else { throw OutputError.alsa(code, device: name) }
    }

    /// Returns true for hardware of this computer, which supports rewinding; data sent to a sound server cannot be
    /// rewound.
    private static func isCard(_ handle: OpaquePointer) -> Bool {
        var info: OpaquePointer?
        snd_pcm_info_malloc(&info)
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_type(handle) != SND_PCM_TYPE_IOPLUG, snd_pcm_info(handle, info) >= 0 else { return false }
        return snd_pcm_info_get_card(info) >= 0
    }

    // MARK: PlayoutDevice

    func readState() -> PlayoutDeviceReading {
        let code = snd_pcm_status(handle, status)
        guard code >= 0 else { return PlayoutDeviceReading(state: Self.state(code), free: 0, delay: 0, instant: .now) }
        let free = min(capacity, Int(snd_pcm_status_get_avail(status)))
        let state: PlayoutDeviceReading.State
        switch snd_pcm_status_get_state(status) {
        case SND_PCM_STATE_RUNNING, SND_PCM_STATE_DRAINING: state = .running
        case SND_PCM_STATE_PREPARED, SND_PCM_STATE_PAUSED: state = .prepared
        case SND_PCM_STATE_XRUN, SND_PCM_STATE_SETUP: state = .underrun
        case SND_PCM_STATE_SUSPENDED: state = .suspended
        default: state = .lost
        }
        return PlayoutDeviceReading(
            state: state, free: max(0, free), delay: Int(snd_pcm_status_get_delay(status)),
            instant: HostInstant(of: status))
    }

    private static func state(_ code: Int32) -> PlayoutDeviceReading.State {
        switch -code {
        case EPIPE: return .underrun
        case ESTRPIPE: return .suspended
        default: return .lost
        }
    }

    func write(_ samples: UnsafePointer<Float>, frames: Int) -> PlayoutDeviceResult {
        let frames = min(frames, SoundCardPlayout.maximumFrames)
        sampleFormat.convert(
            samples, frames: frames, channels: format.channels, sources: sources, count: order.bits.count, to: scratch)
        let code = snd_pcm_writei(handle, scratch, snd_pcm_uframes_t(frames))
        if code >= 0 { return .wrote(Int(code)) }
        switch Int32(-code) {
        case EAGAIN, EINTR: return .wrote(0)
        case EPIPE: return .underrun
        case ESTRPIPE: return .suspended
        default: return .lost
        }
    }

    func start() {
        if snd_pcm_state(handle) == SND_PCM_STATE_PREPARED { snd_pcm_start(handle) }
    }

    func rewind(_ frames: Int) -> Int {
        let rewindable = Int(snd_pcm_rewindable(handle)) - untouchable
        guard frames > 0, rewindable > 0 else { return 0 }
        return max(0, Int(snd_pcm_rewind(handle, snd_pcm_uframes_t(min(frames, rewindable)))))
    }

    func discard() -> Bool { snd_pcm_drop(handle) >= 0 && snd_pcm_prepare(handle) >= 0 }

    func recover() -> Bool {
        if snd_pcm_state(handle) == SND_PCM_STATE_SUSPENDED {
            // EAGAIN: the driver is not ready yet after the system resumed.
            if snd_pcm_resume(handle) == -EAGAIN { return false }
            snd_pcm_drop(handle)
        }
        return snd_pcm_prepare(handle) >= 0
    }
}

extension HostInstant {
    /// Returns the timestamp of a status query, or the current instant if the driver has no timestamps.
    init(of status: OpaquePointer?) {
        var stamp = snd_htimestamp_t()
        snd_pcm_status_get_htstamp(status, &stamp)
        self =
            stamp.tv_sec == 0 && stamp.tv_nsec == 0
            ? .now : HostInstant(nanoseconds: Int64(stamp.tv_sec) * 1_000_000_000 + Int64(stamp.tv_nsec))
    }
}
