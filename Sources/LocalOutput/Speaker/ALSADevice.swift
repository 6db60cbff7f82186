internal import CALSA
internal import Glibc
internal import MediaCore
internal import SyncRendering

/// One ALSA playback stream: opened, then configured, then driven by the pump.
///
/// `@unchecked Sendable`: used by one thread at a time; the owner hands it to the pump's thread before that starts
/// and takes it back after that was joined.
final class ALSADevice: PlayoutDevice, @unchecked Sendable {
    /// How the queue is laid out.
    struct Sizes {
        /// The device's own step. Small, because sound servers hold one of these beyond our queue.
        var period: Duration = .milliseconds(10)
        var buffer: Duration = .milliseconds(250)
    }

    let name: String
    let way: Way
    /// Which loudspeakers are wanted, and those of the sink behind a sound server, where that is known.
    var choice = ChannelChoice.autoSafe
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
    /// Frames that a rewind must leave, because they are on their way out.
    private var untouchable = 0

    /// Opens a device by its ALSA name. Blocks for some milliseconds, while a sound server answers.
    init(name: String) throws(OutputError) {
        calsa_be_quiet()
        var handle: OpaquePointer?
        // Not blocking: a device that somebody else holds answers "busy" instead of waiting for it.
        let code = snd_pcm_open(&handle, name, SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK)
        guard code >= 0, let handle else { throw OutputError.alsa(code, device: name) }
        var status: OpaquePointer?
        snd_pcm_status_malloc(&status)
        self.name = name
        self.handle = handle
        self.status = status!
        way = ALSADevice.way(handle)
        sources = .allocate(capacity: 1)
    }

    deinit {
        snd_pcm_close(handle)
        snd_pcm_status_free(status)
        sources.deallocate()
        scratch.deallocate()
    }

    /// It says by itself which loudspeakers it has.
    var saysLoudspeakers: Bool {
        guard let maps = snd_pcm_query_chmaps(handle) else { return false }
        defer { snd_pcm_free_chmaps(maps) }
        return maps[0] != nil
    }

    // MARK: Configuration

    /// What this device takes that is nearest to a film's sound. No side effects.
    func nearest(to rate: Int, layout: ChannelLayout) throws(OutputError) -> PCMFormat {
        let parameters = try HardwareParameters(handle, device: name)
        let order = bestOrder(for: layout, choice, parameters)
        try parameters.set(channels: order.bits.count)
        return PCMFormat(sampleRate: try parameters.setRate(near: rate), layout: order.layout)
    }

    /// Sets the device up for a format that `nearest` gave, and makes it ready to be filled.
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
                "the sound device \"\(name)\" no longer takes \(wanted.sampleRate) Hz with \(wanted.channels) channels;"
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

    /// The channel map that serves a layout best, of those that the device offers. A device that cannot say which
    /// loudspeakers it has (sound servers take any number) gets those of its server's sink, or stereo, which is right nearly always.
    private func bestOrder(
        for film: ChannelLayout, _ choice: ChannelChoice, _ parameters: HardwareParameters
    ) -> ChannelOrder {
        let wanted = if case .layout(let layout) = choice { layout } else { film }
        var best: ChannelOrder?
        if let maps = snd_pcm_query_chmaps(handle) {
            defer { snd_pcm_free_chmaps(maps) }
            var index = 0
            while let query = maps[index] {
                // The map follows the type within the structure of the query.
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

    /// The order in force may differ from the one asked for.
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
        // Starts by itself once a period is inside; `start` is for devices that do not.
        snd_pcm_sw_params_set_start_threshold(handle, parameters, snd_pcm_uframes_t(period))
        snd_pcm_sw_params_set_avail_min(handle, parameters, snd_pcm_uframes_t(period))
        snd_pcm_sw_params_set_tstamp_mode(handle, parameters, SND_PCM_TSTAMP_ENABLE)
        snd_pcm_sw_params_set_tstamp_type(handle, parameters, SND_PCM_TSTAMP_TYPE_MONOTONIC)
        let code = snd_pcm_sw_params(handle, parameters)
        guard code >= 0 else { throw OutputError.alsa(code, device: name) }
    }

    /// A card in this machine can take frames back; what went to a sound server is gone.
    private static func isCard(_ handle: OpaquePointer) -> Bool {
        var info: OpaquePointer?
        snd_pcm_info_malloc(&info)
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_type(handle) != SND_PCM_TYPE_IOPLUG, snd_pcm_info(handle, info) >= 0 else { return false }
        return snd_pcm_info_get_card(info) >= 0
    }

    // MARK: PlayoutDevice

    func look() -> PlayoutDeviceReading {
        let code = snd_pcm_status(handle, status)
        guard code >= 0 else { return PlayoutDeviceReading(state: Self.state(code), free: 0, delay: 0, instant: .now) }
        let free = min(capacity, Int(snd_pcm_status_get_avail(status)))
        var stamp = snd_htimestamp_t()
        snd_pcm_status_get_htstamp(status, &stamp)
        // Drivers that keep no stamp leave zero.
        let instant =
            stamp.tv_sec == 0 && stamp.tv_nsec == 0
            ? HostInstant.now
            : HostInstant(nanoseconds: Int64(stamp.tv_sec) * 1_000_000_000 + Int64(stamp.tv_nsec))
        let state: PlayoutDeviceReading.State
        switch snd_pcm_status_get_state(status) {
        case SND_PCM_STATE_RUNNING, SND_PCM_STATE_DRAINING: state = .running
        case SND_PCM_STATE_PREPARED, SND_PCM_STATE_PAUSED: state = .prepared
        case SND_PCM_STATE_XRUN, SND_PCM_STATE_SETUP: state = .underrun
        case SND_PCM_STATE_SUSPENDED: state = .suspended
        default: state = .lost
        }
        return PlayoutDeviceReading(
            state: state, free: max(0, free), delay: Int(snd_pcm_status_get_delay(status)), instant: instant)
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
        let most = Int(snd_pcm_rewindable(handle)) - untouchable
        guard frames > 0, most > 0 else { return 0 }
        return max(0, Int(snd_pcm_rewind(handle, snd_pcm_uframes_t(min(frames, most)))))
    }

    func discard() -> Bool { snd_pcm_drop(handle) >= 0 && snd_pcm_prepare(handle) >= 0 }

    func recover() -> Bool {
        if snd_pcm_state(handle) == SND_PCM_STATE_SUSPENDED {
            // The driver may need some more time after the machine woke.
            if snd_pcm_resume(handle) == -EAGAIN { return false }
            snd_pcm_drop(handle)
        }
        return snd_pcm_prepare(handle) >= 0
    }
}
