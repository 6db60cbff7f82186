public import MediaCore
public import SyncRendering

/// Several outputs behind one renderer: AirPlay speakers, and this computer's sound card may be one of them.
///
/// Each member has a lane of its own, with its own feeder: what one speaker takes untouched is decoded for the card,
/// and a member that is slow, lost or not there yet holds nobody up. All read one timebase, so that a start is one
/// host instant for every member; AirPlay members also share a group name and a list of peers. They must have been
/// made with one `PTPDirectory`, so that one grandmaster serves them all.
///
/// A member that cannot be had at the start is tried again while the film plays, and joins in sync. `OutputID` of
/// member n is the group's own plus n.
public final class SpeakerGroup: AudioOutput {
    public let name: String
    public let kind = AudioRouteKind.group
    public let members: [any AudioOutput]
    private let codecs: any AudioCodecs
    private let state: Lock<State>

    private struct State {
        var lanes: [GroupLane] = []
        var context: AudioOutputContext?
        /// Nil leaves every member as its owner left it.
        var gain: Float?
        var gains: [Float]
        /// How much later than the group each member is to be heard; negative is earlier.
        var delays: [Duration]
        var speed = 1.0
        var fedUntil: MediaTime?
    }

    /// A start waits this long for members that do not answer, provided another one does.
    private static let patience: Duration = .seconds(5)
    /// Whoever falls behind the playhead by more than this goes on from there.
    private static let lateness: Duration = .seconds(2)

    /// - Parameters:
    ///   - members: at least one; none of them is used elsewhere while it is in the group.
    ///   - name: for people; nil joins the members' names.
    ///   - codecs: as for `AudioRenderer`.
    public init(members: [any AudioOutput], name: String? = nil, codecs: any AudioCodecs) {
        precondition(!members.isEmpty, "a group needs a member")
        self.members = members
        self.name = name ?? members.map(\.name).joined(separator: ", ")
        self.codecs = codecs
        state = Lock(
            State(
                gains: [Float](repeating: 1, count: members.count),
                delays: [Duration](repeating: .zero, count: members.count)))
        let ensemble = SpeakerEnsemble()
        for case let speaker as AirPlaySpeaker in members { speaker.join(ensemble) }
    }

    // MARK: What it costs

    private var lanes: [GroupLane] { state.withLock { $0.lanes } }

    /// Those that play; before any does, all of them.
    private var active: [any AudioOutput] {
        let open = lanes.filter(\.isOpen).map(\.member)
        return open.isEmpty ? members : open
    }

    /// The slowest member decides when a start and a stop can be kept; one that is to be heard earlier needs more.
    public var latency: OutputLatency {
        let all = active.map(\.latency)
        let earliest = min(.zero, state.withLock { $0.delays.min() ?? .zero })
        return OutputLatency(
            startLead: (all.map(\.startLead).max() ?? .zero) - earliest,
            stopLead: (all.map(\.stopLead).max() ?? .zero) - earliest,
            shares: all.max { $0.delay < $1.delay }?.shares ?? [])
    }

    public var desiredDepth: Duration { active.map(\.desiredDepth).max() ?? .zero }
    public var preroll: Duration { active.map(\.preroll).max() ?? .zero }

    /// Film time up to which every member that plays has what a start needs.
    public var acceptedUntil: MediaTime? {
        let fed = state.withLock { $0.fedUntil }
        let open = lanes.filter(\.isOpen)
        guard !open.isEmpty else { return fed }
        let settled = isDrained
        let most = open.map(\.member.preroll).max() ?? .zero
        var least: MediaTime?
        for lane in open {
            guard let until = lane.renderer.status.acceptedUntil else { return nil }
            // A card that takes less than a speaker needs is no less ready than the speaker.
            let reached = settled ? until : until.advanced(by: most - lane.member.preroll)
            least = min(least ?? reached, reached)
        }
        guard !settled, let least, let fed else { return least }
        return min(least, fed)
    }

    public var isReadyToStart: Bool { active.allSatisfy(\.isReadyToStart) }
    public var earliestStart: HostInstant? { active.compactMap(\.earliestStart).max() }
    /// AirPlay members hold one line: they are served one time, and at most one of them is followed.
    public var heldLine: TimebaseSegment? {
        for lane in lanes where lane.isOpen { if let line = lane.renderer.heldLine { return line } }
        return nil
    }

    public var isDrained: Bool { lanes.allSatisfy { !$0.isOpen || $0.renderer.status.isDrained } }

    public var failure: OutputError? {
        let lanes = lanes
        guard !lanes.isEmpty, lanes.allSatisfy({ $0.failure != nil }) else { return nil }
        return lanes.first?.failure
    }

    /// Why nothing is heard from one member at present. Any thread.
    public func failure(ofMember index: Int) -> OutputError? {
        let lanes = lanes
        return lanes.indices.contains(index) ? lanes[index].failure : nil
    }

    // MARK: Sound

    public func delivery(for format: AudioFormat, mustDecode: Bool) -> AudioDelivery { .sampleBuffers(format) }

    /// Opens all members at once, and waits until each has answered; for those that do not answer only as long as
    /// nobody else does.
    ///
    /// - Throws: the first member's error when none can be had; then nothing is held.
    public func prepare(_ delivery: AudioDelivery, context: AudioOutputContext) throws(OutputError) {
        guard case .sampleBuffers(let format) = delivery else {
            throw OutputError(.unsupportedFormat, "a group of speakers takes sample buffers only")
        }
        let isReady = state.withLock { state in
            guard let old = state.context, !state.lanes.isEmpty else { return false }
            return old.timebase === context.timebase && old.room === context.room && old.id == context.id
        }
        // Each lane agrees on a new format with its member by itself.
        if isReady { return }
        close()
        let lanes = state.withLock { state in
            state.context = context
            state.lanes = members.enumerated().map { index, member in
                let lane = GroupLane(
                    member: member, id: OutputID(context.id.index + index), context: context, codecs: codecs,
                    delay: state.delays[index])
                if let gain = Self.gain(of: member, state.gain, state.gains[index]) { lane.renderer.setGain(gain) }
                lane.renderer.setSpeed(state.speed)
                return lane
            }
            return state.lanes
        }
        for lane in lanes { lane.start(format) }
        let deadline = HostInstant.now.advanced(by: Self.patience)
        for lane in lanes { lane.waitForAnswer(until: deadline) }
        guard !lanes.contains(where: \.isOpen) else { return }
        for lane in lanes { lane.waitForAnswer(until: nil) }
        if !lanes.contains(where: \.isOpen), let failure {
            close()
            throw failure
        }
    }

    public func accept(_ buffer: SampleBuffer) -> Bool {
        let (lanes, context) = state.withLock { state in
            state.fedUntil = buffer.end ?? state.fedUntil
            return (state.lanes, state.context)
        }
        guard let context else { return false }
        let late = context.timebase.currentTime.advanced(by: .zero - Self.lateness)
        for lane in lanes {
            lane.renderer.skip(to: late)
            lane.renderer.enqueue(buffer)
        }
        return true
    }

    public func finish() { for lane in lanes { lane.renderer.finish() } }

    public func flush() {
        state.withLock { $0.fedUntil = nil }
        for lane in lanes { lane.renderer.flush() }
    }

    // MARK: Control

    public func timebaseDidChange(_ snapshot: TimebaseSnapshot) {
        for lane in lanes { lane.renderer.timebaseDidChange(snapshot) }
    }

    public func setSpeed(_ speed: Double) {
        state.withLock { $0.speed = speed }
        for lane in lanes { lane.renderer.setSpeed(speed) }
    }

    /// Loudness of the whole group; each member's own is kept in proportion.
    public func setGain(_ gain: Float) {
        state.withLock { $0.gain = gain }
        applyGains()
    }

    /// Loudness of one member within the group, 0…1. Any thread.
    public func setGain(_ gain: Float, ofMember index: Int) {
        state.withLock { if $0.gains.indices.contains(index) { $0.gains[index] = gain } }
        applyGains()
    }

    /// How much later than the group's line one member is to be heard; negative is earlier. A change takes effect as a
    /// jump of that member's sound. Any thread.
    public func setDelay(_ delay: Duration, ofMember index: Int) {
        let lane = state.withLock { state -> GroupLane? in
            guard state.delays.indices.contains(index), state.delays[index] != delay else { return nil }
            state.delays[index] = delay
            return state.lanes.indices.contains(index) ? state.lanes[index] : nil
        }
        lane?.renderer.delay = delay
    }

    public func restoreGain() {
        state.withLock { $0.gain = nil }
        applyGains()
    }

    /// That of the quietest member: whoever begins to change the loudness of all from there makes none shout.
    public var ownVolume: Double? { members.map { $0.ownVolume ?? 100 }.min() }

    private func applyGains() {
        let (lanes, gain, gains) = state.withLock { ($0.lanes, $0.gain, $0.gains) }
        for (lane, share) in zip(lanes, gains) { lane.renderer.setGain(Self.gain(of: lane.member, gain, share)) }
    }

    /// - Parameter share: the member's own within the group.
    private static func gain(of member: any AudioOutput, _ gain: Float?, _ share: Float) -> Float? {
        if let gain { return gain * share }
        return share == 1 ? nil : VolumeCurve.gain(volume: member.ownVolume ?? 100) * share
    }

    /// Silences and releases every member, all at once, so that one that does not answer keeps nobody waiting.
    public func close() {
        let lanes = state.withLock { state in
            defer {
                state.lanes = []
                state.context = nil
                state.fedUntil = nil
            }
            return state.lanes
        }
        let closers = lanes.map { lane in WorkerThread.start(name: "group closing") { lane.close() } }
        for closer in closers { closer.join() }
    }
}
