/// A linear mapping between two clocks, with uncertainty and age.
///
/// `target = targetAnchor + (source - sourceAnchor) × (1 + rateOffset)`. The mapping is an estimate: the error of the
/// rate grows with the distance from the anchor.
package struct ClockMapping<Source, Target>: Sendable
where
    Source: InstantProtocol & Sendable & BitwiseCopyable, Target: InstantProtocol & Sendable & BitwiseCopyable,
    Source.Duration == Duration, Target.Duration == Duration
{
    /// The anchor on the source clock.
    package var sourceAnchor: Source
    /// The same instant on the target clock.
    package var targetAnchor: Target
    /// Rate of the target clock relative to the source, minus 1: +20e-6 means the target is 20 ppm faster.
    package var rateOffset: Double
    /// Standard uncertainty of `targetAnchor` at `sourceAnchor`.
    package var uncertainty: Duration

    /// Creates a mapping; by default with equal rates and no uncertainty.
    package init(sourceAnchor: Source, targetAnchor: Target, rateOffset: Double = 0, uncertainty: Duration = .zero) {
        self.sourceAnchor = sourceAnchor
        self.targetAnchor = targetAnchor
        self.rateOffset = rateOffset
        self.uncertainty = uncertainty
    }

    /// Returns the instant on the target clock that corresponds to `source`.
    package func target(at source: Source) -> Target {
        let elapsed = sourceAnchor.duration(to: source).wholeNanoseconds
        let gained = Int64(clamping: Double(elapsed) * rateOffset, in: .min ... .max)
        return targetAnchor.advanced(by: .nanoseconds(elapsed.addingClamped(gained)))
    }

    /// Returns the instant on the source clock that corresponds to `target`.
    package func source(at target: Target) -> Source {
        let elapsed = targetAnchor.duration(to: target).wholeNanoseconds
        let lost = Int64(clamping: Double(elapsed) * (rateOffset / (1 + rateOffset)), in: .min ... .max)
        return sourceAnchor.advanced(by: .nanoseconds(elapsed.subtractingClamped(lost)))
    }
}
