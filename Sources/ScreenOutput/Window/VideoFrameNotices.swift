internal import MediaCore

/// Suppresses repeated notices about the video.
struct VideoFrameNotices {
    private var transfer: UInt8?
    private var undrawable: PixelSize?

    /// Returns the notices about a frame that its predecessor did not cause.
    ///
    /// - Parameter isMapped: Whether HDR is tone-mapped for the display.
    mutating func notices(of picture: any VideoFrame, isMapped: Bool) -> [ScreenInput] {
        guard transfer != picture.color.transfer else { return [] }
        transfer = picture.color.transfer
        guard picture.color.isHighDynamicRange, !isMapped else { return [] }
        let kind = picture.color.transfer == 16 ? "PQ" : "HLG"
        return [
            .notice(
                "this film is in HDR (\(kind)); it is shown without tone mapping, so its colours may look flat or grey")
        ]
    }

    /// Returns a notice for a frame that cannot be drawn; nil if it was issued for this size before.
    mutating func cannotDraw(_ picture: any VideoFrame) -> ScreenInput? {
        guard undrawable != picture.size else { return nil }
        undrawable = picture.size
        return .notice(
            "video frames of \(picture.size.width)x\(picture.size.height) in this film's pixel format cannot be drawn; "
                + "the sound continues")
    }
}
