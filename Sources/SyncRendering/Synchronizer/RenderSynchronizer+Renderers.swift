public import MediaCore

/// The renderers of a synchronizer and the pending commands. Guarded by the lock `RenderSynchronizer.roster`.
struct Roster: Sendable {
    struct Entry: Sendable {
        var renderer: any QueuedSampleBufferRendering
        /// The number of the scheduled removal, and its completion handler.
        var removal: (id: UInt64, completion: (@Sendable (Bool) -> Void)?)?
    }

    /// A reported wait of the pending start.
    struct Wait: Sendable {
        var cause: OutputWait.Cause
        var output: String
        var since: HostInstant
        /// Whether it was reported to the developer.
        var isReported = false
    }

    var entries: [Entry] = [] { didSet { renderers = entries.map(\.renderer) } }
    /// The renderers of `entries`; a copy that callers iterate without the lock and without an allocation.
    private(set) var renderers: [any QueuedSampleBufferRendering] = []
    var delaysStarts = true
    /// The last requested rate.
    private(set) var rate: Float = 0
    var pending: PendingStart?
    /// The longest wait of the pending start.
    var longestWait: Wait?
    var monitor = StartMonitor()
    var suspensions = SuspensionWatch(MonotonicClock())
    var lastRemoval: UInt64 = 0
    /// Whether a rate that is not supported was reported.
    private var hasReportedRate = false

    /// Stores a requested rate: invalid values become 0, and with renderers it is clamped to the range of audio
    /// stretching.
    ///
    /// - Returns: `isReported` is true for the first rate that is not supported.
    mutating func ask(for wanted: Float) -> (isCrowded: Bool, delays: Bool, rate: Float, isReported: Bool) {
        let isCrowded = !entries.isEmpty
        if isCrowded {
            rate = wanted > 0 ? Float(RenderSynchronizer.held(Double(wanted))) : 0
        } else {
            rate = wanted.isFinite ? max(0, wanted) : 0
        }
        let isReported = rate != wanted && !hasReportedRate
        if isReported { hasReportedRate = true }
        return (isCrowded, delaysStarts, rate, isReported)
    }

    func index(of renderer: any QueuedSampleBufferRendering) -> Int? {
        entries.firstIndex { $0.renderer === renderer }
    }

    /// Returns an error if the renderer must not be added.
    func refusal(of renderer: any QueuedSampleBufferRendering) -> RenderError? {
        if index(of: renderer) != nil {
            return RenderError(.alreadyAdded, "this renderer has been added already; add it once")
        }
        guard let audio = renderer as? any ContentRendering, audio.contentKind.isLongForm else { return nil }
        let others = entries.compactMap { $0.renderer as? any ContentRendering }
        guard let other = others.first(where: { $0.contentKind.isLongForm && !audio.isApart(from: $0) }) else {
            return nil
        }
        return RenderError(
            .secondLongFormAudio,
            "this synchronizer already plays continuous audio (\(other.contentKind.rawValue)); give each its own output "
                + "first, enqueue both in one renderer, remove the other, or make this one an interfaceSound")
    }
}

/// A renderer of audio. A synchronizer takes several long ones only with separate outputs.
protocol ContentRendering: QueuedSampleBufferRendering {
    /// The kind of audio that it plays.
    var contentKind: ContentKind { get }
    /// The outputs to which it plays, groups resolved to their members. Any thread.
    var devices: [any AudioOutput] { get }
    /// Records the error that the renderer reports.
    func fail(with error: any Error)
}

extension ContentRendering {
    /// Returns true if both have outputs and share none, as for languages in two rooms.
    fileprivate func isApart(from other: any ContentRendering) -> Bool {
        let (mine, theirs) = (devices, other.devices)
        return !mine.isEmpty && !theirs.isEmpty && !mine.contains { output in theirs.contains { $0 === output } }
    }
}

extension RenderSynchronizer {
    /// The rates with renderers; see `AudioRenderer.speedRange`.
    static let speedRange = 0.25...4.0

    /// Returns the speed clamped to `speedRange`.
    static func held(_ speed: Double) -> Double { max(speedRange.lowerBound, min(speedRange.upperBound, speed)) }

    /// The renderers that were added and not yet removed, including scheduled removals. Any thread.
    public var renderers: [any QueuedSampleBufferRendering] { roster.withLock { $0.renderers } }

    /// Whether a start without a host instant waits until every renderer has sufficient media. Initially true. Any
    /// thread.
    ///
    /// If false, a start waits only for outputs with audio that are opening or measuring their delay, so that no audio
    /// is lost. Setting false reconsiders a pending start.
    public var delaysRateChangeUntilHasSufficientMediaData: Bool {
        get { roster.withLock { $0.delaysStarts } }
        set {
            command.withLock { _ in
                let start = roster.withLock { roster in
                    roster.delaysStarts = newValue
                    return newValue ? nil : roster.pending
                }
                if let start { change(to: start.rate, start.time, at: nil) }
            }
        }
    }

    /// Adds a renderer to this timeline; during playback it joins in sync. Any thread.
    ///
    /// Outputs start to open their devices. Several long-form renderers are permitted if they share no output; a start
    /// waits for all of them.
    ///
    /// - Returns: The reason of a refusal (`alreadyAdded`, `secondLongFormAudio`, `invalidated`, `exhausted`), after
    ///   which nothing has changed; nil on success. A refused renderer also reports it in `AudioRenderer.error`, and
    ///   a line on standard error does, unless it was added to this synchronizer already.
    @discardableResult
    public func addRenderer(_ renderer: some QueuedSampleBufferRendering) -> RenderError? {
        let refusal = roster.withLock { roster -> RenderError? in
            if let refusal = roster.refusal(of: renderer) { return refusal }
            roster.entries.append(Roster.Entry(renderer: renderer))
            return nil
        }
        if let refusal {
            // One that was added here already plays as it did.
            if refusal.code == .alreadyAdded { return refusal }
            (renderer as? any ContentRendering)?.fail(with: refusal)
            return refused(refusal)
        }
        do {
            try renderer.join(self)
        } catch {
            roster.withLock { $0.entries.removeAll { $0.renderer === renderer } }
            return refused(error)
        }
        add(renderer)
        return nil
    }

    /// Reports a refused renderer to the developer: the result of `addRenderer` may be discarded.
    private func refused(_ error: RenderError) -> RenderError {
        Complaint.write("RenderSynchronizer: the renderer was not added: \(error)")
        return error
    }

    /// Removes a renderer when the timeline reaches a media time, or at once if that has passed. Any thread.
    ///
    /// A later call for the same renderer replaces a scheduled one.
    ///
    /// - Parameters:
    ///   - time: Nil: at once.
    ///   - completion: Called once, on any thread. True: this call has removed the renderer and its media is no longer
    ///     presented. False: it was never added, or a later call replaced this one. An asynchronous function that does
    ///     not wait passes nil.
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
            observation.addAlarm(at: time, startsThread: isRealTime) { [weak self] in self?.remove(removal: id) }
        } else {
            remove(removal: id)
        }
    }

    /// Same as `removeRenderer(_:at:completion:)`; returns the argument of the completion.
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
        entry.renderer.detach { entry.removal?.completion?(true) }
        // The removed renderer may be the one that a start waits for.
        reconsiderStart()
    }
}
