import AirPlay
import Foundation
import MediaCodecs
import MediaCore
import SyncRendering
import Testing
import VirtualSpeaker

/// Plays pulses while the audio changes from output to output, through the output group that a player uses.
struct RouteChain {
    /// One change of the output.
    struct Change {
        /// Indices of the outputs in the chain.
        var from: Int
        var to: Int
        /// Instant of the request, and instant of the film time at which the audio changed over.
        var asked: HostInstant
        var at: HostInstant
    }

    /// Host times at which one output was not silent, in ascending order, in nanoseconds.
    struct Heard {
        var instants: [Double]

        init(_ recording: OutputCapture) {
            instants = recording.samples.indices.filter { abs(recording.samples[$0]) > 0.02 }
                .map { recording.instant(of: Double($0)) }
        }

        init(_ record: SpeakerRecord) {
            instants = record.spans.flatMap { [$0.instant, $0.end] }.map { Double($0.nanoseconds) }
        }
    }

    var changes: [Change] = []
    var line = TimebaseSegment(mediaAnchor: .zero, hostAnchor: HostInstant(nanoseconds: 0), rate: 1)

    /// Plays on the first output, then on each of the others for a given duration.
    ///
    /// - Parameter whenReady: called when the first output is ready and before anything is audible.
    static func play(
        _ outputs: [any AudioOutput], each stay: Duration, whenReady: () throws -> Void
    ) async throws -> RouteChain {
        let synchronizer = RenderSynchronizer()
        let renderer = AudioRenderer(codecs: FilmAudioCodecs())
        let group = OutputGroup(members: [outputs[0]], codecs: FilmAudioCodecs())
        renderer.setOutput(group)
        synchronizer.addRenderer(renderer)
        defer { renderer.invalidate() }
        // Generated in advance, so that the cost of generation does not delay the feeding.
        for second in 0..<Int64(40) { renderer.enqueue(PulsedTone.buffer(second: second)) }
        let limit = HostInstant.now.advanced(by: .seconds(10))
        while let wait = renderer.startWait {
            try #require(HostInstant.now < limit, "\(wait)")
            HostInstant.now.advanced(by: .milliseconds(5)).sleep()
        }
        try whenReady()
        let start = HostInstant.now.advanced(by: synchronizer.startLead)
        var chain = RouteChain()
        chain.line = synchronizer.setRate(1, time: .zero, atHostTime: start).upcoming
        start.advanced(by: stay).sleep()
        for (index, output) in outputs.enumerated().dropFirst() {
            let asked = HostInstant.now
            guard case .changed(let moment?, let without) = await group.change(to: [output]) else {
                throw OutputError(.failed, "the outputs did not change")
            }
            #expect(without.isEmpty)
            let at = try #require(chain.line.hostInstant(of: moment))
            chain.changes.append(Change(from: index - 1, to: index, asked: asked, at: at))
            at.advanced(by: stay).sleep()
        }
        synchronizer.setRate(0)
        HostInstant.now.advanced(by: .milliseconds(500)).sleep()
        return chain
    }

    /// Checks that the old output falls silent when the new one becomes audible, and that the new one starts on time.
    ///
    /// - Parameters:
    ///   - names: of the outputs, in the chain's order.
    ///   - heard: of each output.
    ///   - slack: maximum gap, and maximum deviation of the new output's start, in milliseconds.
    func check(_ names: [String], _ heard: [Heard], slack: Double = 30) throws {
        for change in changes {
            let at = Double(change.at.nanoseconds)
            let title = "\(names[change.from]) → \(names[change.to])"
            // Limits the search: an output that occurs twice in the chain is also audible at other times.
            let end = try #require(
                heard[change.from].instants.last { $0 < at + 0.8e9 }, "\(title): the old one was never heard")
            let begin = try #require(
                heard[change.to].instants.first { $0 > at - 0.5e9 }, "\(title): the new one was never heard")
            let (gap, late) = ((begin - end) / 1e6, (begin - at) / 1e6)
            print(
                "\(title): silence between them \(RouteContract.rounded(gap)) ms (negative: both were heard), the new one "
                    + "begins \(RouteContract.rounded(late)) ms after its instant, "
                    + "\((change.at - change.asked).inMilliseconds) ms after the wish")
            // A busy machine may apply the mute late, so outputs may overlap by up to 300 ms; gaps are errors.
            #expect(gap < slack && gap > -300, "\(title)")
            #expect(abs(late) < slack, "\(title)")
        }
    }

    /// Returns how late the film was audible in a recording: the median of its pulses between two instants, in
    /// milliseconds. Nil without pulses.
    func offset(_ recording: OutputCapture, from: HostInstant, to: HostInstant) -> Double? {
        let range = (from - line.hostAnchor).inSeconds...(to - line.hostAnchor).inSeconds
        let late = PulsedTone.lateness(recording, line).filter { range.contains($0.seconds) }.map(\.late).sorted()
        return late.isEmpty ? nil : late[late.count / 2]
    }
}
