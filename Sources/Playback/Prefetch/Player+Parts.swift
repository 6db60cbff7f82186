public import MediaCore
package import Profiles
public import SyncRendering

extension Player {
    /// What subtitles are decoded and drawn with.
    public struct SubtitleParts: Sendable {
        public var codecs: any SubtitleCodecs
        /// What second subtitles are decoded with, which stand at the top; nil shows none.
        public var secondaryCodecs: (any SubtitleCodecs)?
        /// Called on the thread that draws; nil draws nothing.
        public var makeDrawing: @Sendable () -> (any SubtitleDrawing)?

        public init(
            codecs: any SubtitleCodecs, makeDrawing: @escaping @Sendable () -> (any SubtitleDrawing)?
        ) {
            (self.codecs, self.makeDrawing) = (codecs, makeDrawing)
        }
    }

    /// What a player is put together from. Tests put in virtual parts.
    public struct Parts: Sendable {
        /// Opens a film; may block, and gives up when `cancellation` is used.
        public var open:
            @Sendable (_ address: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> any MediaSource
        /// Opens a part of an interstitial of a film, whose address is the second; what is a person's own goes to the film's server only.
        package var openInterstitial:
            @Sendable (_ address: String, _ film: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> any MediaSource
        /// The addresses of the parts that a list names; may block.
        package var listInterstitial:
            @Sendable (_ address: String, _ film: String, _ cancellation: OpenCancellation) throws(MediaError)
                -> [String]
        public var codecs: any AudioCodecs
        public var makeDecoder: @Sendable (VideoFormat) throws(MediaError) -> any PictureDecoder
        /// Where the sound goes; nil plays without sound.
        public var audioOutput: (any AudioOutput)?
        public var clock: any HostClock
        /// Who decodes and draws subtitles; nil shows none.
        public var subtitles: SubtitleParts?
        /// What a person who sees a film should know of it; told once when it begins.
        public var remark: @Sendable (any MediaSource) -> String?
        /// What its decoders ask; the player sets it.
        package var deinterlacing = DeinterlacingSwitch()
        /// What its decoders ask; the screen that shows the player's layer sets it.
        package var toneMapping = ToneMappingSwitch()
        /// For how long a picture file that is opened from now on is shown; nil for ever.
        package var imageDuration = Lock<Duration?>(PlayerOptions().imageDisplayDuration)
        /// Where its decoders say who they are.
        package var decoders = DecoderReport()
        /// Moves the outputs by what was calibrated; nil moves none.
        package var calibration: RouteCalibration?

        public init(
            open: @escaping @Sendable (String, OpenCancellation) throws(MediaError) -> any MediaSource,
            codecs: any AudioCodecs,
            makeDecoder: @escaping @Sendable (VideoFormat) throws(MediaError) -> any PictureDecoder,
            audioOutput: (any AudioOutput)?, subtitles: SubtitleParts? = nil, clock: any HostClock = MonotonicClock(),
            remark: @escaping @Sendable (any MediaSource) -> String? = { _ in nil }
        ) {
            self.open = open
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
