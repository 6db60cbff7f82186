internal import CardPlayout
public import MediaCore
public import SyncRendering
internal import Synchronization

/// An ALSA playback device: hardware, or a sound server behind its plugin.
///
/// The card is never the master clock. Its drift against the host clock is measured, and audio is resampled by a few
/// parts per million. Underruns, suspends and lost devices are reported as events.
///
/// A lost device is replaced by one of the `substitutes` until it returns; without substitutes it is reopened
/// periodically. Audio then resumes at the current media time. If a name gets another target (ALSA's `default`), the
/// card follows within 2 s. A sound server moves the stream without reopening; only the measured clock changes. `sink`
/// is the actual destination.
///
/// The feeder thread of the renderer makes the data calls (`prepare`, `accept`, `finish`, `flush`, `close`). The pump
/// thread ("sound card") runs at real-time priority if permitted. A second thread ("sound card look") polls for device
/// changes.
public final class SoundCard: PreopeningOutput, StartReportingOutput, RecoveringOutput, MovableOutput {
    /// The user-facing name of the output.
    public let name: String
    /// Always `soundCard`.
    public let kind = AudioRouteKind.soundCard
    /// The requested read-ahead of the renderer: 1 s.
    public let desiredDepth: Duration = .seconds(1)

    /// The ALSA name of the requested device, or `sink:NAME`.
    package let device: String
    private let substitutes: @Sendable () -> [String]
    private let depths = SoundCardPump.Depths()
    private let channels: ChannelChoice
    let state = Lock(State())
    private let gainBits = Atomic<UInt32>(Float(1).bitPattern)

    /// The mutable state; guarded by `state`.
    struct State {
        /// The open operation in progress; nil if there is none.
        var opening: Opening?
        /// An open device that no pump uses.
        var idle: ALSADevice?
        var worker: SoundCardWorker?
        /// Called when the sink has changed or becomes known. For the application.
        var sinkHandler: @Sendable () -> Void = {}
        /// Called at the same events. For other modules.
        var sinkWatchers: [@Sendable () -> Void] = []
        /// What the handlers know of the delay.
        var delayNews = DelayNews()
        /// Whether the requested device was missing when the card was last closed.
        var wasLost = false
    }

    /// The name of the default device for the user, in every place where outputs are named.
    package static let defaultName = "This computer"

    /// Creates an output. Opens nothing.
    ///
    /// - Parameters:
    ///   - device: The ALSA name: `default`, `hw:0`, `plughw:CARD=PCH`, `pulse`, …; or `sink:NAME` for a sink of the
    ///     sound server.
    ///   - name: The name for the user; nil: `defaultName` for the default device, otherwise its ALSA name.
    ///   - channels: The loudspeakers to use for media with more than two channels.
    ///   - substitutes: Returns ALSA names of replacement devices, most preferred first. Called on the pump thread
    ///     after a loss; may block. See `SoundCardProbe.substitutes(for:)`.
    public init(
        device: String = "default", name: String? = nil, channels: ChannelChoice = .autoSafe,
        substitutes: @escaping @Sendable () -> [String] = { [] }
    ) {
        self.device = device
        self.substitutes = substitutes
        self.channels = channels
        self.name = name ?? (device == "default" ? Self.defaultName : device)
    }

    deinit { close() }

    /// The ALSA name of the device that plays, requested or substitute; nil without a device and before `prepare`. Any
    /// thread.
    package var playingDevice: String? { state.withLock { $0.worker }?.failover.deviceName }

    /// Whether the requested device plays, not a substitute. Any thread.
    package var isPlayingOwnDevice: Bool { playingDevice == device }

    /// The device that plays, with its sink; nil without a device. Any thread.
    package var outputDevice: OutputDevice? {
        guard let worker = state.withLock({ $0.worker }), let name = worker.failover.deviceName else { return nil }
        return OutputDevice(
            name: name, isOwn: name == device, sink: worker.sink.sink.map { PrintableText.of($0.title) })
    }

    // MARK: Where it is heard

    /// The destination of the audio, which differs from the ALSA name behind a sound server. Unknown before `prepare`
    /// and for some milliseconds after it. Any thread.
    public var sink: SinkKnowledge {
        state.withLock { $0.worker }?.sink ?? .unknown("nothing plays")
    }

    /// Sets the handler for changes of `sink`: it has become known, or the sound server has moved the stream.
    ///
    /// The latter is also an `outputMoved` event. A device replaced by another one is reported within two seconds.
    ///
    /// - Parameter onEvent: Called on an internal thread; must return at once. Replaces the previous handler.
    public func setSinkHandler(_ onEvent: @escaping @Sendable () -> Void) {
        state.withLock { $0.sinkHandler = onEvent }
    }

    /// Adds a handler for changes of `sink`, in addition to the one of `setSinkHandler`. Any thread.
    package func addSinkWatcher(_ watcher: @escaping @Sendable () -> Void) {
        state.withLock { $0.sinkWatchers.append(watcher) }
    }

    func sinkHasChanged() {
        let (onEvent, watchers) = state.withLock { ($0.sinkHandler, $0.sinkWatchers) }
        onEvent()
        for watcher in watchers { watcher() }
    }

    /// Reports another device, which may have another calibration, and a delay that has turned out to be assumed, which
    /// is known only when it has been measured.
    private func pollDelay() {
        let isAssumed = latency.shares.contains { $0.source == .assumed }
        let key = identity.key
        if state.withLock({ $0.delayNews.update(key: key, isAssumed: isAssumed) }) { sinkHasChanged() }
    }

    /// Whether the handlers of `sink` must be called, although no sound server has reported a change.
    struct DelayNews: Sendable {
        private var key: String?
        private var isAssumed = false

        /// Adopts the state of a poll. Returns true for another identity, and for a delay that is assumed and was not.
        mutating func update(key: String, isAssumed: Bool) -> Bool {
            defer { (self.key, self.isAssumed) = (key, isAssumed) }
            return (self.key ?? key) != key || isAssumed && !self.isAssumed
        }
    }

    /// The current identity for calibration profiles.
    package var identity: OutputIdentity { SoundCardProvider.identity(at: sink, device: device) }

    // MARK: Opening

    /// Starts to open the device in the background; takes some tens of milliseconds with a sound server. Optional.
    /// `prepare` reports a failure. Any thread.
    public func open() {
        state.withLock { state in
            guard state.opening == nil, state.idle == nil, state.worker == nil else { return }
            state.opening = Opening(device: device, channels: channels)
        }
    }

    /// Returns the open device; opens it if needed. May block.
    ///
    /// - Throws: `OutputError` if it cannot be opened; nothing is held then.
    private func opened() throws(OutputError) -> ALSADevice {
        open()
        let (opening, idle) = state.withLock { ($0.opening, $0.idle) }
        if let idle { return idle }
        guard let opening else { throw OutputError(.busy, "\(describedDevice) is already playing") }
        var result = opening.wait()
        // A device lost during the previous item: use a substitute instead of playing without audio.
        if case .failure = result, state.withLock({ $0.wasLost }),
            // ignored: the next one is tried; without any, the failure of the first is thrown.
            let substitute = substitutes().lazy.compactMap({ [channels] in try? Opening.device($0, channels) }).first
        {
            result = .success(substitute)
        }
        state.withLock { state in
            state.opening = nil
            if case .success(let device) = result { state.idle = device }
        }
        return try result.get()
    }

    /// Opens a device on a separate thread.
    final class Opening: Sendable {
        private let result = Lock<Result<ALSADevice, OutputError>?>(nil)
        private let thread = Lock<WorkerThread?>(nil)

        init(device: String, channels: ChannelChoice) {
            let result = self.result
            do throws(ExhaustionError) {
                let worker = try WorkerThread.start(name: "sound opening", priority: .elevated) {
                    let answer: Result<ALSADevice, OutputError>
                    do throws(OutputError) {
                        answer = .success(try Opening.device(device, channels))
                    } catch {
                        answer = .failure(error)
                    }
                    result.withLock { $0 = answer }
                }
                thread.withLock { $0 = worker }
            } catch {
                result.withLock { $0 = .failure(OutputError(error, output: "the sound device \"\(device)\"")) }
            }
        }

        /// Opens a device on the calling thread.
        static func device(_ name: String, _ channels: ChannelChoice) throws(OutputError) -> ALSADevice {
            let opened = try ALSADevice(name: name)
            opened.choice = channels
            // Only the sound server knows the layout of its sink.
            if channels == .autoSafe, opened.way == .elsewhere, !opened.saysLoudspeakers {
                opened.serverLayout = SinkLayout.ask(sinkName: opened.sinkName)
            }
            return opened
        }

        func wait() -> Result<ALSADevice, OutputError> {
            let thread = self.thread.withLock { $0 }
            thread?.join()
            return result.withLock { $0 }
                ?? .failure(OutputError(.failed, "opening the sound device was interrupted; try again"))
        }
    }

    // MARK: AudioOutput

    /// The lead for starts and stops, and the delay of the card. A Bluetooth device's is `assumed` if it is the sound
    /// server's constant; a delay that the desktop keeps for the sink's port is a share of its own, `configured`, and
    /// compensated with the rest. Any thread.
    public var latency: OutputLatency {
        let worker = state.withLock { $0.worker }
        guard let worker else {
            return OutputLatency(startLead: depths.idle + depths.wakeUp + .milliseconds(10))
        }
        let (pump, sink) = (worker.pump, worker.sink.sink)
        let portOffset = sink?.portOffset
        let isConstant = sink?.bluetooth?.isConstant(pump.delayBehindQueue - (portOffset ?? .zero)) ?? false
        var shares = [
            LatencyShare(
                name: "sound card", duration: pump.delay - (portOffset ?? .zero), uncertainty: pump.uncertainty,
                source: isConstant ? .assumed : .reported)
        ]
        if let portOffset {
            shares.append(LatencyShare(name: "port offset", duration: portOffset, source: .configured))
        }
        return OutputLatency(startLead: pump.startLead, stopLead: pump.stopLead, shares: shares)
    }

    /// The reason for silence: the device is lost, and no substitute plays. Nil while a device plays. Any thread.
    public var loss: OutputError? {
        guard let worker = state.withLock({ $0.worker }), worker.failover.deviceName == nil else { return nil }
        return OutputError(
            .lost, "\(describedDevice) was disconnected; connect it again, or choose another output")
    }

    /// The device in a sentence for the user.
    private var describedDevice: String {
        SinkAddress.name(in: device) == nil ? "the sound device \"\(device)\"" : "'\(name)'"
    }

    /// Whether the delay of the card is measured well enough for a precise start. Any thread.
    public var isReadyToStart: Bool { state.withLock { $0.worker }?.pump.isSettled ?? false }

    /// Returns PCM at the sample rate of the media if the device supports it. The first call may block while the device
    /// opens.
    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        if let worker = state.withLock({ $0.worker }) { return .pcm(worker.format) }
        // ignored: `prepare` throws the failure.
        if let device = try? opened(),
            let format = try? device.nearest(to: format.sampleRate, layout: format.layout)
        {
            return .pcm(format)
        }
        // `prepare` throws the error.
        return .pcm(PCMFormat(sampleRate: format.sampleRate, layout: .stereo))
    }

    /// Opens and starts the device. It plays silence at first, so that its clock is known when audio arrives.
    ///
    /// - Throws: `unavailable`, `busy`, `notPermitted` or `unsupportedFormat`, with a remedy in the message.
    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        guard case .pcm(let format) = delivery else {
            throw OutputError(.unsupportedFormat, "a sound card accepts decoded audio only")
        }
        if let worker = state.withLock({ $0.worker }) {
            if worker.format == format, worker.isFor(context) { return }
            stopWorker()
        }
        let device = try opened()
        do throws(OutputError) {
            try device.configure(format)
        } catch {
            state.withLock { $0.idle = nil }
            throw error
        }
        let worker = SoundCardWorker(
            device: device, name: self.device, context: context, depths: depths,
            gain: Float(bitPattern: gainBits.load(ordering: .relaxed)), substitutes: substitutes,
            sinkNews: { [weak self] in self?.sinkHasChanged() }, poll: { [weak self] in self?.pollDelay() })
        do throws(ExhaustionError) {
            try worker.start()
        } catch {
            let device = worker.stop()
            state.withLock { $0.idle = device }
            throw OutputError(error, output: describedDevice)
        }
        state.withLock { state in
            state.idle = nil
            state.worker = worker
        }
        // The server may have answered before the worker was known here.
        if worker.sink.sink != nil { sinkHasChanged() }
    }

    /// Queues decoded audio from frame `offset` of the block on. Returns the number of frames taken; never blocks.
    public func accept(_ block: PCMBlock, from offset: Int) -> Int {
        guard let worker = state.withLock({ $0.worker }) else { return 0 }
        let taken = worker.buffer.accept(block, from: offset)
        if taken < block.frames - offset { worker.pump.askForRoom() }
        return taken
    }

    /// Marks the end of the input: running dry afterwards is no underrun.
    public func finish() { state.withLock { $0.worker }?.buffer.finish() }

    /// The media time up to which audio is queued since the last flush; nil if none.
    public var acceptedUntil: MediaTime? { state.withLock { $0.worker }?.buffer.acceptedUntil }

    /// Discards all queued audio and wakes the pump.
    public func flush() {
        guard let worker = state.withLock({ $0.worker }) else { return }
        worker.buffer.flush()
        worker.wake.raise()
    }

    /// Wakes the pump, which reads the new timeline. Any thread; returns at once.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { state.withLock { $0.worker }?.wake.raise() }

    /// Sets the linear gain; 1 is unchanged. Any thread.
    public func setGain(_ gain: Float) {
        gainBits.store(gain.bitPattern, ordering: .relaxed)
        state.withLock { $0.worker }?.pump.setGain(gain)
    }

    /// Stops the pump and closes the device. May block until a pending open has ended.
    public func close() {
        let opening = state.withLock { $0.opening.take() }
        // The last reference to the opening closes the device that it opened.
        _ = opening?.wait()
        stopWorker()
        state.withLock { $0.idle = nil }
    }

    /// Stops the pump and keeps its device open for the next use.
    private func stopWorker() {
        let worker = state.withLock { $0.worker.take() }
        guard let worker else { return }
        let isElsewhere = worker.failover.deviceName != device
        let idle = worker.stop()
        state.withLock { state in
            state.wasLost = isElsewhere
            state.idle = idle
        }
    }
}
