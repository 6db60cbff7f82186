import MediaCore
import Playback
import SyncRendering
import Talkie
import TalkieTestKit
import Testing

/// Calls that an application writes, as the compiler resolves them outside the modules.
@Suite struct PlayerAPITests {
    @Test func asynchronousFunctionsApplyEditsWithAndWithoutWaiting() async {
        let player = Player(output: RecordingOutput()) { _ in }
        defer { player.shutDown() }
        let item = QueueItem("nowhere.mp4")
        player.apply(.append([item]), completion: nil)
        let outcomes = Lock<[QueueEditOutcome]>([])
        let answered = Signal()
        player.apply(.remove(QueueItem("elsewhere.mp4").id)) { outcome in
            outcomes.withLock { $0.append(outcome) }
            answered.raise()
        }
        #expect(await player.apply(.removeAll) != .unchanged)
        answered.wait()
        #expect(outcomes.withLock { $0 } == [.unchanged])
        player.shutDown()
        #expect(await player.apply(.append([item])) == .unchanged)
    }

    @Test func asynchronousFunctionsRemoveRenderersWithAndWithoutWaiting() async {
        let synchronizer = RenderSynchronizer()
        let layer = DisplayLayer(depth: 2)
        synchronizer.addRenderer(layer)
        synchronizer.removeRenderer(layer, completion: nil)
        #expect(synchronizer.renderers.isEmpty)
        #expect(await !synchronizer.removeRenderer(layer))
    }
}
