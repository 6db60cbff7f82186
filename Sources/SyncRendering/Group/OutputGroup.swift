public import MediaCore

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
public final class OutputGroup: AudioOutput {
    private let givenName: String?
    let codecs: any AudioCodecs
    let work: GroupWork
    /// The queue of requested changes of members.
    let scope = GroupSharedContext()
    let changes = MemberChanges()
    /// The state shared by all threads.
    let state: Lock<State>
    /// Held during deliveries to the feeds, so that a joining feed neither misses nor repeats audio. Taken before
    /// `state`.
    let feeding = Lock(CriticalSection())
    /// Held while threads are assigned to the feeders.
    let seating = Lock(CriticalSection())
    /// Held while gains are applied to the feeds, so that the last calculated ones are applied last. Taken before
    /// `state`.
    private let gaining = Lock(CriticalSection())

    /// Guarded by the lock `state`.
    struct State {
        /// The playing members, or those to prepare.
        var members: [any AudioOutput]
        /// All present and former members by number.
        var known: [any AudioOutput]
        var volumes = OutputVolumes()
        var feeds: [MemberFeed] = []
        var context: AudioOutputContext?
        /// The queue from which audio is pulled; nil while pulling is not permitted.
        var source: RendererQueue?
        /// Whether audio was pulled since the last report to the renderer's feeder.
        var hasTaken = false
        /// The format of the last audio.
        var format: AudioFormat?
        /// Whether the members were opened ahead of their first audio and have no feeds yet.
        var isOpenedAhead = false
        /// The gain of the loudest member; nil if none was set.
        var gain: Float?
        /// The delay of each member against the group by number; negative is earlier.
        var delays: [Duration]
        var speed = 1.0
        var allowsPassThrough = true
        var processing = AudioProcessing.none
        /// The end of the pulled audio in media time, since the last flush.
        var fedUntil: MediaTime?
        /// The last requested partial flush.
        var partialFlush: GroupFlush?
        var history = ReplayBuffer()
        /// Whether the history is followed by the end of input.
        var hasFinished = false
        /// Counts flushes: audio filled before a flush is void.
        var flushes = 0
        /// The state of a change of members.
        var progress: RouteChange.Progress?

        /// Returns the permanent number of a member, assigned on its first use.
        mutating func number(of member: any AudioOutput) -> Int {
            if let number = known.firstIndex(where: { $0 === member }) { return number }
            known.append(member)
            delays.append(.zero)
            return known.count - 1
        }

        /// Returns an output in the form required by `volumes`. The owner's level is read while the lock is held;
        /// outputs store it in a field.
        func volumeMember(_ output: any AudioOutput) -> OutputVolumes.Member {
            OutputVolumes.Member(
                number: known.firstIndex { $0 === output }, own: output.ownVolume, isOwnKnown: output.isOwnVolumeKnown)
        }

        /// The members as `volumes` changes them: those that are new get their numbers.
        mutating func numberedMembers() -> [OutputVolumes.Member] {
            members.map { member in
                _ = number(of: member)
                return volumeMember(member)
            }
        }

        /// Returns the linear gain of an output; nil keeps its owner's level.
        func gain(of output: any AudioOutput) -> Float? {
            volumes.gain(of: volumeMember(output), loudest: gain, among: members.map { volumeMember($0) })
        }
    }

    /// How long a start waits for unresponsive members, if another one has opened.
    private static let timeout: Duration = .seconds(5)
    /// A member later than this against the playhead skips to it.
    static let lateness: Duration = .seconds(2)

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
        state = Lock(
            State(
                members: members, known: members, delays: [Duration](repeating: .zero, count: members.count)))
    }

    // MARK: Members

    /// The playing members, or those to prepare. Any thread.
    public var members: [any AudioOutput] { state.withLock { $0.members } }

    /// The given name, or the members' names separated by commas. Any thread.
    public var name: String { givenName ?? members.map(\.name).joined(separator: ", ") }

    /// The kind of the only member; `group` with several. Any thread.
    public var kind: AudioRouteKind {
        let members = members
        return members.count == 1 ? members[0].kind : .group
    }

    /// Returns the present or former member with a number, as used in events. Any thread.
    public func output(number: Int) -> (any AudioOutput)? {
        state.withLock { $0.known.indices.contains(number) ? $0.known[number] : nil }
    }

    /// Returns the number of an output, as used in events; nil if it never was a member. Any thread.
    public func number(of output: any AudioOutput) -> Int? {
        state.withLock { $0.known.firstIndex { $0 === output } }
    }

    // MARK: Audio

    /// Always sample buffers: each member converts them itself.
    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .sampleBuffers(format) }

    /// Starts to open the devices of all members, including those added before the group is prepared. Does not block.
    /// Any thread.
    public func open() {
        let members = state.withLock { state -> [any AudioOutput] in
            guard state.context == nil else { return [] }
            state.isOpenedAhead = true
            return state.members
        }
        for member in members { member.open() }
    }

    /// Opens all members in parallel and waits until each has opened or failed. Once one is open, the wait for the
    /// others is limited. May block.
    ///
    /// - Throws: The first member's error if no member is available; the group is then closed.
    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        guard case .sampleBuffers(let format) = delivery else {
            throw OutputError(.unsupportedFormat, "a group of speakers accepts sample buffers only")
        }
        let isReady = state.withLock { state in
            guard let old = state.context, !state.feeds.isEmpty else { return false }
            state.format = format
            return old.timebase === context.timebase && old.writable === context.writable && old.id == context.id
        }
        // Each feed negotiates a new format with its member.
        if isReady { return }
        // Not closed below: members opened in advance are used now.
        state.withLock { $0.isOpenedAhead = false }
        close()
        let feeds = state.withLock { state in
            state.context = context
            state.format = format
            for member in state.members { state.feeds.append(feed(for: member, role: .playing, context, &state)) }
            return state.feeds
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

    /// Creates a feed with all current settings.
    func feed(
        for member: any AudioOutput, role: MemberFeed.Role, _ context: AudioOutputContext, _ state: inout State
    ) -> MemberFeed {
        let number = state.number(of: member)
        let feed = MemberFeed(
            member: member, id: OutputID(context.id.index + number), role: role, context: context, codecs: codecs,
            work: work, scope: scope, changes: changes, delay: state.delays[number]
        ) { [weak self] feed in self?.applyGain(of: feed) }
        feed.renderer.allowsPassThrough = state.allowsPassThrough
        feed.renderer.processing = state.processing
        if let gain = state.gain(of: member) { feed.renderer.setGain(gain) }
        feed.renderer.setSpeed(state.speed)
        return feed
    }

    /// Delivers the first buffer, which prepared the group; later ones are pulled.
    public func accept(_ buffer: SampleBuffer) -> Bool {
        feeding.withLock { _ in
            guard hasRoom else { return false }
            addToHistory(buffer)
            deliver(buffer)
            return true
        }
    }

    /// Signals the end of input to all members.
    public func finish() {
        feeding.withLock { _ in
            state.withLock { $0.hasFinished = true }
            for feed in feeds where feed.isFed { feed.renderer.finish() }
        }
    }

    /// Flushes all members and the history.
    public func flush() {
        feeding.withLock { _ in
            let feeds = state.withLock { state in
                state.fedUntil = nil
                state.history.removeAll()
                state.hasFinished = false
                state.flushes += 1
                return state.feeds
            }
            for feed in feeds { feed.renderer.flush() }
        }
        changes.noteMove()
    }

    // MARK: Control

    /// Notifies all members of a changed timeline.
    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {
        for feed in feeds { feed.renderer.timebaseDidChange(snapshot) }
        changes.noteMove()
    }

    /// Whether packets may be delivered unchanged to members; see `AudioRenderer.allowsPassThrough`. Any thread.
    public var allowsPassThrough: Bool {
        get { state.withLock { $0.allowsPassThrough } }
        set {
            let feeds = state.withLock { state in
                state.allowsPassThrough = newValue
                return state.feeds
            }
            for feed in feeds { feed.renderer.allowsPassThrough = newValue }
        }
    }

    /// Sets the speed of all members, in media seconds per second.
    public func setSpeed(_ speed: Double) {
        state.withLock { $0.speed = speed }
        for feed in feeds { feed.renderer.setSpeed(speed) }
    }

    /// Sets the audio processing of all members.
    public func setProcessing(_ processing: AudioProcessing) {
        let feeds = state.withLock { state in
            state.processing = processing
            return state.feeds
        }
        for feed in feeds { feed.renderer.processing = processing }
    }

    /// Sets the linear gain of the loudest member; the others keep their distance in decibels. The members' volumes are
    /// unchanged and apply again after `restoreGain`. Any thread.
    public func setGain(_ gain: Float) {
        state.withLock { $0.gain = gain }
        applyGains()
    }

    /// The volume of the loudest member, 0…130 (`VolumeCurve`): the master; 100 while no member's is known. Any
    /// thread.
    public var volume: Double { knownVolume ?? 100 }

    /// The volume of the loudest member whose volume is known, 0…130; nil while none is. Any thread.
    package var knownVolume: Double? {
        state.withLock { state in state.volumes.master(of: state.members.map { state.volumeMember($0) }) }
    }

    /// Sets the volume of every output, including later members, to 0…130. Any thread.
    public func setVolume(_ volume: Double) {
        state.withLock { $0.volumes.setAll(volume) }
        applyGains()
    }

    /// Gives every output the level that its owner left, as before a volume was set. Any thread.
    public func restoreVolumes() {
        state.withLock { $0.volumes.restoreAll() }
        applyGains()
    }

    /// Changes the volume of all members by the same number of decibels, so that the loudest one has this volume,
    /// 0…130. Any thread.
    public func setMasterVolume(_ volume: Double) {
        state.withLock { state in state.volumes.setMaster(volume, of: state.numberedMembers()) }
        applyGains()
    }

    /// Changes the volume of all members by the same number of decibels: those of so many steps of the master. A member
    /// whose level is not known yet is moved from its owner's level once it reports that. Any thread.
    public func changeVolume(by steps: Double) {
        state.withLock { state in state.volumes.changeMaster(by: steps, of: state.numberedMembers()) }
        applyGains()
    }

    /// Returns the volume of a present or future member, 0…130: the set volume, otherwise its owner's level, otherwise
    /// 100. Any thread.
    public func volume(of output: any AudioOutput) -> Double { knownVolume(of: output) ?? 100 }

    /// The volume of an output; nil while the owner's level counts and is not known. Any thread.
    package func knownVolume(of output: any AudioOutput) -> Double? {
        state.withLock { $0.volumes.volume(of: $0.volumeMember(output)) }
    }

    /// Sets the volume of a present or future member. Any thread.
    public func setVolume(_ volume: Double, of output: any AudioOutput) {
        state.withLock { state in state.volumes.set(volume, of: state.number(of: output)) }
        applyGains()
    }

    /// Mutes a present or future member without a change of its volume. Any thread.
    public func setMuted(_ isMuted: Bool, of output: any AudioOutput) {
        state.withLock { state in state.volumes.setMuted(isMuted, of: state.number(of: output)) }
        applyGains()
    }

    /// Sets the delay of a present or future member against the group; negative is earlier. A change takes effect as a
    /// discontinuity of that member's audio. Any thread.
    public func setDelay(_ delay: Duration, of output: any AudioOutput) {
        let feed = state.withLock { state -> MemberFeed? in
            let number = state.number(of: output)
            guard state.delays[number] != delay else { return nil }
            state.delays[number] = delay
            return state.feeds.first { $0.member === output }
        }
        feed?.renderer.delay = delay
    }

    /// Applies the members' own volumes again. Any thread.
    public func restoreGain() {
        state.withLock { $0.gain = nil }
        applyGains()
    }

    /// Calculates the gains and applies them to all feeds.
    private func applyGains() {
        gaining.withLock { _ in
            let gains = state.withLock { state in state.feeds.map { ($0, state.gain(of: $0.member)) } }
            for (feed, gain) in gains { feed.renderer.setGain(gain) }
        }
    }

    /// Sets the gain of a member that has opened and may have reported its owner's level by now.
    private func applyGain(of feed: MemberFeed) {
        gaining.withLock { _ in
            if let gain = state.withLock({ $0.gain(of: feed.member) }) { feed.renderer.setGain(gain) }
        }
    }

    /// Silences and closes all members in parallel, so that an unresponsive one does not delay the others. A
    /// running change of members is abandoned. Blocks until all are closed.
    public func close() {
        let (feeds, unused) = state.withLock { state in
            defer {
                state.feeds = []
                state.isOpenedAhead = false
                state.context = nil
                state.source = nil
                state.fedUntil = nil
                state.history.removeAll()
                state.partialFlush = nil
                state.flushes += 1
            }
            return (state.feeds, state.isOpenedAhead ? state.members : [])
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
