internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering
internal import Synchronization

/// Keeps audio on the wanted speakers: finds them, uses fallbacks while they are lost, and restores them. Used on the
/// kiosk's thread only; `SpeakerFinder` searches on its own thread.
final class KioskRouteSupervisor {
    /// An event for the supervisor.
    enum Event: Sendable {
        case found(String, [any AudioOutput])
        /// A name without an output, with the reason.
        case missing(String, TalkieError)
        /// The group has applied, or refused, a choice.
        case changed(RouteChange, OutputTiers.Choice)
    }

    /// A sentence for the log.
    struct Remark: Equatable {
        var level: LogLevel
        var text: String
    }

    /// The timeout for finding the wanted speakers, after which fallbacks are used.
    static let timeout = Duration.seconds(8)
    /// The delay before an output that refused is retried.
    private static let again = Duration.seconds(15)
    /// The delay before an output is retried that plays for another sender or denies access.
    private static let rest = Duration.seconds(60)
    /// The longest delay of an output that is taken over again and again: two kiosks with one speaker would take it
    /// from each other every minute.
    private static let longestRest = Duration.seconds(32 * 60)
    /// How long after a delay another takeover doubles it.
    private static let takeoverMemory = Duration.seconds(3600)

    private let player: Player
    private let router: TrackRouter
    private let finder: SpeakerFinder
    private let post: @Sendable (Event) -> Void
    private(set) var tiers: OutputTiers
    /// The outputs found, by configured name.
    private var outputs: [String: [any AudioOutput]] = [:]
    /// The choice last requested of the group.
    private var asked: OutputTiers.Choice?
    /// The last reported failure of each missing name.
    private var reportedMissing: [String: String] = [:]
    /// When each output that refused, and each lost fallback, is retried; until then it is no member.
    private var excludedUntil: [String: HostInstant] = [:]
    /// The last delay of each output that was taken over, and its end.
    private var takeovers: [String: (rest: Duration, end: HostInstant)] = [:]
    /// When fallbacks may be used although wanted speakers were not found.
    private var fallbacksFrom: HostInstant
    /// Replaces all outputs while something else uses them; nil otherwise.
    private var placeholder: SilentOutput?
    /// The unresponsive members of the group, and when that was reported.
    private var unresponsive: [String: HostInstant] = [:]
    /// The outputs that were lost when all were closed, until the next change of the members.
    private var lostInEndedSessions: [String] = []
    /// The timeout of an unresponsive speaker before fallbacks take over; nil: until its connection is lost.
    var answerTimeout: Duration?

    /// Creates a supervisor; `start` starts the search.
    ///
    /// - Parameter post: Called on any thread; must not block.
    init(
        player: Player, group: OutputGroup, registry: OutputRegistry, tiers: OutputTiers, at now: HostInstant,
        clock: any HostClock = MonotonicClock(), answerTimeout: Duration? = nil,
        post: @escaping @Sendable (Event) -> Void
    ) {
        self.player = player
        router = TrackRouter(player)
        self.tiers = tiers
        self.post = post
        self.answerTimeout = answerTimeout
        finder = SpeakerFinder(registry, clock: clock) { post($0) }
        fallbacksFrom = now.advanced(by: Self.timeout)
        // A new session with a speaker needs 1.7 s for its clock: after a kill, and after outputs were reopened.
        group.startsWithoutLateMembers = true
        // The initial members stay muted until they are chosen.
        if !tiers.wanted.contains(OutputTiers.thisComputer) {
            for member in group.members { player.setMuted(true, of: member) }
        }
    }

    /// Starts the search for all configured outputs.
    ///
    /// - Throws: `ExhaustionError` if the system provides no thread.
    func start() throws(ExhaustionError) {
        try finder.start()
        finder.find(tiers.sought)
    }

    func stop() { finder.stop() }

    /// Replaces the wanted outputs and fallbacks; the state of known outputs is kept.
    func want(_ tiers: OutputTiers, at now: HostInstant) {
        guard
            tiers.wanted != self.tiers.wanted || tiers.fallbacks != self.tiers.fallbacks
                || tiers.tracks != self.tiers.tracks || tiers.parts != self.tiers.parts
        else { return }
        var tiers = tiers
        for (name, presence) in self.tiers.presence where presence != .sought {
            // A group reconnects its members only; a lost speaker that becomes a fallback is none.
            let returns = presence == .present || tiers.wanted.contains(name) || excludedUntil[name] != nil
            if returns { tiers.setPresence(name, presence) }
        }
        self.tiers = tiers
        fallbacksFrom = now.advanced(by: Self.timeout)
        finder.find(tiers.sought)
        applyChoice()
    }

    /// The names of the audible outputs, such as "Kitchen, Hall"; nil if there are none.
    var outputNames: String? {
        guard let asked, !asked.audible.isEmpty else { return nil }
        return asked.audible.flatMap { outputs[$0] ?? [] }.map(\.name).joined(separator: ", ")
    }

    /// The problems of the wanted outputs, one sentence each; empty before the first choice.
    var problems: [String] {
        guard asked != nil else { return [] }
        return tiers.wanted.compactMap { wanted in
            let name = outputs[wanted]?.first?.name ?? wanted
            if unresponsive[wanted] != nil { return "\(name) does not answer" }
            return tiers.presence[wanted] == .present ? nil : "\(name) does not play"
        }
    }

    /// Returns when fallbacks replace an unresponsive speaker; nil while it may still be audible.
    private func takeover(from name: String) -> HostInstant? {
        guard let since = unresponsive[name], tiers.presence[name] == .present else { return nil }
        // Realtime speakers buffer two seconds only.
        if outputs[name]?.contains(where: { $0.kind == .realtimeSpeaker }) == true { return since }
        return answerTimeout.map { since.advanced(by: max(.zero, $0 - KioskConfiguration.unresponsiveAfter)) }
    }

    /// When `performDueWork` must be called; nil if only events can change the state.
    var nextDeadline: HostInstant? {
        let takeovers = unresponsive.keys.map(takeover)
        return ([tiers.waitsForWanted ? fallbacksFrom : nil] + excludedUntil.values.map { $0 } + takeovers)
            .compactMap { $0 }.min()
    }

    /// Applies everything that is due.
    func performDueWork(at now: HostInstant) {
        finder.runDueWork()
        var changed = false
        if tiers.waitsForWanted, now >= fallbacksFrom {
            tiers.waitsForWanted = false
            changed = true
        }
        for (name, moment) in excludedUntil where moment <= now {
            excludedUntil[name] = nil
            tiers.setPresence(name, .sought)
            finder.find(tiers.sought)
            changed = true
        }
        for name in unresponsive.keys where takeover(from: name).map({ $0 <= now }) ?? false {
            recordLoss(of: name, at: now)
            changed = true
        }
        if changed { applyChoice() }
    }

    /// Handles an event; returns a sentence for the log, if any.
    func handle(_ event: Event, at now: HostInstant) -> Remark? {
        switch event {
        case .found(let name, let members):
            outputs[name] = members
            reportedMissing[name] = nil
            excludedUntil[name] = nil
            tiers.setPresence(name, .present)
            // It has not left the group yet, or cannot: its only output.
            if members.contains(where: { failure(of: $0) != nil }) { recordLoss(of: name, at: now) }
            applyChoice()
            return nil
        case .missing(let name, let error):
            guard reportedMissing[name] != error.message else { return nil }
            reportedMissing[name] = error.message
            return Remark(level: .warning, text: "\(error.message); searching until it is available")
        case .changed(.superseded, _): return nil
        case .changed(.changed(_, let without), let choice):
            refuse(without.map(\.output), at: now)
            guard choice == asked else { return nil }
            let returned = lostInEndedSessions.filter { tiers.presence[$0] == .lost && isPlaying($0) }
            lostInEndedSessions = []
            for name in returned { recordReturn(of: name) }
            if !returned.isEmpty { applyChoice() }
            let sentence = outputNames.map {
                choice.isFallback ? "the sound goes to \($0) instead" : "the sound goes to \($0)"
            }
            let reasons = without.map(\.description)
            if sentence == nil, reasons.isEmpty { return nil }
            return Remark(
                level: choice.isFallback || !reasons.isEmpty ? .warning : .info,
                text: ([sentence].compactMap { $0 } + reasons).joined(separator: "; "))
        case .changed(.refused(let refusals), let choice):
            refuse(refusals.map(\.output), at: now)
            if choice == asked { asked = nil }
            applyChoice()
            return Remark(level: .warning, text: refusals.map(\.description).joined(separator: "; "))
        }
    }

    /// Handles the loss or the return of an output; returns a sentence for the log, if any.
    func handleOutput(_ output: OutputID, isLost: Bool, at now: HostInstant) -> Remark? {
        guard let (name, lost) = member(output) else { return nil }
        unresponsive[name] = nil
        // A group does not retry these.
        if isLost, let failure = failure(of: lost), [.busy, .notPermitted].contains(failure.code) {
            refuse([lost.name], at: now, for: failure.code == .busy ? restAfterTakeover(of: name, at: now) : Self.rest)
            applyChoice()
            return Remark(level: .warning, text: failure.message)
        }
        // One of two receivers that form one speaker, or a repeated event.
        guard tiers.presence[name] != (isLost ? .lost : .present) else { return nil }
        if isLost { recordLoss(of: name, at: now) } else { recordReturn(of: name) }
        applyChoice()
        return Remark(
            level: .warning, text: isLost ? "'\(lost.name)' is lost" : "'\(lost.name)' is available again and in sync")
    }

    /// Handles an output that stops or resumes responding; returns a sentence for the log, if any.
    func handleOutput(_ output: OutputID, isUnresponsive: Bool, at now: HostInstant) -> Remark? {
        guard let (name, member) = member(output) else { return nil }
        if isUnresponsive {
            unresponsive[name] = now
            return Remark(level: .warning, text: "\(member.name) does not answer")
        }
        // The connection may have been lost instead.
        guard unresponsive.removeValue(forKey: name) != nil, member.currentLoss == nil else { return nil }
        recordReturn(of: name)
        applyChoice()
        return Remark(level: .warning, text: "\(member.name) answers again")
    }

    /// Returns the delay before an output is retried that was taken over.
    private func restAfterTakeover(of name: String, at now: HostInstant) -> Duration {
        var rest = Self.rest
        if let last = takeovers[name], now - last.end < Self.takeoverMemory {
            // A repeated event.
            guard last.end <= now else { return last.end - now }
            rest = min(Self.longestRest, last.rest + last.rest)
        }
        takeovers[name] = (rest, now.advanced(by: rest))
        return rest
    }

    /// A group reconnects its members only; a fallback that another replaces is no longer one, and is retried here.
    private func recordLoss(of name: String, at now: HostInstant) {
        tiers.setPresence(name, .lost)
        if !tiers.wanted.contains(name) { excludedUntil[name] = now.advanced(by: Self.again) }
    }

    private func recordReturn(of name: String) {
        tiers.setPresence(name, .present)
        excludedUntil[name] = nil
    }

    private func member(_ output: OutputID) -> (name: String, output: any AudioOutput)? {
        guard let member = player.output(output)?.output,
            let name = outputs.first(where: { $0.value.contains { $0 === member } })?.key
        else { return nil }
        return (name, member)
    }

    /// Returns why a member of the group is silent; nil while it plays, and for other outputs.
    private func failure(of output: any AudioOutput) -> OutputError? {
        player.allOutputs.first { $0.output === output }.flatMap { player.output($0.id) }
            .flatMap { $0.group.failure(ofMember: $0.number) }
    }

    /// An output that is opened again begins without the state of its last session, and reports only changes.
    private func endSessions() {
        lostInEndedSessions = tiers.presence.filter { $0.value == .lost }.map(\.key)
        unresponsive = [:]
    }

    /// Whether all outputs of a name are members of the group, and respond.
    private func isPlaying(_ name: String) -> Bool {
        guard unresponsive[name] == nil, let members = outputs[name] else { return false }
        return members.allSatisfy { member in
            player.allOutputs.contains { $0.output === member } && failure(of: member) == nil
        }
    }

    /// Reopens the outputs: the muted output of this computer replaces them for a moment. Has no effect if that is the
    /// only one.
    func reopen() {
        guard let home = outputs[OutputTiers.thisComputer], let choice = asked,
            choice.members != [OutputTiers.thisComputer]
        else { return }
        asked = nil
        endSessions()
        router.apply([TrackRoute(id: OutputTiers.thisComputer, outputs: home)]) { [post] _ in
            post(.found(OutputTiers.thisComputer, home))
        }
    }

    /// Closes all outputs until `restoreChosen`. Playback must be stopped.
    ///
    /// - Parameter done: Called with whether they are closed, on any thread; must not block.
    func release(_ done: @escaping @Sendable (_ isReleased: Bool) -> Void) {
        let silent = SilentOutput()
        (placeholder, asked) = (silent, nil)
        endSessions()
        router.apply([TrackRoute(id: silent.name, outputs: [silent])]) { change in
            guard case .changed = change else { return done(false) }
            done(true)
        }
    }

    /// Opens the chosen outputs again; an event reports the change. Returns false if there is none to open.
    func restoreChosen() -> Bool {
        placeholder = nil
        return applyChoice()
    }

    private func refuse(_ names: [String], at now: HostInstant, for delay: Duration = again) {
        for (name, members) in outputs where members.contains(where: { names.contains($0.name) }) {
            // The output of this computer is retried like the others.
            tiers.setPresence(name, .lost)
            excludedUntil[name] = now.advanced(by: delay)
        }
    }

    /// Applies the choice of the tiers to the group, without the outputs that refused. Returns false for no change.
    @discardableResult
    private func applyChoice() -> Bool {
        // Not of former programmes, which may name the same output differently.
        for name in tiers.wanted + tiers.fallbacks {
            for output in outputs[name] ?? [] { player.setChannels(tiers.parts[name] ?? .whole, of: output) }
        }
        guard placeholder == nil, var choice = tiers.choice else { return false }
        choice.members.removeAll { excludedUntil[$0] != nil }
        // Its next session begins without this state, and reports only changes.
        unresponsive = unresponsive.filter { choice.members.contains($0.key) }
        guard choice != asked else { return false }
        asked = choice
        let routes = choice.members.compactMap { name in
            outputs[name].map { TrackRoute(id: name, outputs: $0, choice: choice.tracks[name]) }
        }
        let members = routes.flatMap(\.outputs)
        guard !members.isEmpty else { return false }
        for name in choice.audible { for output in outputs[name] ?? [] { player.setMuted(false, of: output) } }
        if tiers.wanted.isEmpty { for output in members { player.setMuted(true, of: output) } }
        router.apply(routes) { [post, choice] in post(.changed($0, choice)) }
        return true
    }
}
