import MediaCore
import SyncRendering
import Testing

@testable import ScreenOutput

@Suite struct ScreenControlTests {
    @Test func aLayerIsShownFromTheCommandOnUntilTheLoopEnds() {
        let (layer, control) = (DisplayLayer(depth: 4), ScreenControl())
        let synchronizer = RenderSynchronizer()
        let events = EventLog(clock: MonotonicClock())
        #expect(!layer.hasScreen)
        control.attach(layer, timebase: synchronizer.timebase, events: events)
        #expect(layer.hasScreen)
        // The loop ends before it has executed the command.
        control.close()
        #expect(!layer.hasScreen)
        control.attach(layer, timebase: synchronizer.timebase, events: events)
        #expect(!layer.hasScreen, "nobody will show it")
    }
}
