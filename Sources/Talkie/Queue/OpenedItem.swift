internal import MediaCore

/// What is known of one playing of an item since it was opened for its sound.
struct OpenedItem: Sendable {
    var serial: Int
    /// As the container says.
    var duration: MediaTime?
    /// What is shown with it: its pictures, else the picture that came along with the recording; nil when it holds neither.
    var pictures: Track?
    /// Where to read them, when the input cannot be opened twice.
    var source: (any SampleSource)?

    /// - Parameter showsPictures: false looks for none.
    init(_ serial: Int, _ media: any MediaSource, showsPictures: Bool) throws(MediaError) {
        self.serial = serial
        duration = media.summary.duration
        guard showsPictures else { return }
        pictures = media.summary.track(.video) ?? media.summary.tracks.first { $0.kind == .video && $0.isCoverArt }
        // Nobody keeps the packets of a track that nobody has asked for.
        if media.summary.sharesReader, let pictures { source = try media.source(for: pictures) }
    }
}
