package import MediaCore
package import SyncRendering

/// A video frame that carries a number.
package final class NumberedFrame: VideoFrame {
    /// The number.
    package let number: Int
    package let size: PixelSize
    package let pixelFormat = PixelFormat.other
    package let pixelAspect = Ratio.one
    package let rotation = 0
    package let color = ColorDescription()
    package let bitDepth = 8
    package init(_ number: Int, size: PixelSize = PixelSize(width: 16, height: 16)) {
        (self.number, self.size) = (number, size)
    }
    package func withPlanes<Result>(_ body: (VideoFramePlanes) -> Result) -> Result {
        body(VideoFramePlanes(bases: (nil, nil, nil, nil), strides: (0, 0, 0, 0)))
    }
    /// Returns frame `number` of a film with the given frame duration.
    package static func buffer(_ number: Int, every frame: MediaTime) -> SampleBuffer {
        SampleBuffer(
            payload: .videoFrame(NumberedFrame(number)), presentationTime: frame * Int64(number), duration: frame)
    }
}

/// A display in virtual time that records what was shown when. Used by one thread of a test.
package final class VirtualScreen: VideoOutput {
    /// A presented frame.
    package struct Shown: Sendable {
        /// The number of the frame.
        package var number: Int
        /// When it became visible.
        package var at: HostInstant
        /// The overlay above it.
        package var overlay: Overlay?
    }
    /// The area for subtitles; nil: none.
    package var canvas: SubtitleCanvas?
    private let clock: ManualClock
    package var refresh: RefreshMode
    package var latency = OutputLatency(startLead: .zero)
    package var presentCost: Duration = .zero
    /// Virtual time consumed by `prepare`.
    package var preparing: Duration = .zero
    /// Virtual time consumed by `present`.
    package var presenting: Duration = .zero
    /// Whether frames can be drawn.
    package var canPresent = true
    /// All presented frames.
    package private(set) var shown: [Shown] = []
    private var waiting: Int?
    private var waitingOverlay: Overlay?

    package init(clock: ManualClock, refresh: RefreshMode = .unpaced) {
        self.clock = clock
        self.refresh = refresh
    }

    package func prepare(_ picture: any VideoFrame, under overlay: Overlay?) {
        clock.advance(by: preparing)
        waiting = (picture as? NumberedFrame)?.number
        waitingOverlay = overlay
    }

    package func canvas(for picture: any VideoFrame) -> SubtitleCanvas? { canvas }

    package func present() -> HostInstant {
        clock.advance(by: presenting)
        var visible = clock.now
        if case .fixed(let period, let phase) = refresh {
            // Visible at the next flip, as on a real display.
            let periodNs = period.wholeNanoseconds
            let since = visible.nanoseconds - phase.nanoseconds
            visible = HostInstant(nanoseconds: phase.nanoseconds + (since + periodNs - 1) / periodNs * periodNs)
        }
        if let waiting, canPresent { shown.append(Shown(number: waiting, at: visible, overlay: waitingOverlay)) }
        return visible
    }
}
