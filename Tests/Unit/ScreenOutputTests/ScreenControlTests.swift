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

    @Test func aSnapshotIsAnsweredAlsoWhenTheLoopEndsBeforeIt() async {
        let control = ScreenControl()
        let replies = Lock(0)
        control.captureSnapshot { if $0 == nil { replies.withLock { $0 += 1 } } }
        #expect(replies.withLock { $0 } == 0)
        control.close()
        #expect(replies.withLock { $0 } == 1)
        control.captureSnapshot { if $0 == nil { replies.withLock { $0 += 1 } } }
        #expect(replies.withLock { $0 } == 2)
    }
}
