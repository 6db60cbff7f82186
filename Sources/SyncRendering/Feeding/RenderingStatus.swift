/// The state of a renderer.
public enum RenderingStatus: String, Sendable {
    /// No buffer was enqueued yet.
    case unknown = "unknown"
    /// Enqueued media is presented, now or when due.
    case rendering = "rendering"
    /// No media is presented; the renderer's `error` states the reason and the remedy. The timeline continues.
    case failed = "failed"
}
