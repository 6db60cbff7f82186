internal import MediaCore
internal import SyncRendering

/// Discards video frames when there is no window, so that playback keeps its pace.
final class NoScreen: VideoOutput {
    let refresh = RefreshMode.unpaced
    let latency = OutputLatency(startLead: .zero)
    let presentCost = Duration.zero
    /// Called for each discarded frame.
    var onFrame: () -> Void = {}
    func prepare(_ frame: any VideoFrame, under overlay: Overlay?) { onFrame() }
    func present() -> HostInstant { .now }
}
