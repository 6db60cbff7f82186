public import Dispatch
internal import MediaCore

/// The queue on which a renderer runs the application's closures: a dispatch queue, or one driven by a test.
///
/// A renderer never runs a closure twice at once, so that a concurrent queue is permitted. Each call is ordered after
/// the preceding ones.
public protocol MediaRequestQueue: AnyObject, Sendable {
    /// Runs `work` as soon as possible, after earlier work. Returns at once.
    func run(_ work: @escaping @Sendable () -> Void)
    /// Runs `work` no earlier than after `delay`. Returns at once.
    func run(after delay: Duration, _ work: @escaping @Sendable () -> Void)
}

extension DispatchQueue: MediaRequestQueue {
    /// Submits `work` to this queue. Returns at once.
    public func run(_ work: @escaping @Sendable () -> Void) { async(execute: work) }

    /// Submits `work` to this queue after `delay`. Returns at once.
    public func run(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.wholeNanoseconds)), execute: work)
    }
}
