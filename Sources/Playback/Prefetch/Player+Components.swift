public import MediaCore
package import Profiles
public import SyncRendering

extension Player {
    /// The factories for decoding and drawing subtitles.
    public struct SubtitleComponents: Sendable {
        /// The factory of decoders.
        public var codecs: any SubtitleCodecs
        /// The factory of decoders of secondary subtitles, which are shown at the top; nil shows none.
        package var secondaryCodecs: (any SubtitleCodecs)?
        /// Called on the drawing thread; if it returns nil nothing is drawn.
        package var makeDrawing: @Sendable () -> (any SubtitleDrawing)?

        /// Creates a set of factories without secondary subtitles.
        public init(
            codecs: any SubtitleCodecs, makeDrawing: @escaping @Sendable () -> (any SubtitleDrawing)?
        ) {
            (self.codecs, self.makeDrawing) = (codecs, makeDrawing)
        }
    }

    /// The components of a player. Tests substitute virtual ones.
    public struct Components: Sendable {
        /// Opens media; may block until `cancellation` is used.
        public var open:
            @Sendable (_ address: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> any MediaSource
        /// The same for an address that a playlist or another program names: of local files only regular ones are
        /// opened.
        package var openListed:
            @Sendable (_ address: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> any MediaSource
        /// Opens a part of an interstitial of the media with the second address. User-provided credentials are sent to
        /// the media's server only.
        var openInterstitial:
            @Sendable (_ address: String, _ film: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> any MediaSource
        /// Returns the addresses of an interstitial's parts from an asset list; may block.
        var listInterstitial:
            @Sendable (_ address: String, _ film: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> [String]
        /// The factory of audio decoders and encoders.
        public var codecs: any AudioCodecs
        /// Creates a video decoder for a format.
        public var makeDecoder: @Sendable (VideoFormat) throws(MediaError) -> any VideoFrameDecoder
        /// The audio output; nil plays without audio.
        public var audioOutput: (any AudioDestination)?
        /// The clock of the timeline.
        public var clock: any HostClock
        /// The factories for subtitles; nil shows none.
        public var subtitles: SubtitleComponents?
        /// Returns a message for the user about opened media, shown once when it begins; nil if there is none.
        package var remark: @Sendable (any MediaSource) -> String?
        /// Encodes a frame as a JPEG or PNG that outputs display; returns nil if that is not possible.
        package var encodeArtwork: @Sendable (any VideoFrame) -> [UInt8]? = { _ in nil }
        /// Queried by the decoders; set by the player.
        var deinterlacing = DeinterlacingSwitch()
        /// Queried by the decoders; set by the screen that shows the player's layer.
        var toneMapping = ToneMappingSwitch()
        /// How long an image file that is opened from now on is shown; nil: forever.
        package var imageDuration = Lock<Duration?>(PlayerOptions().imageDisplayDuration)
        /// The names of the decoders in use.
        var decoders = DecoderReport()
        /// Applies calibrated delays to the outputs; nil: none.
        package var calibration: RouteCalibration?

        /// Creates the components; interstitials are opened like other media.
        public init(
            open: @escaping @Sendable (String, OpenCancellation) throws(MediaError) -> any MediaSource,
            codecs: any AudioCodecs,
            makeDecoder: @escaping @Sendable (VideoFormat) throws(MediaError) -> any VideoFrameDecoder,
            audioOutput: (any AudioDestination)?, subtitles: SubtitleComponents? = nil,
            clock: any HostClock = MonotonicClock(),
            remark: @escaping @Sendable (any MediaSource) -> String? = { _ in nil }
        ) {
            (self.open, openListed) = (open, open)
            openInterstitial = { (address, _, cancellation) throws(MediaError) in try open(address, cancellation) }
            listInterstitial = { (_, _, _) throws(MediaError) in [] }
            self.codecs = codecs
            self.makeDecoder = makeDecoder
            self.audioOutput = audioOutput
            self.subtitles = subtitles
            self.clock = clock
            self.remark = remark
        }
    }
}
