internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering
internal import Synchronization

/// Keeps the sound where it is wanted: finds the speakers, lets others take over while they are away, and brings them back. The
/// kiosk's thread only; speakers are found on a thread of its own.
final class SoundKeeper {
    enum News: Sendable {
        case found(String, [any AudioOutput])
        /// Why a name leads nowhere.
        case missing(String, TalkieError)
        case changed(RouteChange, SoundTiers.Choice)
    }

    /// What a person should read.
    struct Remark: Equatable {
        var level: LogLevel
        var text: String
    }

    /// Those that are wanted are waited for so long before others take over.
    static let patience = Duration.seconds(8)
    /// Who refused is asked again after so long.
    private static let again = Duration.seconds(15)

    private let patience: Duration
    private let player: Player
    private let group: OutputGroup
    private let finder: SpeakerFinder
    private let post: @Sendable (News) -> Void
    private(set) var tiers: SoundTiers
    private var outputs: [String: [any AudioOutput]] = [:]
    /// What the group was asked for last.
    private var asked: SoundTiers.Choice?
    private var toldMissing: [String: String] = [:]
    private var refusedUntil: [String: HostInstant] = [:]
    private var impatientFrom: HostInstant
    /// Speakers that do not answer, and since when that is known.
    private var unresponsive: [String: HostInstant] = [:]
    /// How long a speaker may leave everything unanswered before others take over; nil waits until its connection is given up.
    var answerTimeout: Duration?
    /// So long a speaker has not answered when that is reported.
    static let reportedAfter = Duration.seconds(5)

    /// - Parameter post: called on any thread; must return at once.
    init(
        player: Player, group: OutputGroup, registry: OutputRegistry, tiers: SoundTiers, at now: HostInstant,
        patience: Duration = SoundKeeper.patience, answerTimeout: Duration? = nil,
        post: @escaping @Sendable (News) -> Void
    ) {
        self.player = player
        self.group = group
        self.tiers = tiers
        self.post = post
        (self.patience, self.answerTimeout) = (patience, answerTimeout)
        finder = SpeakerFinder(registry) { post($0) }
        impatientFrom = now.advanced(by: patience)
        // What the group was made with is not heard before it is chosen.
        if !tiers.wanted.contains(SoundTiers.thisComputer) {
            for member in group.members { player.setMuted(true, of: member) }
        }
    }

    func start() throws(ExhaustionError) {
        try finder.start()
        finder.find(tiers.sought)
    }

    func stop() { finder.stop() }

    /// Other speakers are wanted from now on; those that are known stay so.
    func want(_ tiers: SoundTiers, at now: HostInstant) {
        guard tiers.wanted != self.tiers.wanted || tiers.fallbacks != self.tiers.fallbacks else { return }
        var tiers = tiers
        for (name, presence) in self.tiers.presence where presence != .sought { tiers.note(name, presence) }
        self.tiers = tiers
        impatientFrom = now.advanced(by: patience)
        finder.find(tiers.sought)
        settle()
    }

    /// Where the sound is heard, for people: "Kitchen, Hall"; nil while it is heard nowhere.
    var places: String? {
        guard let asked, !asked.heard.isEmpty else { return nil }
        return asked.heard.flatMap { outputs[$0] ?? [] }.map(\.name).joined(separator: ", ")
    }

    /// What is wrong with those that are wanted, a sentence each; empty before anything is chosen.
    var problems: [String] {
        guard asked != nil else { return [] }
        return tiers.wanted.compactMap { wanted in
            let name = outputs[wanted]?.first?.name ?? wanted
            if unresponsive[wanted] != nil { return "\(name) does not answer" }
            return tiers.presence[wanted] == .present ? nil : "\(name) does not play"
        }
    }

    /// Returns when others take over from a speaker that does not answer; nil while it may still be heard.
    private func takeover(from name: String) -> HostInstant? {
        guard let since = unresponsive[name], tiers.presence[name] == .present else { return nil }
        // Realtime speakers hold two seconds of sound.
        if outputs[name]?.contains(where: { $0.kind == .realtimeSpeaker }) == true { return since }
        return answerTimeout.map { since.advanced(by: max(.zero, $0 - Self.reportedAfter)) }
    }

    /// When `attend` has something to do; nil when only news can change anything.
    var nextDeadline: HostInstant? {
        ([tiers.isPatient ? impatientFrom : nil] + refusedUntil.values.map { $0 } + unresponsive.keys.map(takeover))
            .compactMap { $0 }.min()
    }

    func attend(at now: HostInstant) {
        var changed = false
        if tiers.isPatient, now >= impatientFrom {
            tiers.isPatient = false
            changed = true
        }
        for (name, moment) in refusedUntil where moment <= now {
            refusedUntil[name] = nil
            tiers.note(name, .sought)
            finder.find(tiers.sought)
            changed = true
        }
        for name in unresponsive.keys where takeover(from: name).map({ $0 <= now }) ?? false {
            tiers.note(name, .lost)
            changed = true
        }
        if changed { settle() }
    }

    func hear(_ news: News, at now: HostInstant) -> Remark? {
        switch news {
        case .found(let name, let members):
            outputs[name] = members
            toldMissing[name] = nil
            tiers.note(name, .present)
            settle()
            return nil
        case .missing(let name, let error):
            guard toldMissing[name] != error.message else { return nil }
            toldMissing[name] = error.message
            return Remark(level: .warning, text: "\(error.message); it is looked for until it is there")
        case .changed(.superseded, _): return nil
        case .changed(.changed(_, let without), let choice):
            refuse(without.map(\.output), at: now)
            guard choice == asked else { return nil }
            let heard = places.map { choice.isFallback ? "the sound goes to \($0) instead" : "the sound goes to \($0)" }
            let reasons = without.map(\.description)
            if heard == nil, reasons.isEmpty { return nil }
            return Remark(
                level: choice.isFallback || !reasons.isEmpty ? .warning : .info,
                text: ([heard].compactMap { $0 } + reasons).joined(separator: "; "))
        case .changed(.refused(let refusals), let choice):
            refuse(refusals.map(\.output), at: now)
            if choice == asked { asked = nil }
            settle()
            return Remark(level: .warning, text: refusals.map(\.description).joined(separator: "; "))
        }
    }

    /// An output fell silent or came back; what a person should know.
    func note(_ output: OutputID, isLost: Bool) -> Remark? {
        guard let (name, lost) = member(output) else { return nil }
        unresponsive[name] = nil
        // One of two receivers that play as one, or the news of a second time.
        guard tiers.presence[name] != (isLost ? .lost : .present) else { return nil }
        tiers.note(name, isLost ? .lost : .present)
        settle()
        return Remark(
            level: .warning, text: isLost ? "'\(lost.name)' is lost" : "'\(lost.name)' is back and plays in step")
    }

    /// Notes that an output shows no sign of life, or shows one again; what a person should know.
    func note(_ output: OutputID, isUnresponsive: Bool, at now: HostInstant) -> Remark? {
        guard let (name, member) = member(output) else { return nil }
        if isUnresponsive {
            unresponsive[name] = now
            return Remark(level: .warning, text: "\(member.name) does not answer")
        }
        // Its connection may have been given up instead.
        guard unresponsive.removeValue(forKey: name) != nil, member.loss == nil else { return nil }
        tiers.note(name, .present)
        settle()
        return Remark(level: .warning, text: "\(member.name) answers again")
    }

    private func member(_ output: OutputID) -> (name: String, output: any AudioOutput)? {
        guard let member = group.output(number: output.index),
            let name = outputs.first(where: { $0.value.contains { $0 === member } })?.key
        else { return nil }
        return (name, member)
    }

    /// Opens the outputs anew: this computer's own sound plays for a moment, unheard, in their place.
    func reopen() {
        guard let home = outputs[SoundTiers.thisComputer], let choice = asked else { return }
        asked = nil
        let post = post
        if choice.members != [SoundTiers.thisComputer] {
            player.setAudioOutputs(home) { _ in post(.found(SoundTiers.thisComputer, home)) }
        }
    }

    private func refuse(_ names: [String], at now: HostInstant) {
        for (name, members) in outputs where members.contains(where: { names.contains($0.name) }) {
            // This computer's own sound comes back by itself.
            tiers.note(name, .lost)
            refusedUntil[name] = now.advanced(by: Self.again)
        }
    }

    /// Brings the group to what the tiers say.
    private func settle() {
        guard let choice = tiers.choice, choice != asked else { return }
        let members = choice.members.flatMap { outputs[$0] ?? [] }
        guard !members.isEmpty else { return }
        for name in choice.heard { for output in outputs[name] ?? [] { player.setMuted(false, of: output) } }
        if tiers.wanted.isEmpty { for output in members { player.setMuted(true, of: output) } }
        asked = choice
        player.setAudioOutputs(members) { [post] in post(.changed($0, choice)) }
    }
}
