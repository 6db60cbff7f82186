internal import AirPlayTransport
internal import Glibc
internal import MediaCodecs
package import MediaCore
internal import Routing
internal import Storage
internal import SyncRendering
internal import Talkie

/// Implements `talkie speakers NAME --trace FILE`: plays a test signal on a speaker and writes the conversation with
/// it.
package struct SpeakerTrace {
    private let speaker: SpeakerArgument
    private let file: String

    /// Three beeps, at 1, 2 and 3 s: an owner reports whether they were audible, and whether the first was complete.
    private static let beeps: ClosedRange<Int> = 1...3
    private static let length = MediaTime(value: 5, timescale: 1)
    private static let format = PCMFormat(sampleRate: 48_000, layout: .stereo)
    /// Timeout for the start: discovery, every route after a refusal, and a clock that is never followed (8 s each).
    private static let timeout: Duration = .seconds(45)
    private static let pollInterval: Duration = .milliseconds(100)

    package init(_ speaker: SpeakerArgument, file: String) { (self.speaker, self.file) = (speaker, file) }

    private var name: String { speaker.choice.name }

    /// Plays and writes the file. Blocks for some ten seconds.
    ///
    /// - Parameters:
    ///   - write: Receives the result.
    ///   - remark: Receives sentences for the user.
    /// - Returns: The exit status.
    /// - Throws: `unavailable` or `notPermitted` as `talkie play` does; a conversation is written to the file anyway.
    ///   `failed` if it cannot be written.
    package func run(write: (String) -> Void, remark: (String) -> Void) throws(TalkieError) -> Int32 {
        let interruption = Interruption()
        // Called before any other thread is started: all threads inherit the blocked signals.
        let signals = try SignalWatch.begin { if case .end(let status) = $0 { interruption.raise(status: status) } }
        defer { signals.stop() }
        let trace = ConversationTrace()
        let registry = OutputRegistry(
            card: nil, saying: .commands,
            preferring: SpeakerPreferenceTable(SpeakerPreferences(), named: [(name, speaker.preferences)]),
            tracing: trace)
        let outcome: Result<Void, TalkieError>
        do throws(TalkieError) {
            let outputs = try registry.outputs(
                at: try registry.destinations(named: [name], until: interruption, notice: { _ in }))
            outcome = play(on: outputs, until: interruption)
        } catch {
            outcome = .failure(error)
        }
        for note in registry.notes { remark(note) }
        if !trace.isEmpty {
            try OutputFile.write(
                trace.text(release: Release.version), to: file, what: "The trace", isPrivate: true)
            write("The conversation was written to \(file); names, addresses, identifiers and keys are replaced.")
        }
        if let status = interruption.status { return status }
        try outcome.get()
        write("Three beeps were sent. Were all three audible?")
        return ExitStatus.done
    }

    /// Plays the test signal to its end, and releases the outputs.
    private func play(on outputs: [any AudioOutput], until interruption: Interruption) -> Result<Void, TalkieError> {
        let failure = Lock<OutputError?>(nil)
        let renderer = AudioRenderer()
        renderer.onEvent { event in
            if case .outputFailed(let error) = event { failure.withLock { $0 = $0 ?? error } }
        }
        renderer.setOutput(OutputGroup(members: outputs, codecs: FilmAudioCodecs()))
        let synchronizer = RenderSynchronizer()
        synchronizer.addRenderer(renderer)
        defer {
            synchronizer.setRate(0)
            renderer.invalidate()
        }
        let signal = Self.signal
        renderer.enqueue(SampleBuffer(payload: .pcm(signal), presentationTime: .zero, duration: Self.length))
        renderer.stopRequestingMediaData()
        synchronizer.setRate(1, time: .zero)
        let deadline = HostInstant.now.advanced(by: Self.timeout)
        while synchronizer.currentTime() < Self.length {
            if let error = failure.withLock({ $0 }) {
                return .failure(TalkieError(.unavailable, error.message, remedy: error.remedy))
            }
            guard HostInstant.now < deadline else {
                return .failure(
                    TalkieError(.unavailable, "'\(name)' did not play for \(Self.timeout.components.seconds) s"))
            }
            guard interruption.pause(until: .now.advanced(by: Self.pollInterval)) else { break }
        }
        return .success(())
    }

    private static var signal: PCMBlock {
        let rate = format.sampleRate
        let block = PCMBlock(format: format, capacity: Int(length.seconds) * rate)
        block.frames = block.capacity
        for second in beeps {
            // 150 ms of 880 Hz with edges of 5 ms, at a quarter of full scale.
            for frame in 0..<rate * 3 / 20 {
                let edge = min(1, Float(min(frame, rate * 3 / 20 - frame)) / Float(rate / 200))
                let sample = 0.25 * edge * sin(Float(frame) * 880 * 2 * .pi / Float(rate))
                for channel in 0..<format.channels {
                    block.samples[(second * rate + frame) * format.channels + channel] = sample
                }
            }
        }
        return block
    }
}
