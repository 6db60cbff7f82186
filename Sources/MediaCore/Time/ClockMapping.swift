/// One clock in terms of another: a straight line with its uncertainty and its age.
///
/// `target = targetAnchor + (source - sourceAnchor) × (1 + rateOffset)`. The line is an estimate; whoever uses it
/// far from its anchor multiplies the error of the rate, which is why the age is part of the value.
public struct ClockMapping<Source, Target>: Sendable
where
    Source: InstantProtocol & Sendable & BitwiseCopyable, Target: InstantProtocol & Sendable & BitwiseCopyable,
    Source.Duration == Duration, Target.Duration == Duration
{
    /// A moment on the source clock …
    public var sourceAnchor: Source
    /// … and the moment on the target clock that is the same instant.
    public var targetAnchor: Target
    /// How much faster the target runs, as a ratio: +20e-6 is 20 ppm fast. Positive: the target gains.
    public var rateOffset: Double
    /// Standard uncertainty of `targetAnchor` at `sourceAnchor`.
    public var uncertainty: Duration

    public init(sourceAnchor: Source, targetAnchor: Target, rateOffset: Double = 0, uncertainty: Duration = .zero) {
        self.sourceAnchor = sourceAnchor
        self.targetAnchor = targetAnchor
        self.rateOffset = rateOffset
        self.uncertainty = uncertainty
    }

    /// The instant on the target clock that is the same as `source`.
    public func target(at source: Source) -> Target {
        let elapsed = sourceAnchor.duration(to: source).wholeNanoseconds
        let gained = Int64(clamping: Double(elapsed) * rateOffset, in: .min ... .max)
        return targetAnchor.advanced(by: .nanoseconds(elapsed.addingClamped(gained)))
    }

    /// The instant on the source clock that is the same as `target`.
    public func source(at target: Target) -> Source {
        let elapsed = targetAnchor.duration(to: target).wholeNanoseconds
        let lost = Int64(clamping: Double(elapsed) * (rateOffset / (1 + rateOffset)), in: .min ... .max)
        return sourceAnchor.advanced(by: .nanoseconds(elapsed.subtractingClamped(lost)))
    }

    /// How old the line is at a moment of the source clock; zero when the moment precedes the anchor.
    public func age(at source: Source) -> Duration { max(.zero, sourceAnchor.duration(to: source)) }
}
