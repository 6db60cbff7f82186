internal import MediaCore
internal import Synchronization

/// One member of a group with a renderer and a feeder of its own, and the thread that opens it, again and again if need be.
final class MemberFeed: Sendable {
    private enum Condition {
        case opening, open
        case failed(OutputError)
    }

    /// What part it has in the group.
    enum Role { case playing, joining, leaving }

    let member: any AudioOutput
    let renderer: AudioRenderer
    let feeder: MemberFeeder
    let id: OutputID
    private let context: AudioOutputContext
    private let scope: GroupScope
    private let work: GroupWork
    /// Told when anything here moves.
    private let changes: MemberChanges
    private let timebase: Timebase
    private let condition = Lock(Condition.opening)
    private let format = Lock<AudioFormat?>(nil)
    private let part: Lock<Role>
    /// Sound that comes in is for it too: from the beginning, or since it was brought up to the film.
    private let fed: Atomic<Bool>
    /// The present format cannot be decoded; the next one may be.
    private let undecodable = Lock<OutputError?>(nil)
    private let answer = Signal()
    private let closing = Signal()
    private let isClosing = Atomic<Bool>(false)
    private let opener = Lock<WorkerThread?>(nil)
    /// Called each time that the member has opened, on the thread that opened it.
    private let opened: @Sendable (MemberFeed) -> Void

    /// Pauses between attempts to open a member that is not there; the last one is repeated.
    private static let pauses: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(40)]

    /// - Parameter delay: how much later than the group this member is to be heard.
    init(
        member: any AudioOutput, id: OutputID, role: Role, context: AudioOutputContext, codecs: any AudioCodecs,
        work: GroupWork, scope: GroupScope, changes: MemberChanges, delay: Duration = .zero,
        opened: @escaping @Sendable (MemberFeed) -> Void
    ) {
        self.opened = opened
        self.member = member
        self.id = id
        self.context = context
        self.scope = scope
        self.work = work
        self.changes = changes
        part = Lock(role)
        fed = Atomic(role == .playing)
        timebase = Timebase(gating: context.timebase)
        if role == .joining { timebase.setGate(OutputGate(isShut: true)) }
        renderer = AudioRenderer(timebase: timebase, codecs: codecs, events: context.events, group: scope)
        renderer.delay = delay
        feeder = MemberFeeder(renderer, work: work)
    }

    var role: Role { part.withLock { $0 } }
    var isFed: Bool { fed.load(ordering: .acquiring) }
    var isOpen: Bool { condition.withLock { if case .open = $0 { true } else { false } } }
    /// It was opened, or could not be.
    var hasAnswered: Bool { condition.withLock { if case .opening = $0 { false } else { true } } }

    /// Why nothing is heard from this member; nil while it plays or is being opened.
    var failure: OutputError? {
        let error: OutputError? = condition.withLock { if case .failed(let error) = $0 { error } else { nil } }
        return error ?? undecodable.withLock { $0 }
    }

    /// The same, and why the member is silent while it tries to come back.
    var loss: OutputError? { failure ?? (isOpen ? member.loss : nil) }

    /// Takes another part from now on, and is heard in the part of the film that the gate leaves open. The group makes
    /// these calls one at a time.
    func take(_ role: Role, gate: OutputGate) {
        part.withLock { $0 = role }
        timebase.setGate(gate)
        renderer.timebaseDidChange(timebase.snapshot)
    }

    /// Begins anew with this sound, ready to be heard from a film moment on, and silent until the gate is opened. The
    /// caller keeps other sound away meanwhile.
    func fill(_ sound: [SampleBuffer], from moment: MediaTime, isAll: Bool) {
        timebase.setGate(OutputGate(isShut: true, opens: moment))
        renderer.flush()
        fed.store(true, ordering: .releasing)
        for buffer in sound { renderer.enqueue(buffer) }
        if isAll { renderer.finish() }
        renderer.timebaseDidChange(timebase.snapshot)
    }

    /// Begins to feed the member as soon as it can be had.
    func start(_ format: AudioFormat) {
        self.format.withLock { $0 = format }
        renderer.onNews { [weak self] news in self?.hear(news) }
        open(after: .zero)
    }

    /// Waits for the first attempt to succeed or fail; nil waits for as long as that takes.
    func waitForAnswer(until deadline: HostInstant?) {
        while !hasAnswered {
            guard let deadline else {
                answer.wait()
                continue
            }
            guard answer.wait(until: deadline) else { return }
        }
    }

    /// Gives the member back. Waits for an attempt to open it that is under way.
    func close() {
        isClosing.store(true, ordering: .releasing)
        closing.raise()
        opener.withLock({ $0 })?.join()
        renderer.invalidate()
        feeder.end()
        // The feeder has closed it if it was in use; twice does no harm.
        member.close()
    }

    /// The group's feeder and a change of members that is under way look again.
    private func tellMove() {
        context.room.raise()
        changes.noteMove()
    }

    /// The same from the feeder; the group's looks anyway after it has given this one a turn.
    private func tellProgress() {
        if !feeder.isShared { context.room.raise() }
        changes.noteMove()
    }

    private func hear(_ news: AudioRenderer.News) {
        switch news {
        case .progress:
            if renderer.progress.acceptedUntil != nil { undecodable.withLock { $0 = nil } }
            tellProgress()
        case .readyForMoreMediaData: break
        case .cannotDecode(let error):
            undecodable.withLock { $0 = OutputError(.unsupportedFormat, error.message) }
            tellMove()
        case .outputFailed(let error):
            fail(error)
            renderer.setOutput(nil)
            if mayTryAgain(after: error) { open(after: Self.pauses[0]) }
        }
    }

    private func fail(_ error: OutputError) {
        let isNews = condition.withLock { condition in
            defer { condition = .failed(error) }
            if case .failed = condition { return false }
            if case .opening = condition { scope.unopened.insert(member) }
            return true
        }
        // Who never joined is not missed.
        if isNews, role == .playing { context.events.note(.outputLost(output: id)) }
        answer.raise()
        tellMove()
    }

    private func open(after pause: Duration) {
        do throws(ExhaustionError) {
            try opener.withLock { (opener) throws(ExhaustionError) in
                guard !isClosing.load(ordering: .acquiring) else { return }
                opener = try work.run("group opening") { self.keepOpening(after: pause) }
            }
        } catch {
            fail(OutputError(error, output: member.name))
        }
    }

    private func keepOpening(after pause: Duration) {
        var pauses = Self.pauses[...]
        closing.wait(until: .now.advanced(by: pause))
        while !isClosing.load(ordering: .acquiring), let format = format.withLock({ $0 }) {
            do throws(OutputError) {
                let delivery = member.delivery(for: format, mustDecode: renderer.mustDecode)
                try member.prepare(delivery, context: renderer.outputContext(id))
                return enter()
            } catch {
                fail(error)
                guard mayTryAgain(after: error) else { return }
                closing.wait(until: .now.advanced(by: pauses.popFirst() ?? Self.pauses.last!))
            }
        }
    }

    /// Whether another attempt makes sense. Whoever has taken a speaker shall keep it, and what is forbidden stays so.
    /// One that was to join in mid-film and cannot is told to the person instead.
    private func mayTryAgain(after error: OutputError) -> Bool {
        guard role == .playing else { return false }
        return error.code == .unavailable || error.code == .lost || error.code == .failed
    }

    /// The member is open: its feeder takes over, from the playhead on.
    private func enter() {
        let wasLost = condition.withLock { condition in
            defer { condition = .open }
            scope.unopened.remove(member)
            if case .failed = condition { return true }
            return false
        }
        opened(self)
        renderer.setOutput(member, id: id)
        if wasLost { context.events.note(.outputRestored(output: id)) }
        answer.raise()
        tellMove()
    }
}
