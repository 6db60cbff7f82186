internal import MediaCodecs
internal import MediaCore
internal import MediaFiles
package import SyncRendering

extension Player.Parts {
    /// Returns the default components: media through libavformat, decoding through libavcodec. Subtitles are drawn by
    /// the screen: `subtitles.makeDrawing` returns nil initially.
    package static func film(
        audioOutput: (any AudioDestination)?, options: PlayerOptions = PlayerOptions()
    ) -> Player.Parts {
        // Subtitles require video.
        let search = options.playsVideo ? options.subtitleSearch : .no
        let named = options.playsVideo ? options.subtitleFiles : []
        let (deinterlacing, toneMapping) = (DeinterlacingSwitch(), ToneMappingSwitch())
        let decoders = DecoderReport()
        let imageDuration = Lock(options.imageDisplayDuration)
        @Sendable func open(
            _ address: String, isListed: Bool, _ cancellation: OpenCancellation
        ) throws(MediaError) -> any MediaSource {
            let reading = Cancellation()
            cancellation.onCancel { reading.cancel() }
            if options.playsVideo,
                let picture = try ImageFile.open(
                    address, showingFor: imageDuration.withLock { $0 }, cancellation: reading)
            {
                return picture
            }
            var readOptions = options.reading
            readOptions.opensRegularFilesOnly = isListed
            var film: any MediaSource = try PageFinder(
                options.pages, reading: readOptions, cancellation: reading
            ).open(address)
            if options.playsVideo, options.showsCoverArt {
                film = RecordingWithCovers.recording(
                    film, at: address, options.coverSearch, named: options.coverFiles)
            }
            return FilmWithSubtitles.film(
                film, at: address, search, folders: FilmSubtitles.usualFolders + options.subtitleFolders,
                named: named, options: options.reading, cancellation: reading)
        }
        var parts = Player.Parts(
            open: { (address, cancellation) throws(MediaError) in
                try open(address, isListed: false, cancellation)
            },
            codecs: FilmAudioCodecs(),
            makeDecoder: { (format) throws(MediaError) in
                try FilmVideoDecoder(
                    format: format, deinterlacing: deinterlacing, toneMapping: toneMapping,
                    hardware: options.hardwareDecoding, drawing: options.drawing, report: decoders)
            },
            audioOutput: audioOutput,
            subtitles: Player.SubtitleParts(codecs: FilmSubtitleCodecs(), makeDrawing: { nil }),
            remark: { film in
                let beside = film as? FilmWithSubtitles
                let warnings =
                    (beside?.warnings ?? [])
                    + (((beside?.film ?? film) as? RecordingWithCovers)?.warnings ?? [])
                return warnings.first.map { Sentences.joined($0) }
            })
        parts.openListed = { (address, cancellation) throws(MediaError) in
            try open(address, isListed: true, cancellation)
        }
        parts.openInterstitial = { (address, film, cancellation) throws(MediaError) in
            let reading = Cancellation()
            cancellation.onCancel { reading.cancel() }
            return try MediaFile.open(
                address, options: AssetList.options(options.reading, for: address, of: film), cancellation: reading)
        }
        parts.listInterstitial = { (address, film, cancellation) throws(MediaError) in
            let reading = Cancellation()
            cancellation.onCancel { reading.cancel() }
            return try AssetList.read(address, of: film, options: options.reading, cancellation: reading)
        }
        // ignored: an item without an image is displayed without it.
        parts.encodeArtwork = { try? JPEGEncoder.encode($0, maxSide: ArtworkFinder.maxSide) }
        parts.subtitles?.secondaryCodecs = FilmSubtitleCodecs(position: .top)
        parts.deinterlacing = deinterlacing
        parts.toneMapping = toneMapping
        parts.decoders = decoders
        parts.imageDuration = imageDuration
        return parts
    }
}
