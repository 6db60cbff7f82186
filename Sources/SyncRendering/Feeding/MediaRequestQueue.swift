public import Dispatch
internal import MediaCore

/// Where a renderer runs what an application gave it: a dispatch queue, or a queue that a test turns by hand.
///
/// A renderer never runs the same closure twice at once, so that a concurrent queue does no harm; what it runs there is
/// ordered after everything it ran there before.
public protocol MediaRequestQueue: AnyObject, Sendable {
    /// Runs `work` soon, after what was given before. Returns at once.
    func run(_ work: @escaping @Sendable () -> Void)
    /// Runs `work` not before `delay` has passed. Returns at once.
    func run(after delay: Duration, _ work: @escaping @Sendable () -> Void)
}

extension DispatchQueue: MediaRequestQueue {
    public func run(_ work: @escaping @Sendable () -> Void) { async(execute: work) }

    public func run(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.wholeNanoseconds)), execute: work)
    }
}
