internal import CALSA
internal import Glibc
import MediaCore
package import SyncRendering
internal import Synchronization

/// An ALSA capture device for calibrations.
///
/// Its thread ("microphone") stores the samples; they can be read during the recording. Memory is allocated once, in
/// `init`.
///
/// `@unchecked Sendable`: only the thread writes samples and anchors, and publishes their counts with a release.
/// Readers load the counts with an acquire and read no further.
package final class Microphone: @unchecked Sendable {
    /// The number of channels, at most 2: a microphone, and optionally a light sensor.
    let channels: Int
    /// Frames per second.
    package let sampleRate: Int

    private let name: String
    private let handle: OpaquePointer
    private let format: SampleFormat
    /// Channels of the device; those beyond `channels` are discarded.
    private let deviceChannels: Int
    /// The maximum length of the recording, in frames.
    private let capacity: Int
    /// Written by the microphone thread, published by `frameCount`.
    private let samples: UnsafeMutablePointer<Float>
    /// Written by the microphone thread, published by `anchorCount`.
    private let anchors: UnsafeMutablePointer<CapturedAudio.Anchor>
    private let frameCount = Atomic<Int>(0)
    private let anchorCount = Atomic<Int>(0)
    private let overruns = Atomic<Int>(0)
    private let stopping = Atomic<Bool>(false)
    private let thread = Lock<WorkerThread?>(nil)
    private let trouble = Lock<OutputError?>(nil)

    /// Frames per read: 20 ms at 48 kHz.
    private static let piece = 960
    private static let maxAnchors = 1 << 14

    /// Whether a name denotes a device or the sound server. ALSA's other names may contain plugins with arguments, of
    /// which `file` and `tee` write files and run commands.
    package static func isDevice(_ name: String) -> Bool {
        let fields = name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard fields.count == 2 else { return ["default", "pulse", "pipewire", "sysdefault"].contains(name) }
        let allowed = fields[1].utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "="), UInt8(ascii: ","), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return allowed && ["hw", "plughw", "sysdefault", "dsnoop"].contains(fields[0])
    }

    /// Opens and configures a device; `start` starts the recording.
    ///
    /// - Parameters:
    ///   - device: The ALSA name: `default`, `hw:1`, `plughw:CARD=Microphone`, `pulse`, …
    ///   - longest: The maximum length of the recording; it ends automatically.
    /// - Throws: `unavailable`, `busy`, `notPermitted` or `unsupportedFormat`, with a message; nothing is held then.
    package init(device: String = "default", longest: Duration) throws(OutputError) {
        calsa_be_quiet()
        var handle: OpaquePointer?
        let code = snd_pcm_open(&handle, device, SND_PCM_STREAM_CAPTURE, SND_PCM_NONBLOCK)
        guard code >= 0, let handle else { throw OutputError.alsa(code, device: device, isCapture: true) }
        do throws(OutputError) {
            let parameters = try HardwareParameters(handle, device: device)
            let count = parameters.takes(channels: 2) ? 2 : parameters.channels(near: 2)
            try parameters.set(channels: count)
            sampleRate = try parameters.setRate(near: 48_000)
            format = try parameters.setSampleFormat()
            _ = try parameters.setSizes(ALSADevice.Sizes(period: .milliseconds(10), buffer: .milliseconds(500)))
            try parameters.apply()
            try Self.stampMonotonic(handle, device: device)
            deviceChannels = count
        } catch {
            snd_pcm_close(handle)
            throw error
        }
        name = device
        self.handle = handle
        channels = min(2, deviceChannels)
        capacity = max(1, Int(longest.inSeconds * Double(sampleRate)))
        samples = .allocate(capacity: capacity * channels)
        anchors = .allocate(capacity: Self.maxAnchors)
    }

    deinit {
        _ = stopThread()
        snd_pcm_close(handle)
        samples.deallocate()
        anchors.deallocate()
    }

    private static func stampMonotonic(_ handle: OpaquePointer, device: String) throws(OutputError) {
        var parameters: OpaquePointer?
        snd_pcm_sw_params_malloc(&parameters)
        defer { snd_pcm_sw_params_free(parameters) }
        snd_pcm_sw_params_current(handle, parameters)
        snd_pcm_sw_params_set_tstamp_mode(handle, parameters, SND_PCM_TSTAMP_ENABLE)
        snd_pcm_sw_params_set_tstamp_type(handle, parameters, SND_PCM_TSTAMP_TYPE_MONOTONIC)
        let code = snd_pcm_sw_params(handle, parameters)
        guard code >= 0 else { throw OutputError.alsa(code, device: device, isCapture: true) }
    }

    /// Starts the recording. Call it once.
    ///
    /// - Throws: `OutputError` if the device does not start or no thread can be created.
    package func start() throws(OutputError) {
        let code = snd_pcm_start(handle)
        guard code >= 0 else { throw OutputError.alsa(code, device: name, isCapture: true) }
        do throws(ExhaustionError) {
            let worker = try WorkerThread.start(name: "microphone", priority: .elevated) { [unowned self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            snd_pcm_drop(handle)
            throw OutputError(.failed, "\"\(name)\" cannot be recorded from: \(error.message)")
        }
    }

    /// The error that ended the recording; nil if there was none. Any thread.
    package var failure: OutputError? { trouble.withLock { $0 } }

    /// The number of frames recorded so far. Any thread.
    package var frames: Int { frameCount.load(ordering: .acquiring) }

    /// Returns a copy of the recording so far, from frame `first` on. Any thread.
    package func recording(from first: Int = 0) -> CapturedAudio {
        let count = frames
        let begin = max(0, min(first, count))
        let anchorCount = anchorCount.load(ordering: .acquiring)
        let all = (0..<channels).map { channel in
            (begin..<count).map { samples[$0 * channels + channel] }
        }
        return CapturedAudio(
            sampleRate: sampleRate, channels: all,
            anchors: (0..<anchorCount).map { anchors[$0] }, overruns: overruns.load(ordering: .relaxed))
    }

    /// Stops the recording and joins the thread. Returns the recording.
    package func stop() -> CapturedAudio {
        _ = stopThread()
        return recording()
    }

    private func stopThread() -> Bool {
        stopping.store(true, ordering: .relaxed)
        guard let worker = thread.withLock({ $0.take() }) else { return false }
        worker.join()
        return true
    }

    // MARK: The thread

    private func run() {
        let bytes = Self.piece * deviceChannels * format.bytesPerSample
        let raw = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 16)
        defer { raw.deallocate() }
        var status: OpaquePointer?
        snd_pcm_status_malloc(&status)
        defer { snd_pcm_status_free(status) }
        while !stopping.load(ordering: .relaxed) {
            let waited = snd_pcm_wait(handle, 100)
            if waited < 0, !recover(waited) { return }
            let count = snd_pcm_readi(handle, raw, snd_pcm_uframes_t(Self.piece))
            if count < 0 {
                if count == -Int(EAGAIN) { continue }
                if !recover(Int32(count)) { return }
                continue
            }
            guard store(raw, Int(count)) else { return }
            recordAnchor(status)
        }
    }

    /// Stores samples. Returns false if the recording is full.
    private func store(_ raw: UnsafeRawPointer, _ count: Int) -> Bool {
        let have = frameCount.load(ordering: .relaxed)
        let kept = min(count, capacity - have)
        for frame in 0..<kept {
            for channel in 0..<channels {
                samples[(have + frame) * channels + channel] = format.value(raw, at: frame * deviceChannels + channel)
            }
        }
        frameCount.store(have + kept, ordering: .releasing)
        return kept == count
    }

    /// Stores an anchor: the frame now captured follows the stored frames by `delay`, the frames not read yet.
    private func recordAnchor(_ status: OpaquePointer?) {
        let have = anchorCount.load(ordering: .relaxed)
        guard have < Self.maxAnchors, snd_pcm_status(handle, status) >= 0,
            snd_pcm_status_get_state(status) == SND_PCM_STATE_RUNNING
        else { return }
        let frame = frameCount.load(ordering: .relaxed) + Int(snd_pcm_status_get_delay(status))
        (anchors + have).initialize(to: CapturedAudio.Anchor(frame: Int64(frame), instant: HostInstant(of: status)))
        anchorCount.store(have + 1, ordering: .releasing)
    }

    /// Returns false if the recording must end. An overrun ends it: a gap would shift all later frames.
    private func recover(_ code: Int32) -> Bool {
        if code == -EINTR || code == -EAGAIN { return true }
        if code == -EPIPE || code == -ESTRPIPE {
            overruns.add(1, ordering: .relaxed)
            trouble.withLock {
                $0 = OutputError(
                    .failed, "the computer was too busy to record from \"\(name)\" without a gap; close other programs")
            }
        } else {
            trouble.withLock { $0 = OutputError.alsa(code, device: name, isCapture: true) }
        }
        return false
    }
}
