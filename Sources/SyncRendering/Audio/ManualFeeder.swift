/// Runs the feeder of a renderer on the caller's thread, in virtual time. Create it before the renderer's first output.
package struct ManualFeeder {
    private var feeder: AudioFeeder

    /// Starts a use of the renderer without a thread.
    package init(_ renderer: AudioRenderer) { feeder = renderer.startWithoutThread { _ in } }

    /// Does all work that is due.
    package mutating func performDueWork() { feeder.performDueWork() }
}
