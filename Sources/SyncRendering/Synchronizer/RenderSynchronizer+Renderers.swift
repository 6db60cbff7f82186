public import MediaCore

/// Who takes part, and what was asked on their behalf.
struct Roster: Sendable {
    struct Entry: Sendable {
        var renderer: any QueuedSampleBufferRendering
        /// Names the removal that is scheduled, and who waits for it.
        var removal: (id: UInt64, completion: (@Sendable (Bool) -> Void)?)?
    }

    var entries: [Entry] = [] { didSet { renderers = entries.map(\.renderer) } }
    /// Those of the entries, so that they can be asked without the lock and without a new list each time.
    private(set) var renderers: [any QueuedSampleBufferRendering] = []
    var delaysStarts = true
    /// What was asked for last.
    private(set) var rate: Float = 0
    var pending: PendingStart?
    /// What was last told about why it waits.
    var lastWait: OutputWait?
    var monitor = StartMonitor()
    var suspensions = SuspensionWatch(MonotonicClock())
    var lastRemoval: UInt64 = 0

    /// Notes the rate asked for: what makes no sense stands still, and renderers stretch sound only so far.
    mutating func ask(for wanted: Float) -> (isCrowded: Bool, delays: Bool, rate: Float) {
        let isCrowded = !entries.isEmpty
        if isCrowded {
            rate = wanted > 0 ? Float(AudioRenderer.held(Double(wanted))) : 0
        } else {
            rate = wanted.isFinite ? max(0, wanted) : 0
        }
        return (isCrowded, delaysStarts, rate)
    }

    func index(of renderer: any QueuedSampleBufferRendering) -> Int? {
        entries.firstIndex { $0.renderer === renderer }
    }

    /// Nil when the renderer may take part.
    func refusal(of renderer: any QueuedSampleBufferRendering) -> RenderError? {
        if index(of: renderer) != nil {
            return RenderError(.alreadyAdded, "this renderer has been added already; add it once")
        }
        guard let audio = renderer as? AudioRenderer, audio.contentKind.isLongForm else { return nil }
        let others = entries.compactMap { $0.renderer as? AudioRenderer }
        guard let other = others.first(where: { $0.contentKind.isLongForm && !audio.isApart(from: $0) }) else {
            return nil
        }
        return RenderError(
            .secondLongFormAudio,
            "this synchronizer plays a long sound (\(other.contentKind.rawValue)) already; give each an output of its own first, "
                + "enqueue both in one renderer, remove the other, or make this one an interfaceSound")
    }
}

extension AudioRenderer {
    /// Whether both have outputs, and no output is behind both: then they play side by side, as languages in two rooms do.
    fileprivate func isApart(from other: AudioRenderer) -> Bool {
        let (mine, theirs) = (devices, other.devices)
        return !mine.isEmpty && !theirs.isEmpty && !mine.contains { output in theirs.contains { $0 === output } }
    }

    /// The outputs that it plays to, each by itself.
    private var devices: [any AudioOutput] {
        guard let output = state.withLock({ $0.output }) else { return [] }
        return (output as? OutputGroup)?.members ?? [output]
    }
}

extension RenderSynchronizer {
    /// Those added and not yet removed, also while their removal is scheduled.
    public var renderers: [any QueuedSampleBufferRendering] { roster.withLock { $0.renderers } }

    /// Whether a start without a host instant waits until every renderer has sufficient material. True at first.
    ///
    /// Without it a start waits only for outputs that are opening or finding out their delay while sound is enqueued, so that
    /// nothing of it is lost. Turned off while a start waits, that start is looked at anew.
    public var delaysRateChangeUntilHasSufficientMediaData: Bool {
        get { roster.withLock { $0.delaysStarts } }
        set {
            let start = roster.withLock { roster in
                roster.delaysStarts = newValue
                return newValue ? nil : roster.pending
            }
            if let start { setRate(start.rate, time: start.time) }
        }
    }

    /// Takes a renderer on: from now on this timeline is its own. Also while film runs: it joins in time.
    ///
    /// Outputs begin to open their devices. Several long sounds take part when each has an output that plays for no other; a start
    /// waits for all of them.
    ///
    /// - Returns: why it was refused (`alreadyAdded`, `secondLongFormAudio`, `invalidated`, `exhausted`), and nothing has changed then;
    ///   nil when it takes part. Who does not look finds it at the renderer that stays silent, too
    ///   (`AudioRenderer.error`).
    @discardableResult
    public func addRenderer(_ renderer: some QueuedSampleBufferRendering) -> RenderError? {
        let refusal = roster.withLock { roster -> RenderError? in
            if let refusal = roster.refusal(of: renderer) { return refusal }
            roster.entries.append(Roster.Entry(renderer: renderer))
            return nil
        }
        if let refusal {
            // One that plays elsewhere is well.
            if refusal.code != .alreadyAdded { (renderer as? AudioRenderer)?.fail(with: refusal) }
            return refusal
        }
        do {
            try renderer.join(self)
        } catch {
            roster.withLock { $0.entries.removeAll { $0.renderer === renderer } }
            return error
        }
        add(renderer)
        return nil
    }

    /// Adds a renderer and returns its producing end for Swift concurrency.
    public func sampleBufferReceiver(adding renderer: AudioRenderer) throws(RenderError) -> sending SampleBufferReceiver
    {
        if let refusal = addRenderer(renderer) { throw refusal }
        return renderer.sampleBufferReceiver()
    }

    /// Adds a layer and returns its producing end for Swift concurrency.
    public func sampleBufferReceiver(adding layer: DisplayLayer) throws(RenderError) -> sending SampleBufferReceiver {
        if let refusal = addRenderer(layer) { throw refusal }
        return layer.sampleBufferReceiver()
    }

    /// Lets a renderer go when the film reaches a moment, or at once when that has passed, also while film runs.
    ///
    /// A later call for the same renderer replaces an earlier one that has not happened.
    ///
    /// - Parameters:
    ///   - time: nil is at once.
    ///   - completion: called once, on any thread: true when this very call has removed the renderer and nothing of it is
    ///     perceived any more; false when it was never added, or when a later call took this one's place.
    public func removeRenderer(
        _ renderer: some QueuedSampleBufferRendering, at time: MediaTime? = nil,
        completion: (@Sendable (Bool) -> Void)? = nil
    ) {
        let (id, old) = roster.withLock { roster -> (UInt64?, (@Sendable (Bool) -> Void)?) in
            guard let index = roster.index(of: renderer) else { return (nil, nil) }
            roster.lastRemoval += 1
            let old = roster.entries[index].removal
            roster.entries[index].removal = (roster.lastRemoval, completion)
            return (roster.lastRemoval, old?.completion)
        }
        old?(false)
        guard let id else {
            completion?(false)
            return
        }
        if let time, time > currentTime() {
            observation.addAlarm(at: time, startsThread: runsByItself) { [weak self] in self?.remove(removal: id) }
        } else {
            remove(removal: id)
        }
    }

    /// As `removeRenderer(_:at:completion:)`; returns what the completion would be told.
    @discardableResult
    public func removeRenderer(_ renderer: some QueuedSampleBufferRendering, at time: MediaTime? = nil) async -> Bool {
        await withCheckedContinuation { continuation in
            removeRenderer(renderer, at: time) { continuation.resume(returning: $0) }
        }
    }

    private func remove(removal id: UInt64) {
        let entry = roster.withLock { roster -> Roster.Entry? in
            guard let index = roster.entries.firstIndex(where: { $0.removal?.id == id }) else { return nil }
            return roster.entries.remove(at: index)
        }
        guard let entry else { return }
        remove(entry.renderer)
        entry.renderer.leave { entry.removal?.completion?(true) }
        // Those who stay may be all that a start was waiting for.
        reconsiderStart()
    }
}
