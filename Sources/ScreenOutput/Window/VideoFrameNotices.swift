internal import MediaCore

/// Suppresses repeated notices about the video.
struct VideoFrameNotices {
    private var transfer: UInt8?
    private var undrawable: PixelSize?

    /// Returns the notices about a frame that its predecessor did not cause.
    ///
    /// - Parameter isMapped: Whether HDR is tone-mapped for the display.
    mutating func notices(of frame: any VideoFrame, isMapped: Bool) -> [ScreenInput] {
        guard transfer != frame.color.transfer else { return [] }
        transfer = frame.color.transfer
        guard frame.color.isHighDynamicRange, !isMapped else { return [] }
        let kind = frame.color.transfer == 16 ? "PQ" : "HLG"
        return [
            .notice(
                "this film is in HDR (\(kind)); it is shown without tone mapping, so its colours may look flat or grey")
        ]
    }

    /// Returns a notice for a frame that cannot be drawn; nil if it was issued for this size before.
    mutating func cannotDraw(_ frame: any VideoFrame) -> ScreenInput? {
        guard undrawable != frame.size else { return nil }
        undrawable = frame.size
        return .notice(
            "video frames of \(frame.size.width)x\(frame.size.height) in this film's pixel format cannot be drawn; "
                + "the sound continues")
    }
}
