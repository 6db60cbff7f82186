internal import MediaCore

/// Remembers what a person was told about the pictures of a film, so that they are told once.
struct NotedPicture {
    private var transfer: UInt8?
    private var undrawable: PixelSize?

    /// What is worth saying about this picture and was not said about the one before.
    ///
    /// - Parameter isMapped: its tones are brought to what a screen can show.
    mutating func news(of picture: any Picture, isMapped: Bool) -> [ScreenInput] {
        guard transfer != picture.color.transfer else { return [] }
        transfer = picture.color.transfer
        guard picture.color.isHighDynamicRange, !isMapped else { return [] }
        let kind = picture.color.transfer == 16 ? "PQ" : "HLG"
        return [
            .notice(
                "this film is in HDR (\(kind)); it is shown without tone mapping, so its colours may look flat or grey")
        ]
    }

    mutating func cannotDraw(_ picture: any Picture) -> ScreenInput? {
        guard undrawable != picture.size else { return nil }
        undrawable = picture.size
        return .notice(
            "pictures of \(picture.size.width)x\(picture.size.height) in this film's pixel format cannot be drawn; "
                + "the sound goes on")
    }
}
