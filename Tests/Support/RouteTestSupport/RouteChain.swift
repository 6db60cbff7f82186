import AirPlay
import Foundation
import MediaCodecs
import MediaCore
import SyncRendering
import Testing
import VirtualSpeaker

/// A film of pulses whose sound goes from output to output while it plays, through the group that a player has.
struct RouteChain {
    /// What a change came to.
    struct Change {
        /// Which outputs, by their place in the chain.
        var from: Int
        var to: Int
        /// When it was wished, and the instant of the film moment at which the sound changed over.
        var asked: HostInstant
        var at: HostInstant
    }

    /// What was heard of one output: instants at which it was not silent, in order, in host nanoseconds.
    struct Heard {
        var instants: [Double]

        init(_ recording: Recording) {
            instants = recording.samples.indices.filter { abs(recording.samples[$0]) > 0.02 }
                .map { recording.instant(of: Double($0)) }
        }

        init(_ record: SpeakerRecord) {
            instants = record.spans.flatMap { [$0.instant, $0.end] }.map { Double($0.nanoseconds) }
        }
    }

    var changes: [Change] = []
    var line = TimebaseSegment(mediaAnchor: .zero, hostAnchor: HostInstant(nanoseconds: 0), rate: 1)

    /// Plays on the first output, then on each of the others for so long.
    ///
    /// - Parameter whenReady: called when the first output is ready and before anything is heard.
    static func play(
        _ outputs: [any AudioOutput], each stay: Duration, whenReady: () throws -> Void
    ) async throws -> RouteChain {
        let synchronizer = RenderSynchronizer()
        let renderer = AudioRenderer(codecs: FilmAudioCodecs())
        let group = OutputGroup(members: [outputs[0]], codecs: FilmAudioCodecs())
        renderer.setOutput(group)
        synchronizer.addRenderer(renderer)
        defer { renderer.invalidate() }
        // What each second costs to draw is not to be paid while one waits.
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

    /// The old output falls silent where the new one is heard: silence between both, and when the new one begins.
    ///
    /// - Parameters:
    ///   - names: of the outputs, in the chain's order.
    ///   - heard: of each of them.
    ///   - slack: how late the new one may begin, in milliseconds.
    func check(_ names: [String], _ heard: [Heard], slack: Double = 30) throws {
        for change in changes {
            let at = Double(change.at.nanoseconds)
            let title = "\(names[change.from]) → \(names[change.to])"
            // An output that comes twice in the chain has other sounds before and after.
            let end = try #require(
                heard[change.from].instants.last { $0 < at + 0.8e9 }, "\(title): the old one was never heard")
            let begin = try #require(
                heard[change.to].instants.first { $0 > at - 0.5e9 }, "\(title): the new one was never heard")
            let (gap, late) = ((begin - end) / 1e6, (begin - at) / 1e6)
            print(
                "\(title): silence between them \(RouteContract.rounded(gap)) ms (negative: both were heard), the new one "
                    + "begins \(RouteContract.rounded(late)) ms after its instant, "
                    + "\((change.at - change.asked).inMilliseconds) ms after the wish")
            // A busy machine may be late with a request for silence; holes are what must not be.
            #expect(gap < slack && gap > -300, "\(title)")
            #expect(abs(late) < slack, "\(title)")
        }
    }

    /// How late the film was heard in a recording: the median of its pulses around the middle of a stay, in milliseconds.
    func offset(_ recording: Recording, from: HostInstant, to: HostInstant) -> Double? {
        let range = (from - line.hostAnchor).inSeconds...(to - line.hostAnchor).inSeconds
        let late = PulsedTone.lateness(recording, line).filter { range.contains($0.seconds) }.map(\.late).sorted()
        return late.isEmpty ? nil : late[late.count / 2]
    }
}
