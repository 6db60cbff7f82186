/// Applies settings to outputs without a lock, on one thread at a time: what is set meanwhile is applied by the same
/// thread afterwards, so that the last setting is applied last. Guarded by the lock of its owner.
struct SettingsPass {
    private var isPending = false
    private var isRunning = false

    /// Whether everything is applied.
    var isIdle: Bool { !isRunning }

    /// Notes a change. Returns whether the caller has to apply it, which it does until `next` returns false.
    mutating func begin() -> Bool {
        defer { isRunning = true }
        isPending = true
        return !isRunning
    }

    /// Returns whether there is a change to apply; otherwise the pass ends.
    mutating func next() -> Bool {
        defer { isPending = false }
        isRunning = isPending
        return isPending
    }
}
