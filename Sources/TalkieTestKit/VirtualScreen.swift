package import MediaCore
package import SyncRendering

/// A picture that only carries a number.
package final class NumberedPicture: Picture {
    package let number: Int
    package let size = PixelSize(width: 16, height: 16)
    package let pixelFormat = PixelFormat.other
    package let pixelAspect = Ratio.one
    package let rotation = 0
    package let color = ColorDescription()
    package let bitDepth = 8
    package init(_ number: Int) { self.number = number }
    package func withPlanes<Result>(_ body: (PicturePlanes) -> Result) -> Result {
        body(PicturePlanes(bases: (nil, nil, nil, nil), strides: (0, 0, 0, 0)))
    }
    /// The n-th picture of a film with the given frame duration.
    package static func buffer(_ number: Int, every frame: MediaTime) -> SampleBuffer {
        SampleBuffer(
            payload: .picture(NumberedPicture(number)), presentationTime: frame * Int64(number), duration: frame)
    }
}

/// A screen in virtual time: it remembers what was shown when, and takes as long as the test says.
package final class VirtualScreen: VideoOutput {
    package struct Shown: Sendable {
        package var number: Int
        package var at: HostInstant
        package var overlay: Overlay?
    }
    /// Where words may be drawn; nil takes none.
    package var canvas: SubtitleCanvas?
    private let clock: ManualClock
    package var refresh: RefreshMode
    package var latency = OutputLatency(startLead: .zero)
    package var presentCost: Duration = .zero
    /// Time that passes during `prepare` and `present`.
    package var preparing: Duration = .zero
    package var presenting: Duration = .zero
    package private(set) var shown: [Shown] = []
    private var waiting: Int?
    private var waitingOverlay: Overlay?

    package init(clock: ManualClock, refresh: RefreshMode = .unpaced) {
        self.clock = clock
        self.refresh = refresh
    }

    package func prepare(_ picture: any Picture, under overlay: Overlay?) {
        clock.advance(by: preparing)
        waiting = (picture as? NumberedPicture)?.number
        waitingOverlay = overlay
    }

    package func canvas(for picture: any Picture) -> SubtitleCanvas? { canvas }

    package func present() -> HostInstant {
        clock.advance(by: presenting)
        var visible = clock.now
        if case .fixed(let period, let phase) = refresh {
            // Becomes light at the next flip, as a real screen does.
            let periodNs = period.wholeNanoseconds
            let since = visible.nanoseconds - phase.nanoseconds
            visible = HostInstant(nanoseconds: phase.nanoseconds + (since + periodNs - 1) / periodNs * periodNs)
        }
        if let waiting { shown.append(Shown(number: waiting, at: visible, overlay: waitingOverlay)) }
        return visible
    }
}
