internal import MediaCore
internal import SyncRendering

/// Takes pictures where there is no window to show them in, so that the film keeps its pace without a picture.
final class NoScreen: VideoOutput {
    let refresh = RefreshMode.unpaced
    let latency = OutputLatency(startLead: .zero)
    let presentCost = Duration.zero
    func prepare(_ picture: any Picture, under overlay: Overlay?) {}
    func present() -> HostInstant { .now }
}
