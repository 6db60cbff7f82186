internal import CShim
// Its library holds the two calls that CShim declares.
internal import Dispatch
internal import MediaCore

/// The process's main dispatch queue, which a loop on the main thread must serve, because nobody else can.
struct MainQueue {
    /// Readable while there is work; nil where this is not the main thread, and the queue somebody else's.
    private let descriptor: Int32?
    private var turn = MainQueueTurn()

    init() {
        // ignored: libdispatch ends the program where the system gives it no descriptor; then the queue is left alone.
        let mayServe = cshim_is_main_thread() != 0 && (try? PollableSignal()) != nil
        descriptor = mayServe ? _dispatch_get_main_queue_handle_4CF() : nil
    }

    /// What to wait for; nil when its work is known already and put off.
    var waited: Int32? { turn.since == nil ? descriptor : nil }
    /// When work that is put off is done at last.
    var deadline: HostInstant? { turn.latest }

    mutating func noteWork() { turn.note(at: .now) }

    /// Does the work that waits, unless a picture is about to be shown.
    mutating func serve(before picture: HostInstant?) {
        guard let descriptor, turn.isDue(at: .now, before: picture) else { return }
        cshim_event_clear(descriptor)
        _dispatch_main_queue_callback_4CF(nil)
    }
}

/// When the main queue's work is done: not shortly before a picture, which it would delay, and not much later either.
struct MainQueueTurn {
    /// As long as a picture takes to be converted and shown, on a slow machine.
    static let picturesTime: Duration = .milliseconds(8)
    /// A film that is always late does not keep the application waiting for longer.
    static let longest: Duration = .milliseconds(50)

    /// Since when there is work.
    private(set) var since: HostInstant?

    var latest: HostInstant? { since?.advanced(by: Self.longest) }

    mutating func note(at now: HostInstant) { since = since ?? now }

    /// Whether it is to be done now; then it is taken as done.
    mutating func isDue(at now: HostInstant, before picture: HostInstant?) -> Bool {
        guard let latest else { return false }
        if let picture, picture - now < Self.picturesTime, now < latest { return false }
        since = nil
        return true
    }
}
