package import MediaCore
package import SyncRendering

/// Runs the iterations of a renderer's drawing thread in time that is turned by hand: one for each raise of the
/// renderer's signal, and one at the instant that the last iteration returned. An iteration at any other time would hide
/// a thread that waits too long.
package final class SteppedDrawer {
    private let renderer: SubtitleRenderer
    private let drawer: SubtitleDrawer
    private let clock: any HostClock
    private var due: HostInstant?

    package init(_ renderer: SubtitleRenderer, clock: any HostClock) {
        (self.renderer, self.clock) = (renderer, clock)
        drawer = renderer.makeDrawer()
    }

    /// Runs what is due now.
    package func step() {
        while renderer.wake.wait(until: HostInstant(nanoseconds: 0)) || due.map({ $0 <= clock.now }) ?? false {
            due = drawer.turn()?.until
        }
    }
}
