internal import ArgumentParser
internal import Playback
internal import SyncRendering
internal import TalkieApp

/// Options for the window and the video.
struct VideoOptions: ParsableArguments {
    @Flag(
        name: [.customLong("fs"), .customLong("fullscreen"), .customLong("fs", withSingleDash: true)],
        help: "Start in full screen.")
    var isFullScreen = false

    @Option(
        help: ArgumentHelp("Screen to play on; 0 is the first.", valueName: "N|NAME"),
        transform: { try ScreenChoice(parsing: $0) })
    var screen: ScreenChoice?

    @Option(
        help: ArgumentHelp("Size of the window in pixels.", valueName: "WxH"),
        transform: { try WindowSize(parsing: $0) })
    var size: WindowSize?

    @Option(
        help: ArgumentHelp(
            "Deinterlace to one frame per field: frames marked as interlaced, all, or none.",
            valueName: "auto|yes|no"),
        transform: valueChoice("--deinterlace must be auto, yes or no"))
    var deinterlace: Deinterlacing = .auto

    @Option(
        help: ArgumentHelp(
            "Video output: the graphics processor if there is one, through libplacebo or SDL, or the CPU (x11).",
            valueName: "auto|gpu-next|sdl|x11"),
        completion: .list(VideoOutputChoice.allCases.map(\.rawValue)),
        transform: valueChoice("--vo must be auto, gpu-next, sdl or x11"))
    var vo: VideoOutputChoice = .auto

    @Option(
        help: ArgumentHelp(
            "Hardware decoding: never, if available, or through VA-API; everything else is decoded by the CPU.",
            valueName: "no|auto|vaapi"),
        completion: .list(HardwareDecodingOption.allCases.map(\.rawValue)),
        transform: valueChoice("--hwdec must be no, auto or vaapi"))
    var hwdec: HardwareDecodingOption = .no

    @Option(
        help: ArgumentHelp(
            "Tone mapping of HDR films; auto is bt.2390.", valueName: "CURVE"),
        completion: .list(VideoRenderingOptions.ToneMapping.allCases.map(\.rawValue)),
        transform: valueChoice(
            "the tone mapping must be one of "
                + VideoRenderingOptions.ToneMapping.allCases.map(\.rawValue).joined(separator: ", ")))
    var toneMapping: VideoRenderingOptions.ToneMapping = .auto

    @Option(
        help: ArgumentHelp(
            "Peak luminance of the screen in cd/m², for HDR films; auto is 203.", valueName: "auto|10-10000"),
        transform: { try VideoRenderingOptions.targetPeak(parsing: $0) })
    var targetPeak: Double?

    @Option(
        help: ArgumentHelp("Scaler for enlarging: bilinear, lanczos, spline36 and others.", valueName: "FILTER"),
        completion: .list(VideoRenderingOptions.Scaler.allCases.map(\.rawValue)),
        transform: valueChoice(
            "the scaler must be one of " + VideoRenderingOptions.Scaler.allCases.map(\.rawValue).joined(separator: ", ")
        ))
    var scale: VideoRenderingOptions.Scaler?

    // Unconditional: "-1" is an aspect ratio, not an option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Aspect ratio: 16:9, 2.35, -1 for the film's own, no for square pixels.", valueName: "W:H"),
        transform: { try VideoGeometry.Aspect(parsing: $0) })
    var videoAspectOverride: VideoGeometry.Aspect?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Zoom as a power of 2: 1 doubles the size, -1 halves it.", valueName: "N"),
        transform: { try VideoGeometry.zoom(parsing: $0) })
    var videoZoom: Double = 0

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Move the picture to the right by this part of its width.", valueName: "N"),
        transform: { try VideoGeometry.pan(parsing: $0) })
    var videoPanX: Double = 0

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Move the picture down by this part of its height.", valueName: "N"),
        transform: { try VideoGeometry.pan(parsing: $0) })
    var videoPanY: Double = 0

    @Option(
        help: ArgumentHelp("Crop edges to fill the window: 0 not at all, 1 completely.", valueName: "0-1"),
        transform: { try VideoGeometry.panscan(parsing: $0) })
    var panscan: Double = 0

    @Option(
        help: ArgumentHelp(
            "Rotate the picture clockwise, in addition to the film's own rotation; no: show it as stored.",
            valueName: "0|90|180|270|no"),
        transform: { try VideoGeometry.rotation(parsing: $0) })
    var videoRotate: Int = 0

    func apply(to arguments: inout PlayArguments) {
        arguments.isFullScreen = isFullScreen
        arguments.screen = screen
        arguments.windowSize = size
        arguments.videoOutput = vo
        arguments.options.deinterlacing = deinterlace
        arguments.options.hardwareDecoding = hwdec.decoding
        arguments.options.drawing.toneMapping = toneMapping
        arguments.options.drawing.targetPeak = targetPeak.flatMap { $0 > 0 ? $0 : nil }
        arguments.options.drawing.scaler = scale
        var view = VideoGeometry()
        view.aspect = videoAspectOverride ?? .film
        (view.zoom, view.panX, view.panY, view.panscan) = (videoZoom, videoPanX, videoPanY, panscan)
        view.rotation = videoRotate < 0 ? nil : videoRotate
        arguments.view = view
    }

    /// The values of mpv's option. Those with "copy" copy frames to system memory, which the others do here as well.
    enum HardwareDecodingOption: String, CaseIterable {
        case no = "no"
        case auto = "auto"
        case autoCopy = "auto-copy"
        case vaapi = "vaapi"
        case vaapiCopy = "vaapi-copy"

        var decoding: HardwareDecoding {
            switch self {
            case .no: .no
            case .auto, .autoCopy: .auto
            case .vaapi, .vaapiCopy: .vaapi
            }
        }
    }
}
