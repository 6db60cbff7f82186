public import MediaCore
public import SyncRendering
internal import Synchronization

/// This computer's sound: any device that ALSA knows, hardware or a sound server behind its plugin.
///
/// The card never becomes the clock: its drift against the host clock is measured and the sound resampled by a few
/// parts per million. Underruns, suspends and lost devices are reported as events. When a device is lost another one
/// takes over, where there are `substitutes`, until it is back; without any it is tried again until it comes back. Sound
/// then joins the film where it is by then. A name that comes to mean another device (ALSA's `default`) is followed
/// within two seconds; where a sound server stands behind it, the server moves the sound and the card its clock. `sink`
/// says where the sound is heard in the end.
///
/// The pump's thread ("sound card") runs at real-time priority where that is granted; a second one ("sound card look")
/// sees to changes behind its back.
public final class SoundCard: AudioOutput {
    public let name: String
    public let kind = AudioRouteKind.soundCard
    public let desiredDepth: Duration = .seconds(1)

    let device: String
    private let substitutes: @Sendable () -> [String]
    private let depths: SoundCardPump.Depths
    private let channels: ChannelChoice
    let state = Lock(State())
    private let gainBits = Atomic<UInt32>(Float(1).bitPattern)
    private let delayAfterCard = Atomic<Int64>(0)

    struct State {
        /// Opens the device on a thread of its own, ahead of need.
        var opening: Opening?
        /// Open, and not in the pump's hands.
        var idle: ALSADevice?
        var worker: SoundCardWorker?
        /// Told when the sink is another one, or becomes known.
        var sinkNews: @Sendable () -> Void = {}
        /// Told the same, beside the application.
        var sinkWatchers: [@Sendable () -> Void] = []
        /// When it was closed last the device was not there.
        var wasLost = false
    }

    /// - Parameters:
    ///   - device: ALSA's name for it: `default`, `hw:0`, `plughw:CARD=PCH`, `pulse`, …
    ///   - depths: how far the card's queue is filled; the defaults suit playing films.
    ///   - channels: which loudspeakers are played to, of films that have more than two channels.
    ///   - substitutes: ALSA's names of devices that take over when this one is lost, the likeliest first; asked then, on
    ///     the pump's thread, and may block. `SoundCardProbe.substitutes(for:)` names what this computer has.
    public init(
        device: String = "default", depths: SoundCardPump.Depths = SoundCardPump.Depths(),
        channels: ChannelChoice = .autoSafe,
        substitutes: @escaping @Sendable () -> [String] = { [] }
    ) {
        self.device = device
        self.substitutes = substitutes
        self.depths = depths
        self.channels = channels
        name = device == "default" ? "sound card" : device
    }

    deinit { close() }

    /// ALSA's name of the device that plays: the one that was asked for, or a substitute; nil while there is none, or
    /// nothing is prepared. Any thread.
    public var playingDevice: String? { state.withLock { $0.worker }?.keeper.place }

    /// The device is the one that was asked for. Any thread.
    public var isPlayingOwnDevice: Bool { playingDevice == device }

    // MARK: Where it is heard

    /// The sink that the sound goes to, which behind a sound server is another one than ALSA's name says; not known before
    /// `prepare`, and for some milliseconds after it. Any thread.
    public var sink: SinkKnowledge {
        state.withLock { $0.worker }?.sink ?? .unknown("nothing plays")
    }

    /// Wants to hear when `sink` has changed behind the card's back: it became known, or the server moved the sound, which
    /// is an `outputMoved` event too. A device that is replaced by another one is told by events alone.
    ///
    /// - Parameter news: called on a thread of the card's; must return at once. Replaces the one before.
    public func setSinkNews(_ news: @escaping @Sendable () -> Void) { state.withLock { $0.sinkNews = news } }

    /// The same for one more, beside whoever `setSinkNews` has named.
    package func addSinkWatcher(_ watcher: @escaping @Sendable () -> Void) {
        state.withLock { $0.sinkWatchers.append(watcher) }
    }

    func sinkHasChanged() {
        let (news, watchers) = state.withLock { ($0.sinkNews, $0.sinkWatchers) }
        news()
        for watcher in watchers { watcher() }
    }

    /// How calibrations know it now.
    package var identity: OutputIdentity { SoundCardProvider.identity(at: sink, device: device) }

    // MARK: Opening

    /// Begins to open the device in the background, which takes some tens of milliseconds where a sound server must
    /// answer. Optional; whether it worked is told by `prepare`. Any thread.
    public func open() {
        state.withLock { state in
            guard state.opening == nil, state.idle == nil, state.worker == nil else { return }
            state.opening = Opening(device: device, channels: channels)
        }
    }

    /// Waits for the device to be open, opening it if need be. May block.
    /// - Throws: why it cannot be opened; nothing is held then.
    private func opened() throws(OutputError) -> ALSADevice {
        open()
        let (opening, idle) = state.withLock { ($0.opening, $0.idle) }
        if let idle { return idle }
        guard let opening else { throw OutputError(.busy, "the sound device \"\(device)\" is playing already") }
        var result = opening.wait()
        // A device that was lost in one film is no reason to play the next without sound.
        if case .failure = result, state.withLock({ $0.wasLost }),
            // ignored: the next one is tried; without any, the failure of the first is thrown.
            let substitute = substitutes().lazy.compactMap({ try? ALSADevice(name: $0) }).first
        {
            result = .success(substitute)
        }
        state.withLock { state in
            state.opening = nil
            if case .success(let device) = result { state.idle = device }
        }
        return try result.get()
    }

    /// Opens a device on a thread of its own.
    final class Opening: Sendable {
        private let result = Lock<Result<ALSADevice, OutputError>?>(nil)
        private let thread = Lock<WorkerThread?>(nil)

        init(device: String, channels: ChannelChoice) {
            let result = self.result
            do throws(ExhaustionError) {
                let worker = try WorkerThread.start(name: "sound opening", priority: .elevated) {
                    let answer: Result<ALSADevice, OutputError>
                    do throws(OutputError) {
                        let opened = try ALSADevice(name: device)
                        opened.choice = channels
                        // Only the server behind it knows what it plays on.
                        if channels == .autoSafe, opened.way == .elsewhere, !opened.saysLoudspeakers {
                            opened.serverLayout = SinkLayout.ask()
                        }
                        answer = .success(opened)
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

        func wait() -> Result<ALSADevice, OutputError> {
            let thread = self.thread.withLock { $0 }
            thread?.join()
            return result.withLock { $0 }
                ?? .failure(OutputError(.failed, "opening the sound device was interrupted; try again"))
        }
    }

    // MARK: AudioOutput

    public var latency: OutputLatency {
        let worker = state.withLock { $0.worker }
        guard let pump = worker?.pump else {
            return OutputLatency(startLead: depths.idle + depths.wakeUp + .milliseconds(10))
        }
        var shares = [
            LatencyShare(
                name: "sound card", duration: pump.delay, uncertainty: pump.uncertainty, source: .reported)
        ]
        let after = Duration.nanoseconds(delayAfterCard.load(ordering: .relaxed))
        if after != .zero { shares.append(LatencyShare(name: "after the card", duration: after, source: .calibrated)) }
        return OutputLatency(startLead: pump.startLead, stopLead: pump.stopLead, shares: shares)
    }

    /// The device was lost, and no other one plays in its place so far. Any thread.
    public var loss: OutputError? {
        guard let worker = state.withLock({ $0.worker }), worker.keeper.place == nil else { return nil }
        return OutputError(.lost, "the sound device \"\(device)\" is gone; connect it again, or choose another output")
    }

    public var isReadyToStart: Bool { state.withLock { $0.worker }?.pump.isSettled ?? false }

    /// Time from the card's output to the ear that the card cannot know of, as a calibration found it. Any thread.
    public func setDelayAfterCard(_ delay: Duration) {
        delayAfterCard.store(delay.wholeNanoseconds, ordering: .relaxed)
        state.withLock { $0.worker }?.keeper.setDelayAfterOwn(delay)
    }

    /// Always decoded sound, at the film's own rate where the device takes it. The first call may block while the
    /// device opens.
    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery {
        if let worker = state.withLock({ $0.worker }) { return .pcm(worker.format) }
        // ignored: `prepare` throws the failure.
        if let device = try? opened(),
            let format = try? device.nearest(to: format.sampleRate, layout: format.layout)
        {
            return .pcm(format)
        }
        return .pcm(PCMFormat(sampleRate: format.sampleRate, layout: .stereo))
    }

    /// Opens and starts the device, which plays silence from then on, so that its clock is known when sound comes.
    ///
    /// - Throws: `unavailable`, `busy`, `notPermitted` or `unsupportedFormat`, with a sentence that says what to do.
    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        guard case .pcm(let format) = delivery else {
            throw OutputError(.unsupportedFormat, "a sound card takes decoded sound only")
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
            sinkNews: { [weak self] in self?.sinkHasChanged() })
        worker.keeper.setDelayAfterOwn(.nanoseconds(delayAfterCard.load(ordering: .relaxed)))
        do throws(ExhaustionError) {
            try worker.start()
        } catch {
            let device = worker.stop()
            state.withLock { $0.idle = device }
            throw OutputError(error, output: "the sound device \"\(self.device)\"")
        }
        state.withLock { state in
            state.idle = nil
            state.worker = worker
        }
    }

    public func accept(_ block: PCMBlock, from offset: Int) -> Int {
        guard let worker = state.withLock({ $0.worker }) else { return 0 }
        let taken = worker.buffer.accept(block, from: offset)
        if taken < block.frames - offset { worker.pump.askForRoom() }
        return taken
    }

    public func finish() { state.withLock { $0.worker }?.buffer.finish() }

    public var acceptedUntil: MediaTime? { state.withLock { $0.worker }?.buffer.acceptedUntil }

    public func flush() {
        guard let worker = state.withLock({ $0.worker }) else { return }
        worker.buffer.flush()
        worker.wake.raise()
    }

    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) { state.withLock { $0.worker }?.wake.raise() }

    public func setGain(_ gain: Float) {
        gainBits.store(gain.bitPattern, ordering: .relaxed)
        state.withLock { $0.worker }?.pump.setGain(gain)
    }

    public func close() {
        let opening = state.withLock { state -> Opening? in
            defer { state.opening = nil }
            return state.opening
        }
        // Whatever it opened is closed by its last reference.
        _ = opening?.wait()
        stopWorker()
        state.withLock { $0.idle = nil }
    }

    /// Ends the pump; its device is kept for the next use.
    private func stopWorker() {
        let worker = state.withLock { state -> SoundCardWorker? in
            defer { state.worker = nil }
            return state.worker
        }
        guard let worker else { return }
        let isElsewhere = worker.keeper.place != device
        let idle = worker.stop()
        state.withLock { state in
            state.wasLost = isElsewhere
            state.idle = idle
        }
    }
}
