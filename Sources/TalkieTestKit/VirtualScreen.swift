public import MediaCore
public import SyncRendering

/// A picture that only carries a number.
public final class NumberedPicture: Picture {
    public let number: Int
    public let size = PixelSize(width: 16, height: 16)
    public let pixelFormat = PixelFormat.other
    public let pixelAspect = Ratio.one
    public let rotation = 0
    public let color = ColorDescription()
    public let bitDepth = 8
    public init(_ number: Int) { self.number = number }
    public func withPlanes<Result>(_ body: (PicturePlanes) -> Result) -> Result {
        body(PicturePlanes(bases: (nil, nil, nil, nil), strides: (0, 0, 0, 0)))
    }
    /// The n-th picture of a film with the given frame duration.
    public static func buffer(_ number: Int, every frame: MediaTime) -> SampleBuffer {
        SampleBuffer(
            payload: .picture(NumberedPicture(number)), presentationTime: frame * Int64(number), duration: frame)
    }
}

/// A screen in virtual time: it remembers what was shown when, and takes as long as the test says.
public final class VirtualScreen: VideoOutput {
    public struct Shown: Sendable {
        public var number: Int
        public var at: HostInstant
    }
    private let clock: ManualClock
    public var refresh: RefreshMode
    public var latency = OutputLatency(startLead: .zero)
    public var presentCost: Duration = .zero
    /// Time that passes during `prepare` and `present`.
    public var preparing: Duration = .zero
    public var presenting: Duration = .zero
    public private(set) var shown: [Shown] = []
    private var waiting: Int?

    public init(clock: ManualClock, refresh: RefreshMode = .unpaced) {
        self.clock = clock
        self.refresh = refresh
    }

    public func prepare(_ picture: any Picture) {
        clock.advance(by: preparing)
        waiting = (picture as? NumberedPicture)?.number
    }

    public func present() -> HostInstant {
        clock.advance(by: presenting)
        var visible = clock.now
        if case .fixed(let period, let phase) = refresh {
            // Becomes light at the next flip, as a real screen does.
            let periodNs = period.wholeNanoseconds
            let since = visible.nanoseconds - phase.nanoseconds
            visible = HostInstant(nanoseconds: phase.nanoseconds + (since + periodNs - 1) / periodNs * periodNs)
        }
        if let waiting { shown.append(Shown(number: waiting, at: visible)) }
        return visible
    }
}
