internal import CFFmpeg
internal import MediaCore

/// Reads the tags of a recording: title, artist, album, genre, track number.
struct TagReading {
    /// The maximum length of a tag in characters; damaged tags have megabytes.
    private static let longest = 200

    var title: String?
    var artist: String?
    var album: String?
    var genre: String?
    /// From 1.
    var trackNumber: Int?

    init(_ context: DemuxContext) {
        // Ogg stores tags with its stream.
        let audio = context.streams.first { $0.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_AUDIO }
        let isRecording = !context.streams.contains {
            $0.pointee.codecpar?.pointee.codec_type == AVMEDIA_TYPE_VIDEO
                && $0.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0
        }
        func tag(_ key: String) -> String? {
            let own = isRecording ? audio.flatMap { DemuxContext.value(of: key, in: $0.pointee.metadata) } : nil
            return (context.metadata(key) ?? own).map { String($0.prefix(Self.longest)) }
        }
        title = tag("title")
        artist = tag("artist") ?? tag("album_artist")
        album = tag("album")
        genre = tag("genre")
        // ID3v2.4, TRCK: the number alone, or "3/12".
        let number = tag("track")?.split(separator: "/").first.flatMap { Int($0) }
        trackNumber = number.flatMap { (1...9999).contains($0) ? $0 : nil }
    }
}
