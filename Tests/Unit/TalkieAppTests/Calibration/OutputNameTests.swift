import SyncRendering
import TalkieApp
import Testing

@Suite struct OutputNameTests {
    @Test func theSpeakerOfARunIsKnownByNameIdOrAddress() {
        let speaker = OutputIdentity(
            key: "02746C000001", name: "Kitchen", query: "kitchen", route: "buffered", address: "airplay://10.0.0.5")
        for text in ["KITCHEN", "02:74:6c:00:00:01", "02746C000001", "airplay://10.0.0.5", "airplay://10.0.0.5:7000"] {
            #expect(speaker.isMeant(by: text), "\(text)")
        }
        for text in ["Bath", "local", "airplay://10.0.0.6", "airplay://10.0.0.5:7001"] {
            #expect(!speaker.isMeant(by: text), "\(text)")
        }
    }
}
