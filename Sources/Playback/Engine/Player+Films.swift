internal import MediaCodecs
internal import MediaCore
package import MediaFiles
package import SyncRendering

extension Player.Parts {
    /// The real parts: files and networks through libavformat, decoding through libavcodec. Who draws subtitles is the screen's
    /// matter: `subtitles.makeDrawing` makes nobody so far.
    package static func film(
        audioOutput: (any AudioOutput)?, reading options: ReadOptions = ReadOptions()
    ) -> Player.Parts {
        let deinterlacing = DeinterlacingSwitch()
        var parts = Player.Parts(
            open: { (address, cancellation) throws(MediaError) in
                let reading = Cancellation()
                cancellation.onCancel { reading.cancel() }
                return try MediaFile.open(address, options: options, cancellation: reading)
            },
            codecs: FilmAudioCodecs(),
            makeDecoder: { (format) throws(MediaError) in
                try FilmPictureDecoder(format: format, deinterlacing: deinterlacing)
            },
            audioOutput: audioOutput,
            subtitles: Player.SubtitleParts(codecs: FilmSubtitleCodecs(), makeDrawing: { nil }))
        parts.deinterlacing = deinterlacing
        return parts
    }
}
