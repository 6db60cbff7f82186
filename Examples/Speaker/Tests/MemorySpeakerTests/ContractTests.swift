import MediaCore
import MemorySpeaker
import SpeakerKit
import SyncRendering
import Testing

/// The contract of an output, in virtual time.
@Suite struct ContractTests {
    struct Memory: OpenableRoute {
        func open(seconds: Double, isExact: Bool) -> any RecordedRoute {
            let (speaker, clock) = (MemorySpeaker(), ManualClock())
            return VirtualRoute(speaker, clock: clock) { instant in
                clock.advance(to: instant)
                speaker.play(until: instant)
            } recording: {
                let (samples, start) = speaker.recording
                return OutputCapture(samples: samples, rate: 48_000, start: start ?? clock.now)
            }
        }
    }

    @Test func theSpeakerKeepsTheContract() throws { try RouteContract.check(Memory()) }
}
