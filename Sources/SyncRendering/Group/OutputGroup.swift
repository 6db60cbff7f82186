public import MediaCore

/// Several outputs behind one renderer: speakers across the network, and this computer's sound card may be one of them.
///
/// Each member has a feed of its own: what one speaker takes untouched is decoded for the card,
/// and a member that is slow, lost or not there yet holds nobody up. All read one timebase, so that a start is one
/// host instant for every member. What members of one kind share beyond that they find in the `GroupScope` of their
/// context: AirPlay speakers, a group name and a list of peers. These must have been made with one `PTPDirectory`, so
/// that one grandmaster serves them all.
///
/// A member that cannot be had at the start is tried again while the film plays, and joins in sync. Members change in
/// mid-film (`change(to:)`). `OutputID` of a member is the group's own plus a number that it keeps: the members given
/// at the start are 0, 1, …, and whoever comes first later gets the next.
public final class OutputGroup: AudioOutput {
    private let givenName: String?
    let codecs: any AudioCodecs
    let work: GroupWork
    let scope = GroupScope()
    let changes = MemberChanges()
    let state: Lock<State>
    /// Held while sound goes to the feeds, so that a feed that joins misses none and gets none twice. Taken before
    /// `state`.
    let feeding = Lock(Turn())
    /// Held while it is settled who turns the feeders.
    let seating = Lock(Turn())
    /// Held while gains go to the feeds, so that the last ones computed are the last ones set. Taken before `state`.
    private let gaining = Lock(Turn())

    struct State {
        /// Those that play, or are to play once the group is prepared.
        var members: [any AudioOutput]
        /// Everybody who ever was a member, by number.
        var known: [any AudioOutput]
        var volumes = OutputVolumes()
        var feeds: [MemberFeed] = []
        var context: AudioOutputContext?
        /// Where sound is taken from; nil while nothing may be taken.
        var source: RendererQueue?
        /// Something was taken since the renderer's feeder was told last.
        var hasTaken = false
        var format: AudioFormat?
        /// Members were asked to open before there is sound for them: nobody feeds them so far.
        var isOpenedAhead = false
        /// A factor beside the members' own volumes; nil where none was set.
        var gain: Float?
        /// How much later than the group each is to be heard, by number; negative is earlier.
        var delays: [Duration]
        var speed = 1.0
        var allowsPassThrough = true
        var treatment = SoundTreatment.none
        var fedUntil: MediaTime?
        /// The flush from a film time on that was asked for last.
        var partialFlush: GroupFlush?
        var history = ReplayBuffer()
        /// No more sound follows what is in the history.
        var hasFinished = false
        /// Counts flushes: what was brought up to the film before one is void.
        var flushes = 0
        var progress: RouteChange.Progress?

        /// The number of a member, which it gets when it is first seen.
        mutating func number(of member: any AudioOutput) -> Int {
            if let number = known.firstIndex(where: { $0 === member }) { return number }
            known.append(member)
            delays.append(.zero)
            return known.count - 1
        }

        /// An output as `volumes` takes it. The owner's level is read while the lock is held: outputs keep it in a field of their own.
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

        /// Returns the factor for an output's samples; nil leaves the output at its owner's level.
        func gain(of output: any AudioOutput) -> Float? {
            volumes.gain(of: volumeMember(output), loudest: gain, among: members.map { volumeMember($0) })
        }
    }

    /// A start waits this long for members that do not answer, provided another one does.
    private static let patience: Duration = .seconds(5)
    /// Whoever falls behind the playhead by more than this goes on from there.
    static let lateness: Duration = .seconds(2)

    /// - Parameters:
    ///   - members: at least one; none of them is used elsewhere while it is in the group.
    ///   - name: for people; nil joins the members' names.
    ///   - codecs: as for `AudioRenderer`.
    public convenience init(members: [any AudioOutput], name: String? = nil, codecs: any AudioCodecs) {
        self.init(members: members, name: name, codecs: codecs, work: GroupWork())
    }

    package init(members: [any AudioOutput], name: String? = nil, codecs: any AudioCodecs, work: GroupWork) {
        precondition(!members.isEmpty, "a group needs a member")
        givenName = name
        self.codecs = codecs
        self.work = work
        state = Lock(
            State(
                members: members, known: members, delays: [Duration](repeating: .zero, count: members.count)))
    }

    // MARK: Who is in it

    /// Those that play, or are to play.
    public var members: [any AudioOutput] { state.withLock { $0.members } }

    public var name: String { givenName ?? members.map(\.name).joined(separator: ", ") }

    /// That of its only member; with several, `group`.
    public var kind: AudioRouteKind {
        let members = members
        return members.count == 1 ? members[0].kind : .group
    }

    /// The output that events call by this number, whether it is a member now or was one. Any thread.
    public func output(number: Int) -> (any AudioOutput)? {
        state.withLock { $0.known.indices.contains(number) ? $0.known[number] : nil }
    }

    /// The number by which events call an output; nil for one that never was a member. Any thread.
    public func number(of output: any AudioOutput) -> Int? {
        state.withLock { $0.known.firstIndex { $0 === output } }
    }

    // MARK: Sound

    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .sampleBuffers(format) }

    /// Lets all members begin to open their devices, also those that become members before the group is prepared. Any thread;
    /// returns at once.
    public func open() {
        let members = state.withLock { state -> [any AudioOutput] in
            guard state.context == nil else { return [] }
            state.isOpenedAhead = true
            return state.members
        }
        for member in members { member.open() }
    }

    /// Opens all members at once, and waits until each has answered; for those that do not answer only as long as
    /// nobody else does.
    ///
    /// - Throws: the first member's error when none can be had; then nothing is held.
    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        guard case .sampleBuffers(let format) = delivery else {
            throw OutputError(.unsupportedFormat, "a group of speakers takes sample buffers only")
        }
        let isReady = state.withLock { state in
            guard let old = state.context, !state.feeds.isEmpty else { return false }
            state.format = format
            return old.timebase === context.timebase && old.room === context.room && old.id == context.id
        }
        // Each feed agrees on a new format with its member by itself.
        if isReady { return }
        // What was opened ahead of need is taken into use.
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
        let deadline = HostInstant.now.advanced(by: Self.patience)
        for feed in feeds { feed.waitForAnswer(until: deadline) }
        guard !feeds.contains(where: \.isOpen) else { return }
        for feed in feeds { feed.waitForAnswer(until: nil) }
        if !feeds.contains(where: \.isOpen), let failure {
            close()
            throw failure
        }
    }

    /// A new feed with everything that has been set so far.
    func feed(
        for member: any AudioOutput, role: MemberFeed.Role, _ context: AudioOutputContext, _ state: inout State
    ) -> MemberFeed {
        let number = state.number(of: member)
        let feed = MemberFeed(
            member: member, id: OutputID(context.id.index + number), role: role, context: context, codecs: codecs,
            work: work, scope: scope, changes: changes, delay: state.delays[number]
        ) { [weak self] feed in self?.applyGain(of: feed) }
        feed.renderer.allowsPassThrough = state.allowsPassThrough
        feed.renderer.treatment = state.treatment
        if let gain = state.gain(of: member) { feed.renderer.setGain(gain) }
        feed.renderer.setSpeed(state.speed)
        return feed
    }

    /// The first buffer, with which the group was prepared; what follows it takes by itself.
    public func accept(_ buffer: SampleBuffer) -> Bool {
        feeding.withLock { _ in
            guard hasRoom else { return false }
            keep(buffer)
            hand(buffer)
            return true
        }
    }

    public func finish() {
        feeding.withLock { _ in
            state.withLock { $0.hasFinished = true }
            for feed in feeds where feed.isFed { feed.renderer.finish() }
        }
    }

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

    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {
        for feed in feeds { feed.renderer.timebaseDidChange(snapshot) }
        changes.noteMove()
    }

    /// Whether packets may reach members as they are; see `AudioRenderer.allowsPassThrough`. Any thread.
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

    public func setSpeed(_ speed: Double) {
        state.withLock { $0.speed = speed }
        for feed in feeds { feed.renderer.setSpeed(speed) }
    }

    public func setTreatment(_ treatment: SoundTreatment) {
        let feeds = state.withLock { state in
            state.treatment = treatment
            return state.feeds
        }
        for feed in feeds { feed.renderer.treatment = treatment }
    }

    /// Sets the gain of the loudest member; the others keep their distance in decibels. Members' volumes do not change, and are in force
    /// again after `restoreGain`. Any thread.
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

    /// Sets every output to one volume, 0…130, also those that become members later. Any thread.
    public func setVolume(_ volume: Double) {
        state.withLock { $0.volumes.setAll(volume) }
        applyGains()
    }

    /// Moves all members by the same number of decibels, so that the loudest has this volume, 0…130. Any thread.
    public func setMasterVolume(_ volume: Double) {
        state.withLock { state in state.volumes.setMaster(volume, of: state.numberedMembers()) }
        applyGains()
    }

    /// Moves all members by the same number of decibels: those of so many steps of the master. A member whose level is
    /// not known yet is moved from its owner's level once it reports that. Any thread.
    public func changeVolume(by steps: Double) {
        state.withLock { state in state.volumes.changeMaster(by: steps, of: state.numberedMembers()) }
        applyGains()
    }

    /// The volume of an output, whether it is a member or may become one, 0…130: what was set, otherwise its owner's level, otherwise 100.
    /// Any thread.
    public func volume(of output: any AudioOutput) -> Double { knownVolume(of: output) ?? 100 }

    /// The same; nil while the owner's level counts and is not known. Any thread.
    package func knownVolume(of output: any AudioOutput) -> Double? {
        state.withLock { $0.volumes.volume(of: $0.volumeMember(output)) }
    }

    /// Sets the volume of one output, whether it is a member or may become one. Any thread.
    public func setVolume(_ volume: Double, of output: any AudioOutput) {
        state.withLock { state in state.volumes.set(volume, of: state.number(of: output)) }
        applyGains()
    }

    /// Silences one output, whether it is a member or may become one, without a change of its volume. Any thread.
    public func setMuted(_ isMuted: Bool, of output: any AudioOutput) {
        state.withLock { state in state.volumes.setMuted(isMuted, of: state.number(of: output)) }
        applyGains()
    }

    /// How much later than the group's line an output is to be heard, whether it is a member or may become one;
    /// negative is earlier. A change takes effect as a jump of that member's sound. Any thread.
    public func setDelay(_ delay: Duration, of output: any AudioOutput) {
        let feed = state.withLock { state -> MemberFeed? in
            let number = state.number(of: output)
            guard state.delays[number] != delay else { return nil }
            state.delays[number] = delay
            return state.feeds.first { $0.member === output }
        }
        feed?.renderer.delay = delay
    }

    public func restoreGain() {
        state.withLock { $0.gain = nil }
        applyGains()
    }

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

    /// Silences and releases every member, all at once, so that one that does not answer keeps nobody waiting. A
    /// change of members that is under way is given up.
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

    /// Gives back outputs that were opened and have no feed.
    func close(_ members: [any AudioOutput]) {
        work.runAll("group closing", members.map { member in { member.close() } })
    }

    func close(_ feeds: [MemberFeed]) {
        work.runAll("group closing", feeds.map { feed in { feed.close() } })
    }
}
