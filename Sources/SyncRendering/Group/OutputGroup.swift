internal import MediaCore

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
    /// Held while threads are assigned to the feeders.
    let seating = Lock(CriticalSection())
    /// Held while gains are applied to the feeds, so that the last calculated ones are applied last. Taken before
    /// `state`.
    private let gaining = Lock(CriticalSection())

    /// Guarded by the lock `state`.
    struct State {
        var members: GroupMembers
        var volumes = OutputVolumes()
        var context: AudioOutputContext?
        /// The store that the members read; nil until a renderer has the group as its output.
        var store: SoundStore?
        /// The number of changes there when the members were woken last.
        var changeCount = 0
        /// The number of flushes: audio filled before a flush is void.
        var flushes = 0
        /// The format for which the group was prepared.
        var format: AudioFormat?
        /// Whether the members were opened ahead of their first audio and have no feeds yet.
        var isOpenedAhead = false
        /// The gain of the loudest member; nil if none was set.
        var gain: Float?
        var settings = SoundSettings()
        /// The last requested partial flush.
        var partialFlush: GroupFlush?
        /// Whether that is not superseded, and the store still contains its audio.
        var isFlushPending = false
        /// The state of a change of members.
        var progress: RouteChange.Progress?

        /// Returns the linear gain of an output; nil keeps its owner's level.
        func gain(of output: any AudioOutput) -> Float? {
            volumes.gain(of: members.volumeMember(output), loudest: gain, among: members.volumeMembers)
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

    /// Opens all members in parallel and waits until each has opened or failed. Once one is open, the wait for the
    /// others is limited. May block.
    ///
    /// - Throws: The first member's error if no member is available; the group is then closed.
    func prepare(for format: AudioFormat, context: AudioOutputContext) throws(OutputError) {
        // Not closed below: members opened in advance are used now.
        state.withLock { $0.isOpenedAhead = false }
        close()
        let feeds = state.withLock { state in
            state.context = context
            state.format = format
            for member in state.members.outputs { addFeed(for: member, role: .playing, context, &state) }
            return state.members.feeds
        }
        seatFeeders()
        for feed in feeds { feed.start(format) }
        let deadline = HostInstant.now.advanced(by: Self.timeout)
        for feed in feeds { feed.waitForAnswer(until: deadline) }
        guard !feeds.contains(where: \.isOpen) else { return }
        for feed in feeds { feed.waitForAnswer(until: nil) }
        if !feeds.contains(where: \.isOpen), let failure {
            close()
            throw failure
        }
    }

    /// Adds a feed with all current settings.
    @discardableResult
    func addFeed(
        for member: any AudioOutput, role: MemberFeed.Role, _ context: AudioOutputContext, _ state: inout State
    ) -> MemberFeed {
        let number = state.members.assignNumber(to: member)
        let feed = MemberFeed(
            member: member, id: OutputID(context.id.index + number), role: role, context: context, codecs: codecs,
            work: work, scope: scope, changes: changes, store: state.store ?? SoundStore(), settings: state.settings,
            delay: state.members.delay(of: member)
        ) { [weak self] feed in self?.applyGain(of: feed) }
        if let gain = state.gain(of: member) { feed.feed.update { $0.setGain(gain) } }
        state.members.append(feed)
        return feed
    }

    // MARK: Control

    /// Notifies all members of a changed timeline.
    func timebaseDidChange() {
        for feed in feeds { feed.feed.timebaseDidChange() }
        changes.noteMove()
    }

    /// Applies the settings of the renderer, also to later members.
    func apply(_ settings: SoundSettings) {
        for feed in change({ $0.settings = settings }) { feed.feed.update { $0.apply(settings) } }
    }

    /// Changes the state; returns the feeds at that time.
    func change(_ body: (inout State) -> Void) -> [MemberFeed] {
        state.withLock { state in
            body(&state)
            return state.members.feeds
        }
    }

    /// Sets the linear gain of the loudest member; the others keep their distance in decibels. The members' volumes are
    /// unchanged and apply again after `restoreGain`. Any thread.
    public func setGain(_ gain: Float) { changeVolumes { $0.gain = gain } }

    /// The volume of the loudest member, 0…130 (`VolumeCurve`): the master; 100 while no member's is known. Any
    /// thread.
    public var volume: Double { knownVolume ?? 100 }

    /// The volume of the loudest member whose volume is known, 0…130; nil while none is. Any thread.
    package var knownVolume: Double? { state.withLock { $0.volumes.master(of: $0.members.volumeMembers) } }

    /// Sets the volume of every output, including later members, to 0…130. Any thread.
    public func setVolume(_ volume: Double) { changeVolumes { $0.volumes.setAll(volume) } }

    /// Gives every output the level that its owner left, as before a volume was set. Any thread.
    public func restoreVolumes() { changeVolumes { $0.volumes.restoreAll() } }

    /// Changes the volume of all members by the same number of decibels, so that the loudest one has this volume,
    /// 0…130. Any thread.
    public func setMasterVolume(_ volume: Double) {
        changeVolumes { $0.volumes.setMaster(volume, of: $0.members.volumeMembers) }
    }

    /// Changes the volume of all members by the same number of decibels: those of so many steps of the master. A member
    /// whose level is not known yet is moved from its owner's level once it reports that. Any thread.
    public func changeVolume(by steps: Double) {
        changeVolumes { $0.volumes.changeMaster(by: steps, of: $0.members.volumeMembers) }
    }

    /// Returns the volume of a present or future member, 0…130: the set volume, otherwise its owner's level, otherwise
    /// 100. Any thread.
    public func volume(of output: any AudioOutput) -> Double { knownVolume(of: output) ?? 100 }

    /// The volume of an output; nil while the owner's level counts and is not known. Any thread.
    package func knownVolume(of output: any AudioOutput) -> Double? {
        state.withLock { $0.volumes.volume(of: $0.members.volumeMember(output)) }
    }

    /// Sets the volume of a present or future member. Any thread.
    public func setVolume(_ volume: Double, of output: any AudioOutput) {
        changeVolumes { $0.volumes.set(volume, of: $0.members.assignNumber(to: output)) }
    }

    /// Mutes a present or future member without a change of its volume. Any thread.
    public func setMuted(_ isMuted: Bool, of output: any AudioOutput) {
        changeVolumes { $0.volumes.setMuted(isMuted, of: $0.members.assignNumber(to: output)) }
    }

    /// Sets the delay of a present or future member against the group; negative is earlier. A change takes effect as a
    /// discontinuity of that member's audio. Any thread.
    public func setDelay(_ delay: Duration, of output: any AudioOutput) {
        state.withLock { $0.members.setDelay(delay, of: output) }?.feed.setDelay(delay)
    }

    /// Applies the members' own volumes again. Any thread.
    public func restoreGain() { changeVolumes { $0.gain = nil } }

    /// Changes the volumes, and applies the resulting gains to all feeds.
    private func changeVolumes(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        gaining.withLock { _ in
            let gains = state.withLock { state in state.members.feeds.map { ($0, state.gain(of: $0.member)) } }
            for (feed, gain) in gains { feed.feed.update { $0.setGain(gain) } }
        }
    }

    /// Sets the gain of a member that has opened and may have reported its owner's level by now.
    private func applyGain(of feed: MemberFeed) {
        gaining.withLock { _ in
            if let gain = state.withLock({ $0.gain(of: feed.member) }) { feed.feed.update { $0.setGain(gain) } }
        }
    }

    /// Silences and closes all members in parallel, so that an unresponsive one does not delay the others. A
    /// running change of members is abandoned. Blocks until all are closed.
    public func close() {
        let (feeds, unused) = state.withLock { state in
            defer {
                state.isOpenedAhead = false
                state.context = nil
                state.flushes &+= 1
                state.partialFlush = nil
                state.isFlushPending = false
            }
            return (state.members.removeFeeds(), state.isOpenedAhead ? state.members.outputs : [])
        }
        changes.noteMove()
        close(feeds)
        close(unused)
    }

    /// Closes outputs that were opened and have no feed.
    func close(_ members: [any AudioOutput]) {
        work.runAll("group closing", members.map { member in { member.close() } })
    }

    func close(_ feeds: [MemberFeed]) {
        work.runAll("group closing", feeds.map { feed in { feed.close() } })
    }
}
