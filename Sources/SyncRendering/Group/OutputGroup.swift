public import MediaCore
internal import Synchronization

/// Several outputs behind one renderer: network speakers and, optionally, this computer's sound card.
///
/// Each member has its own feed: audio that one speaker accepts as packets is decoded for the card. A slow, lost or
/// missing member blocks none of the others. All members share one timebase, so that a start is one host instant.
/// Further shared objects are in the `GroupSharedContext` of their context: for AirPlay speakers, a group name and a
/// list of peers. Such members must be created with one `PTPDirectory`, so that they share one grandmaster.
///
/// A member that is unavailable at the start is retried during playback and joins in sync. Members can change during
/// playback (`change(to:)`). The `OutputID` of a member is the group's ID plus a permanent number. The initial members
/// have 0, 1, …; later ones follow in order of joining.
public final class OutputGroup: AudioDestination {
    private let givenName: String?
    let codecs: any AudioCodecs
    let work: GroupWork
    /// The queue of requested changes of members.
    let scope = GroupSharedContext()
    let changes = MemberChanges()
    /// The state shared by all threads.
    let state: Lock<State>
    /// Held while members flush or are filled, so that a joining one is not filled with audio that is removed next.
    /// Taken before `state`.
    let feeding = Lock(CriticalSection())

    /// Guarded by the lock `state`.
    struct State {
        var members: GroupMembers
        var volumes = OutputVolumes()
        var context: AudioOutputContext?
        /// The audio and the settings that the members read; nil and defaults until a renderer has the group as its
        /// output.
        var store: AudioStore?
        var settings = Lock(AudioSettings())
        /// The number of changes there when the members were woken last.
        var changeCount = 0
        /// The number of flushes: audio filled before a flush is void.
        var flushes = 0
        /// The format for which the group was started.
        var format: AudioFormat?
        /// Until when a start waits for outputs that have not answered, although another one is open.
        var openingDeadline: HostInstant?
        /// Counts the uses: a change of members that was begun in another one begins again.
        var use: UInt64 = 0
        /// The number of outputs that are being closed, and what to do once there are none.
        var closings = 0
        var afterClosing: [@Sendable () -> Void] = []
        /// Whether the members were opened ahead of their first audio and have no feeds yet.
        var isOpenedAhead = false
        /// Applies gains to the feeds.
        var gains = SettingsPass()
        /// The feeds whose gain was not applied yet, and whether it was set.
        var regained: [(feed: OutputFeed, isSet: Bool)] = []
        /// The requested partial flush, unless it is superseded or its audio is removed from the store.
        var partialFlush: GroupFlush?
        /// The state of a change of members.
        var progress: RouteChange.Progress?

        /// Notes feeds whose gain is to be applied; returns whether the caller has to do that.
        mutating func beginGains(of feeds: [OutputFeed], isSet: Bool) -> Bool {
            regained += feeds.map { ($0, isSet) }
            return gains.begin()
        }

        /// Returns the feeds whose gain was not applied yet, and what determines it; nil if there are none.
        mutating func consumeGains() -> ([(feed: OutputFeed, isSet: Bool)], VolumeState)? {
            guard gains.next() else { return nil }
            defer { regained = [] }
            return (regained, volumeState)
        }

        var volumeState: VolumeState {
            VolumeState(members: members, volumes: volumes, loudest: settings.withLock { $0.gain })
        }

        /// Records that an output is closed; returns what is to be done if it was the last one.
        mutating func endClosing() -> [@Sendable () -> Void] {
            closings -= 1
            guard closings == 0 else { return [] }
            defer { afterClosing = [] }
            return afterClosing
        }

    }

    /// What determines the gains, as one consistent reading. It calls the members, so that no lock is held.
    struct VolumeState {
        var members: GroupMembers
        var volumes: OutputVolumes
        var loudest: Float?

        /// Returns the linear gain of an output; nil keeps its owner's level.
        func gain(of output: any AudioOutput) -> Float? {
            volumes.gain(of: members.volumeMember(output), loudest: loudest, among: members.volumeMembers)
        }
    }

    /// How long a start waits for unresponsive members, if another one has opened.
    private static let timeout: Duration = .seconds(5)

    /// Creates a group.
    ///
    /// - Parameters:
    ///   - members: At least one; they must not be used elsewhere while they are in the group.
    ///   - name: The name for the user; nil joins the members' names.
    ///   - codecs: The factory of decoders and encoders, as for `AudioRenderer`.
    public convenience init(members: [any AudioOutput], name: String? = nil, codecs: any AudioCodecs) {
        self.init(members: members, name: name, codecs: codecs, work: GroupWork())
    }

    /// Same, with a substitute for the group's threads in tests.
    init(members: [any AudioOutput], name: String? = nil, codecs: any AudioCodecs, work: GroupWork) {
        precondition(!members.isEmpty, "a group needs a member")
        givenName = name
        self.codecs = codecs
        self.work = work
        state = Lock(State(members: GroupMembers(members)))
    }

    /// This group.
    public func group(codecs: any AudioCodecs) -> OutputGroup { self }

    // MARK: Members

    /// The playing members, or those to prepare. Any thread.
    public var members: [any AudioOutput] { current.outputs }

    /// The given name, or the members' names separated by commas. Any thread.
    public var name: String { givenName ?? members.map(\.name).joined(separator: ", ") }

    /// The kind of the only member; `group` with several. Any thread.
    public var kind: AudioRouteKind {
        let members = members
        return members.count == 1 ? members[0].kind : .group
    }

    /// Returns the present or former member with a number, as used in events. Any thread.
    public func output(number: Int) -> (any AudioOutput)? { current.output(number: number) }

    /// Returns the number of an output, as used in events; nil if it never was a member. Any thread.
    public func number(of output: any AudioOutput) -> Int? { current.number(of: output) }

    // MARK: Audio

    /// Starts to open the devices of all members, including those added before the group is prepared. Does not block.
    /// Any thread.
    public func open() {
        let members = state.withLock { state -> [any AudioOutput] in
            guard state.context == nil else { return [] }
            state.isOpenedAhead = true
            return state.members.outputs
        }
        for member in members { member.preopening?.open() }
    }

    /// Closes the devices that `open` has opened, unless the group was started meanwhile. Does not block. Any thread.
    func closeUnstarted() {
        let members = state.withLock { state -> [any AudioOutput] in
            guard state.isOpenedAhead, state.context == nil else { return [] }
            state.isOpenedAhead = false
            state.closings += state.members.outputs.count
            return state.members.outputs
        }
        if !members.isEmpty { _ = startClosing([], members) }
    }

    /// Starts to open all members in parallel; `opening` reports the result. Does not block.
    func start(_ format: AudioFormat, context: AudioOutputContext) {
        // Not closed below: members opened in advance are used now.
        state.withLock { $0.isOpenedAhead = false }
        beginClosing()
        let clock = context.timebase.clock
        let feeds = state.withLock { state in
            state.context = context
            state.format = format
            state.openingDeadline = clock.now.advanced(by: Self.timeout)
            for member in state.members.outputs { addFeed(for: member, role: .playing, context, &state) }
            return state.members.feeds
        }
        applyGains(to: feeds)
        for feed in feeds { feed.start(format) }
        // No time passes for a test that drives the clock and the feeder.
        if !clock.isRealTime { for feed in feeds { feed.waitForAnswer() } }
    }

    /// The state of the members since `start`.
    enum Opening {
        /// Until the instant a start waits for members that have not answered; nil: until one has opened.
        case pending(until: HostInstant?)
        case open
        /// Every member has failed; the error is the first one's.
        case failed(OutputError)
    }

    var opening: Opening {
        let (members, deadline, now) = state.withLock {
            ($0.members, $0.openingDeadline, $0.context?.timebase.clock.now)
        }
        let isAnyOpen = members.feeds.contains(where: \.isOpen)
        if members.unanswered != nil {
            guard isAnyOpen, let deadline, let now else { return .pending(until: nil) }
            if now < deadline { return .pending(until: deadline) }
        }
        guard !isAnyOpen, let failure = members.common({ $0.failure }) else { return .open }
        return .failed(failure)
    }

    /// Adds a feed with all current settings but its gain (`applyGains`). One feed is run by the renderer's thread,
    /// which the output wakes then; the others have threads of their own, so that outputs do not wait for each other.
    @discardableResult
    func addFeed(
        for member: any AudioOutput, role: OutputFeed.Role, _ context: AudioOutputContext, _ state: inout State
    ) -> OutputFeed {
        let number = state.members.assignNumber(to: member)
        let isShared = !state.members.feeds.contains(where: \.isShared)
        let feed = OutputFeed(
            state.members.abilities(of: number), id: OutputID(context.id.index + number), role: role, context: context,
            isShared: isShared, codecs: codecs, work: work, scope: scope, changes: changes,
            store: state.store ?? AudioStore(), settings: state.settings, delay: state.members.delay(of: member),
            channels: state.members.channels(of: member)
        ) { [weak self] feed, isAttached in self?.opened(feed, isAttached: isAttached) }
        state.members.append(feed)
        countFeeds(state)
        return feed
    }

    /// Records whether there are several feeds.
    private func countFeeds(_ state: State) {
        scope.hasSeveralOutputs.store(state.members.feeds.count > 1, ordering: .relaxed)
    }

    // MARK: Control

    /// Notifies all members of a changed timeline.
    func timebaseDidChange() {
        for feed in feeds { feed.timebaseDidChange() }
        changes.wake()
    }

    /// Applies changed settings of the renderer.
    func settingsDidChange() { for feed in feeds { feed.update { _ in } } }

    /// Changes the state; returns the feeds at that time.
    func change(_ body: (inout State) -> Void) -> [OutputFeed] {
        state.withLock { state in
            body(&state)
            return state.members.feeds
        }
    }

    /// The volume of the loudest member, 0…130 (`VolumeCurve`): the master; 100 while no member's is known. Any
    /// thread.
    public var volume: Double { knownVolume ?? 100 }

    /// The volume of the loudest member whose volume is known, 0…130; nil while none is. Any thread.
    package var knownVolume: Double? {
        let (members, volumes) = state.withLock { ($0.members, $0.volumes) }
        return volumes.master(of: members.volumeMembers)
    }

    /// Sets the volume of every output, including later members, to 0…130. Any thread.
    public func setVolume(_ volume: Double) { changeVolumes { state, _ in state.volumes.setAll(volume) } }

    /// Gives every output the level that its owner left, as before a volume was set. Any thread.
    package func restoreVolumes() { changeVolumes { state, _ in state.volumes.restoreAll() } }

    /// Changes the volume of all members by the same number of decibels, so that the loudest one has this volume,
    /// 0…130. Any thread.
    public func setMasterVolume(_ volume: Double) {
        changeVolumes { $0.volumes.setMaster(volume, of: $1) }
    }

    /// Changes the volume of all members by the same number of decibels: those of so many steps of the master. A member
    /// whose level is not known yet is moved from its owner's level once it reports that. Any thread.
    public func changeVolume(by steps: Double) {
        changeVolumes { $0.volumes.changeMaster(by: steps, of: $1) }
    }

    /// Returns the volume of a present or future member, 0…130: the set volume, otherwise its owner's level, otherwise
    /// 100. Any thread.
    public func volume(of output: any AudioOutput) -> Double { knownVolume(of: output) ?? 100 }

    /// The volume of an output; nil while the owner's level counts and is not known. Any thread.
    package func knownVolume(of output: any AudioOutput) -> Double? {
        let (members, volumes) = state.withLock { ($0.members, $0.volumes) }
        return volumes.volume(of: members.volumeMember(output))
    }

    /// Sets the volume of a present or future member. Any thread.
    public func setVolume(_ volume: Double, of output: any AudioOutput) {
        changeVolumes { state, _ in state.volumes.set(volume, of: state.members.assignNumber(to: output)) }
    }

    /// Mutes a present or future member without a change of its volume. Any thread.
    public func setMuted(_ isMuted: Bool, of output: any AudioOutput) {
        changeVolumes { state, _ in state.volumes.setMuted(isMuted, of: state.members.assignNumber(to: output)) }
    }

    /// Sets the delay of a present or future member against the group; negative is earlier. A change takes effect as a
    /// discontinuity of that member's audio. Any thread.
    package func setDelay(_ delay: Duration, of output: any AudioOutput) {
        state.withLock { $0.members.setDelay(delay, of: output) }?.setDelay(delay)
    }

    /// Returns the channels that a present or future member plays. Any thread.
    public func channels(of output: any AudioOutput) -> ChannelSelection { current.channels(of: output) }

    /// Sets the channels that a present or future member plays: the whole by default, or a part, such as the left
    /// channel. A part is decoded for this member, also where others receive the media's packets. A change interrupts
    /// this member only. Any thread.
    public func setChannels(_ channels: ChannelSelection, of output: any AudioOutput) {
        state.withLock { $0.members.setChannels(channels, of: output) }?.change { $0.setChannels(channels) }
    }

    /// Changes the volumes, given those of the members, and applies the resulting gains to all feeds.
    private func changeVolumes(_ body: (inout State, [OutputVolumes.Member]) -> Void) {
        let volumes = current.volumeMembers
        state.withLock { body(&$0, volumes) }
        applyGains()
    }

    /// Applies the gains to all feeds after a change of a volume here or of the renderer's. That is the gain of the
    /// loudest member; the others keep their distance in decibels.
    func applyGains() {
        if state.withLock({ $0.beginGains(of: $0.members.feeds, isSet: true) }) { applyNewGains() }
    }

    /// Applies the gains to feeds that were added.
    func applyGains(to feeds: [OutputFeed]) {
        if state.withLock({ $0.beginGains(of: feeds, isSet: false) }) { applyNewGains() }
    }

    private func applyNewGains() {
        while let (feeds, gains) = state.withLock({ $0.consumeGains() }) {
            for (feed, isSet) in feeds {
                let gain = gains.gain(of: feed.member)
                feed.update { $0.setGain(gain, repeats: isSet) }
            }
        }
    }

    /// Sets the gain of a member that has opened and may have reported its owner's level by now: before the feed has
    /// it, and again if the volumes have changed until then.
    private func opened(_ feed: OutputFeed, isAttached: Bool) {
        if isAttached { return applyGains(to: [feed]) }
        let gain = state.withLock { $0.volumeState }.gain(of: feed.member)
        feed.update { $0.setGain(gain) }
    }

    /// Silences and closes all members in parallel, so that an unresponsive one does not delay the others. A
    /// running change of members is abandoned. Blocks until all are closed.
    public func close() {
        beginClosing()
        waitUntilClosed()
    }

    /// Same on other threads; does not block. A member that is started again is opened once it is closed.
    func beginClosing() {
        let (feeds, unused, clock) = state.withLock { state in
            defer {
                state.isOpenedAhead = false
                state.context = nil
                state.use &+= 1
                state.flushes &+= 1
                state.partialFlush = nil
            }
            let (feeds, unused) = (state.members.removeFeeds(), state.isOpenedAhead ? state.members.outputs : [])
            countFeeds(state)
            state.closings += feeds.count + unused.count
            return (feeds, unused, state.context?.timebase.clock)
        }
        changes.wake()
        for feed in feeds { feed.stop() }
        let threads = startClosing(feeds, unused)
        // No time passes for a test that drives the clock and the feeder.
        if let clock, !clock.isRealTime { for thread in threads { thread.join() } }
    }

    /// Closes feeds, and outputs that were opened and have no feed, which `closings` counts, each on a thread. Another
    /// use of these outputs waits until they are closed.
    private func startClosing(_ feeds: [OutputFeed], _ unused: [any AudioOutput]) -> [WorkerThread] {
        @Sendable func end() { for next in state.withLock({ $0.endClosing() }) { next() } }
        var bodies = feeds.map { feed -> @Sendable () -> Void in
            {
                feed.close()
                end()
            }
        }
        bodies += unused.map { member -> @Sendable () -> Void in
            let use = OutputUse(of: member)
            return {
                // Without the turn a feed has the output meanwhile.
                use.end { member.close() }
                end()
            }
        }
        return work.startAll("group closing", bodies)
    }

    /// Whether a member is being closed.
    var isClosing: Bool { state.withLock { $0.closings > 0 } }

    /// Calls `body` once no member is being closed: at once, or on the thread that closes the last one.
    func whenClosed(_ body: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if state.closings > 0 { state.afterClosing.append(body) }
            return state.closings == 0
        }
        if isClosed { body() }
    }

    /// Blocks until no member is being closed.
    func waitUntilClosed() {
        let closed = Signal()
        whenClosed { closed.raise() }
        closed.wait()
    }

    /// Closes outputs that were opened and have no feed. Blocks until all are closed.
    func close(_ members: [any AudioOutput]) {
        state.withLock { $0.closings += members.count }
        for thread in startClosing([], members) { thread.join() }
    }

    /// Removes feeds and closes them, except those that were removed before. Blocks until all are closed.
    func remove(_ feeds: [OutputFeed]) {
        let removed = state.withLock { state in
            let removed = state.members.remove(feeds)
            countFeeds(state)
            state.closings += removed.count
            return removed
        }
        for thread in startClosing(removed, []) { thread.join() }
        state.withLock { $0.context?.writable }?.raise()
    }
}
