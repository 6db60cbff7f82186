package import MediaCore
package import SyncRendering

/// Runs the iterations of a subtitle renderer's drawing thread on a manual clock.
///
/// One iteration runs per raise of the renderer's signal, and one at the instant returned by the last iteration. Others
/// would hide a thread that waits too long.
package final class SteppedDrawer {
    private let renderer: SubtitleRenderer
    private let drawer: SubtitleDrawer
    private let clock: any HostClock
    private var due: HostInstant?

    /// Creates the drawer of a renderer.
    package init(_ renderer: SubtitleRenderer, clock: any HostClock) {
        (self.renderer, self.clock) = (renderer, clock)
        drawer = renderer.makeDrawer()
    }

    /// Runs all iterations that are due.
    package func step() {
        while renderer.wake.tryWait() || due.map({ $0 <= clock.now }) ?? false {
            due = drawer.runIteration()?.until
        }
    }
}
