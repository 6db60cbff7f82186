/// What has become of a renderer.
public enum RenderingStatus: String, Sendable {
    /// Nothing was enqueued yet.
    case unknown
    /// What was enqueued is perceived, or will be.
    case rendering
    /// Nothing is perceived; the renderer's `error` says why, and what to do. Film goes on without it.
    case failed
}
