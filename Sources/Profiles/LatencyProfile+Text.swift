internal import MediaCore

extension LatencyProfile {
    /// A paragraph for the terminal.
    package var text: String {
        var lines = ["\(speakerName)  \(key.speaker)  \(key.route)"]
        if key.isOfUnknownSink {
            lines.append(
                "    kept under ALSA's name for a card, which does not say where it was heard: applied to nothing; "
                    + "talkie calibrate local measures anew, talkie profile forget \(key.speaker) forgets it")
        }
        if !key.screen.isEmpty || !key.mode.isEmpty { lines.append("    with \(key.screen), \(key.mode)") }
        if let offset {
            lines.append(
                "    sound \(Decimals.signed(offset, 2)) ms against picture, ± \(Decimals.text(halfWidth, 2)) ms (95 %), "
                    + "one event scatters by \(Decimals.text(sigma, 2)) ms, \(events) events, by \(way)")
        }
        if let room {
            lines.append("    \(Decimals.signed(room.behindFirst, 2)) ms behind the first speaker of run \(room.run)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
