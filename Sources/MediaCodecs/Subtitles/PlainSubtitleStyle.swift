/// The styles of unstyled text, as in mpv.
enum PlainSubtitleStyle {
    /// libavcodec's coordinates (`{\pos}` of MicroDVD, closed captions) are on a plane of this size.
    ///
    /// ASS_DEFAULT_PLAYRESX and ASS_DEFAULT_PLAYRESY in libavcodec/ass.h. mpv's style has the same height
    /// (MP_ASS_FONT_PLAYRESY in sub/ass_mp.h).
    static let width = 384
    static let height = 288

    /// mpv's sizes are for 720 lines of the window (its manual, `--sub-font-size`).
    private static func scaled(_ pixels: Double) -> Double { pixels * Double(height) / 720 }

    /// The defaults of mpv 0.35 (`mpv --list-options`): `sub-font=sans-serif`, `sub-font-size=55`,
    /// `sub-border-size=3`, `sub-shadow-offset=0`, `sub-margin-x=25`, `sub-margin-y=22`, white on black, bottom
    /// centre. Later versions differ.
    static let header = header(alignment: 2)
    /// The same at the top, for mpv's secondary subtitles.
    static let topHeader = header(alignment: 8)

    private static func header(alignment: Int) -> [UInt8] {
        let size = scaled(55)
        let edge = scaled(3)
        // Margins are integers; mpv truncates them too.
        let (side, bottom) = (Int(scaled(25)), Int(scaled(22)))
        let text = """
            [Script Info]
            ScriptType: v4.00+
            PlayResX: \(width)
            PlayResY: \(height)
            ScaledBorderAndShadow: yes
            WrapStyle: 0

            [V4+ Styles]
            Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
            Style: Default,sans-serif,\(size),&H00FFFFFF,&H00FFFFFF,&H00000000,&H00000000,0,0,0,0,100,100,0,0,1,\(edge),0,\(alignment),\(side),\(side),\(bottom),1

            [Events]
            Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

            """
        return Array(text.utf8)
    }
}
