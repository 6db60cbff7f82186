import Foundation
import MemorySpeaker
import Talkie

/// Plays a film on the speaker of this package and, in sync with it, on one of the network. Prints the instants, in
/// nanoseconds of CLOCK_MONOTONIC, at which sound followed silence. usage: SpeakerDemo FILE [SPEAKER]
@main struct SpeakerDemo {
    static func main() throws {
        let words = CommandLine.arguments
        guard words.count > 1 else { fatalError("usage: SpeakerDemo FILE [SPEAKER]") }
        let memory = MemorySpeaker()
        let thread = Thread {
            while !Thread.current.isCancelled {
                memory.play(until: .now)
                Thread.sleep(forTimeInterval: 0.01)
            }
        }
        thread.start()
        let registry = OutputRegistry()
        let places = try registry.destinations(named: Array(words.dropFirst(2)))
        let isOver = DispatchSemaphore(value: 0)
        let player = Player(outputs: [memory] + (try registry.outputs(at: places)), registry: registry) { event in
            switch event {
            case .ended: isOver.signal()
            case .failed(_, let error):
                print(error.message)
                isOver.signal()
            case .outputProblem(let problem): print(problem.error.message)
            default: break
            }
        }
        player.open(words[1])
        isOver.wait()
        player.shutDown()
        thread.cancel()
        for instant in onsets(of: memory) { print("sound at", instant.nanoseconds) }
    }

    /// Returns when sound followed 100 ms of silence.
    static func onsets(of speaker: MemorySpeaker) -> [HostInstant] {
        let (samples, start) = speaker.recording
        var (onsets, silence) = ([HostInstant](), 4800)
        for (index, sample) in samples.enumerated() {
            if abs(sample) > 0.02, silence >= 4800, let start {
                onsets.append(start.advanced(by: .nanoseconds(Int64(index) * 1_000_000_000 / 48_000)))
            }
            silence = abs(sample) > 0.02 ? 0 : silence + 1
        }
        return onsets
    }
}
