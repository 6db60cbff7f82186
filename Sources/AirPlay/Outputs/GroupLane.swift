internal import MediaCore
internal import SyncRendering
internal import Synchronization

/// One member of a group with a renderer of its own, and the thread that opens it, again and again if need be.
final class GroupLane: Sendable {
    private enum Condition {
        case opening, open
        case failed(OutputError)
    }

    let member: any AudioOutput
    let renderer: AudioRenderer
    private let id: OutputID
    private let context: AudioOutputContext
    private let condition = Lock(Condition.opening)
    private let format = Lock<AudioFormat?>(nil)
    /// The present format cannot be decoded; the next one may be.
    private let undecodable = Lock<OutputError?>(nil)
    private let answer = Signal()
    private let closing = Signal()
    private let isClosing = Atomic<Bool>(false)
    private let opener = Lock<WorkerThread?>(nil)

    /// Pauses between attempts to open a member that is not there; the last one is repeated.
    private static let pauses: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(40)]

    /// - Parameter delay: how much later than the group this member is to be heard.
    init(
        member: any AudioOutput, id: OutputID, context: AudioOutputContext, codecs: any AudioCodecs,
        delay: Duration = .zero
    ) {
        self.member = member
        self.id = id
        self.context = context
        let timebase = Timebase(following: context.timebase)
        timebase.delay = delay
        renderer = AudioRenderer(timebase: timebase, codecs: codecs, events: context.events)
    }

    var isOpen: Bool { condition.withLock { if case .open = $0 { true } else { false } } }

    /// Why nothing is heard from this member; nil while it plays or is being opened.
    var failure: OutputError? {
        let error: OutputError? = condition.withLock { if case .failed(let error) = $0 { error } else { nil } }
        return error ?? undecodable.withLock { $0 }
    }

    /// Begins to feed the member as soon as it can be had.
    func start(_ format: AudioFormat) {
        self.format.withLock { $0 = format }
        renderer.start { [weak self] news in self?.hear(news) }
        open(after: .zero)
    }

    /// Waits for the first attempt to succeed or fail; nil waits for as long as that takes.
    func waitForAnswer(until deadline: HostInstant?) {
        while condition.withLock({ if case .opening = $0 { true } else { false } }) {
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
        // The feeder has closed it if it was in use; twice does no harm.
        member.close()
    }

    private func hear(_ news: AudioRenderer.News) {
        switch news {
        case .progress:
            if renderer.status.acceptedUntil != nil { undecodable.withLock { $0 = nil } }
            context.room.raise()
        case .readyForMoreMediaData: break
        case .cannotDecode(let error):
            undecodable.withLock { $0 = OutputError(.unsupportedFormat, error.message) }
            context.room.raise()
        case .outputFailed(let error):
            fail(error)
            renderer.setOutput(nil)
            if Self.mayPass(error) { open(after: Self.pauses[0]) }
        }
    }

    private func fail(_ error: OutputError) {
        let isNews = condition.withLock { condition in
            defer { condition = .failed(error) }
            if case .failed = condition { return false }
            return true
        }
        if isNews { context.events.note(.outputLost(output: id)) }
        answer.raise()
        context.room.raise()
    }

    private func open(after pause: Duration) {
        opener.withLock { opener in
            guard !isClosing.load(ordering: .acquiring) else { return }
            opener = WorkerThread.start(name: "group opening") { self.keepOpening(after: pause) }
        }
    }

    private func keepOpening(after pause: Duration) {
        var pauses = Self.pauses[...]
        closing.wait(until: .now.advanced(by: pause))
        while !isClosing.load(ordering: .acquiring), let format = format.withLock({ $0 }) {
            do throws(OutputError) {
                let delivery = member.delivery(for: format, mustDecode: false)
                try member.prepare(delivery, context: renderer.outputContext(id))
                return enter()
            } catch {
                fail(error)
                guard Self.mayPass(error) else { return }
                closing.wait(until: .now.advanced(by: pauses.popFirst() ?? Self.pauses.last!))
            }
        }
    }

    /// Whether another attempt makes sense. Whoever has taken a speaker shall keep it, and what is forbidden stays so.
    private static func mayPass(_ error: OutputError) -> Bool {
        error.code == .unavailable || error.code == .lost || error.code == .failed
    }

    /// The member is open: its feeder takes over, from the playhead on.
    private func enter() {
        let wasLost = condition.withLock { condition in
            defer { condition = .open }
            if case .failed = condition { return true }
            return false
        }
        renderer.setOutput(member, id: id)
        if wasLost { context.events.note(.outputRestored(output: id)) }
        answer.raise()
        context.room.raise()
    }
}
