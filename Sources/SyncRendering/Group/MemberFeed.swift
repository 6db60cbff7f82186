internal import MediaCore
internal import Synchronization

/// A member of a group with its renderer and feeder, and the thread that opens it, with retries. Any thread unless
/// stated otherwise.
final class MemberFeed: Sendable {
    private enum Condition {
        case opening, open
        case failed(OutputError)
    }

    /// The role of the member in the group.
    enum Role { case playing, joining, leaving }

    let member: any AudioOutput
    let feed: OutputFeed
    let feeder: MemberFeeder
    let id: OutputID
    private let context: AudioOutputContext
    private let scope: GroupSharedContext
    private let work: GroupWork
    /// Notified of every change of state here.
    private let changes: MemberChanges
    /// Whether the member is open, guarded by its own lock.
    private let condition = Lock(Condition.opening)
    /// The format for which the member is opened, guarded by its own lock.
    private let format = Lock<AudioFormat?>(nil)
    /// The role, guarded by its own lock.
    private let part: Lock<Role>
    /// Whether the member receives new audio: from the start, or since it was filled. Stored with release by `fill`.
    private let fed: Atomic<Bool>
    /// The error of an undecodable format, until audio plays again; guarded by its own lock.
    private let undecodable = Lock<OutputError?>(nil)
    /// Raised after each attempt to open the member.
    private let answer = Signal()
    /// Whether the first attempt has ended, and with it the calls into the member by the thread that made it. Stored
    /// with release.
    private let answered = Atomic<Bool>(false)
    /// Raised by `close`.
    private let closing = Signal()
    /// Set with release by `close`, before it waits for the opening thread.
    private let isClosing = Atomic<Bool>(false)
    /// The thread that opens the member, guarded by its own lock.
    private let opener = Lock<WorkerThread?>(nil)
    /// Called each time that the member has opened, on the thread that opened it.
    private let opened: @Sendable (MemberFeed) -> Void

    /// The pauses between attempts to open an unavailable member; the last one is repeated.
    private static let pauses: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(40)]

    /// Creates a feed; the caller starts it with `start`.
    ///
    /// - Parameter delay: The delay of this member against the group.
    init(
        member: any AudioOutput, id: OutputID, role: Role, context: AudioOutputContext, codecs: any AudioCodecs,
        work: GroupWork, scope: GroupSharedContext, changes: MemberChanges, store: SoundStore,
        settings: SoundSettings,
        delay: Duration = .zero,
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
        feed = OutputFeed(following: context, id: id, reading: store, settings, codecs: codecs, scope: scope)
        feed.timebase.delay = delay
        if role == .joining { feed.timebase.setGate(OutputGate(isShut: true)) }
        if role == .playing { feed.state.withLock { $0.beginReading() } }
        feeder = MemberFeeder(feed, work: work)
    }

    var role: Role { part.withLock { $0 } }
    /// Whether the member receives new audio.
    var isFed: Bool { fed.load(ordering: .acquiring) }
    /// Whether the member is open.
    var isOpen: Bool { condition.withLock { if case .open = $0 { true } else { false } } }
    /// Whether the first attempt to open the member has ended.
    var hasAnswered: Bool { answered.load(ordering: .acquiring) }

    /// The reason why the member is silent; nil while it plays or is being opened.
    var failure: OutputError? {
        let error: OutputError? = condition.withLock { if case .failed(let error) = $0 { error } else { nil } }
        return error ?? undecodable.withLock { $0 }
    }

    /// Same as `failure`, or the reason for the member's silence during its own recovery.
    var loss: OutputError? { failure ?? (isOpen ? member.currentLoss : nil) }

    /// Changes the role and the range of media in which the member is audible. The group serializes these calls.
    func setRole(_ role: Role, gate: OutputGate) {
        part.withLock { $0 = role }
        feed.setGate(gate)
    }

    /// Drops the accepted audio, and reads the store from a media time on; the member is silent until its gate opens.
    func fill(from moment: MediaTime) {
        feed.timebase.setGate(OutputGate(isShut: true, opens: moment))
        fed.store(true, ordering: .releasing)
        feed.update { [store = feed.store] in $0.restart(at: store.cursor(startingAt: moment)) }
        feed.timebaseDidChange()
    }

    /// Drops the accepted audio, and continues at a position of the store, if the member receives audio.
    ///
    /// - Parameter moment: Earlier audio only primes the codecs; nil: all audio is delivered.
    func restart(at cursor: SoundCursor, resumingFrom moment: MediaTime?) {
        if isFed { feed.update { $0.restart(at: cursor, resumingFrom: moment) } }
    }

    /// Starts to open the member for a format, with retries.
    func start(_ format: AudioFormat) {
        self.format.withLock { $0 = format }
        feed.state.withLock { $0.eventHandler = HandlerBox { [weak self] event in self?.handle(event) } }
        open(after: .zero)
    }

    /// Waits for the first attempt to open the member.
    ///
    /// - Parameter deadline: The end of the wait; nil: unlimited.
    func waitForAnswer(until deadline: HostInstant?) {
        while !hasAnswered {
            guard let deadline else {
                answer.wait()
                continue
            }
            guard answer.wait(until: deadline) else { return }
        }
    }

    /// Closes the member. Blocks until a running attempt to open it has ended.
    func close() {
        isClosing.store(true, ordering: .releasing)
        closing.raise()
        opener.withLock({ $0 })?.join()
        feed.update { $0.stop() }
        feeder.end()
        // The feeder has closed the member if it was in use; a second call has no effect.
        member.close()
    }

    /// Wakes the group's feeder and the current change of members.
    private func signalMove() {
        context.writable.raise()
        changes.noteMove()
    }

    /// Same, for progress of the feeder; a shared feeder's caller checks after each iteration.
    private func signalProgress() {
        if !feeder.isShared { context.writable.raise() }
        changes.noteMove()
    }

    /// Handles an event of the member's renderer, on the feeder's thread.
    private func handle(_ event: AudioRenderer.Event) {
        switch event {
        case .progress:
            if feed.progress.acceptedUntil != nil { undecodable.withLock { $0 = nil } }
            signalProgress()
        case .readyForMoreMediaData: break
        case .cannotDecode(let error):
            undecodable.withLock { $0 = OutputError(.unsupportedFormat, error.message) }
            signalMove()
        case .outputFailed(let error):
            fail(error)
            feed.update { $0.setOutput(nil, preparedFor: nil) }
            if mayTryAgain(after: error) { open(after: Self.pauses[0]) }
        }
    }

    /// Records a failure and logs the loss of a playing member.
    private func fail(_ error: OutputError) {
        let isNews = condition.withLock { condition in
            defer { condition = .failed(error) }
            if case .failed = condition { return false }
            if case .opening = condition { scope.unopened.insert(member) }
            return true
        }
        // A member that never joined is not lost.
        if isNews, role == .playing { context.events.append(.outputLost(output: id)) }
        answered.store(true, ordering: .releasing)
        answer.raise()
        signalMove()
    }

    /// Starts a thread that opens the member after a pause.
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

    /// Opens the member, with retries while they are useful. Runs on the opening thread.
    private func keepOpening(after pause: Duration) {
        var pauses = Self.pauses[...]
        work.pause(closing, pause)
        while !isClosing.load(ordering: .acquiring), let format = format.withLock({ $0 }) {
            do throws(OutputError) {
                let mustDecode = feed.mustDecode
                let delivery = member.delivery(for: format, mustDecode: mustDecode)
                // A session begins with it: some speakers are silent until they receive a title.
                member.display?.setNowPlaying(feed.state.withLock { $0.settings.nowPlaying })
                return attach(
                    preparedFor: try member.prepare(
                        delivery, for: format, mustDecode: mustDecode, context: feed.context))
            } catch {
                fail(error)
                guard mayTryAgain(after: error) else { return }
                work.pause(closing, pauses.popFirst() ?? Self.pauses.last!)
            }
        }
    }

    /// Returns true if a retry is useful. A busy speaker stays with its sender, and missing permission persists. A
    /// member that fails to join during playback is reported to the user instead.
    private func mayTryAgain(after error: OutputError) -> Bool {
        guard role == .playing else { return false }
        return error.code == .unavailable || error.code == .lost || error.code == .failed
    }

    /// Connects the open member to its renderer, which feeds it from the playhead on.
    private func attach(preparedFor delivery: AudioDelivery) {
        let wasLost = condition.withLock { condition in
            defer { condition = .open }
            scope.unopened.remove(member)
            if case .failed = condition { return true }
            return false
        }
        opened(self)
        feed.update { $0.setOutput(member, preparedFor: delivery) }
        member.timebaseDidChange(feed.timebase.snapshot)
        if wasLost { context.events.append(.outputRestored(output: id)) }
        answered.store(true, ordering: .releasing)
        answer.raise()
        signalMove()
    }
}
