internal import MediaCodecs
internal import MediaCore
internal import MediaFiles
package import SyncRendering

extension Player.Components {
    /// Returns the default components: media through libavformat, decoding through libavcodec. Subtitles are drawn by
    /// the screen: `subtitles.makeDrawing` returns nil initially.
    package static func film(
        audioOutput: (any AudioDestination)?, options: PlayerOptions = PlayerOptions()
    ) -> Player.Components {
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
                let image = try ImageFile.open(
                    address, showingFor: imageDuration.withLock { $0 }, cancellation: reading)
            {
                return image
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
        var components = Player.Components(
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
            subtitles: Player.SubtitleComponents(codecs: FilmSubtitleCodecs(), makeDrawing: { nil }),
            remark: { film in
                let beside = film as? FilmWithSubtitles
                let warnings =
                    (beside?.warnings ?? [])
                    + (((beside?.film ?? film) as? RecordingWithCovers)?.warnings ?? [])
                return warnings.first.map { Sentences.joined($0) }
            })
        components.openListed = { (address, cancellation) throws(MediaError) in
            try open(address, isListed: true, cancellation)
        }
        components.openInterstitial = { (address, film, cancellation) throws(MediaError) in
            let reading = Cancellation()
            cancellation.onCancel { reading.cancel() }
            return try MediaFile.open(
                address, options: AssetList.options(options.reading, for: address, of: film), cancellation: reading)
        }
        components.listInterstitial = { (address, film, cancellation) throws(MediaError) in
            let reading = Cancellation()
            cancellation.onCancel { reading.cancel() }
            return try AssetList.read(address, of: film, options: options.reading, cancellation: reading)
        }
        // ignored: an item without an image is displayed without it.
        components.encodeArtwork = { try? JPEGEncoder.encode($0, maxSide: ArtworkFinder.maxSide) }
        components.subtitles?.secondaryCodecs = FilmSubtitleCodecs(position: .top)
        components.deinterlacing = deinterlacing
        components.toneMapping = toneMapping
        components.decoders = decoders
        components.imageDuration = imageDuration
        return components
    }
}
