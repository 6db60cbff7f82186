internal import MediaCore
package import SyncRendering

/// What a speaker states about its own delay, and how much of it this sender subtracts.
///
/// A PTP anchor names the instant at which a sample is heard: the speaker subtracts its delay, and subtracting it here
/// too would make the sound early by as much. NTP timing relates samples to the sender's clock without saying what the
/// receiver subtracts: what it states about its output is subtracted here.
package struct StatedLatency: Hashable, Sendable {
    /// From the arrival of a packet to its output (`arrivalToRenderLatencyMs` of SETUP). A bound of the queue depth on
    /// all routes, never a delay of the sound.
    package var arrivalToRender: Duration?
    /// From its output until it is audible (`audioLatencies` of `/info`).
    package var output: Duration?
    /// How much earlier than it is perceived a sample is scheduled.
    package var subtracted: Duration = .zero

    package init(arrivalToRender: Duration? = nil, output: Duration? = nil) {
        self.arrivalToRender = arrivalToRender
        self.output = output
    }

    /// Returns it with what this sender subtracts on a route.
    package func subtracted(on route: Route) -> StatedLatency {
        var stated = self
        stated.subtracted = route.needsPTP ? .zero : output ?? .zero
        return stated
    }

    /// The shares of the delay. Pairs whose sum is zero are what the speaker subtracts.
    package var shares: [LatencyShare] {
        if arrivalToRender == nil, output == nil {
            return [LatencyShare(name: "speaker", duration: .zero, source: .assumed)]
        }
        var shares: [LatencyShare] = []
        if let output { shares.append(LatencyShare(name: "speaker output", duration: output, source: .reported)) }
        if let arrivalToRender {
            shares.append(LatencyShare(name: "speaker buffer", duration: arrivalToRender, source: .reported))
        }
        let own = (output ?? .zero) + (arrivalToRender ?? .zero) - subtracted
        shares.append(LatencyShare(name: "speaker's correction", duration: .zero - own, source: .reported))
        return shares
    }
}
