internal import MediaCore

extension LatencyProfile {
    /// A paragraph for the terminal.
    package var text: String {
        var lines = ["\(speakerName)  \(key.speaker)  \(key.route)"]
        if key.isOfUnknownSink {
            lines.append("    stored under an ALSA card name, which does not identify the sink: not applied")
        }
        if !key.screen.isEmpty || !key.mode.isEmpty { lines.append("    with \(key.screen), \(key.mode)") }
        if let offset {
            lines.append(
                "    sound \(Decimals.signed(offset, 2)) ms relative to picture, ± \(Decimals.text(halfWidth, 2)) ms (95 %), "
                    + "standard deviation \(Decimals.text(sigma, 2)) ms, \(events) events, by \(way)")
        }
        if let room {
            lines.append("    \(Decimals.signed(room.behindFirst, 2)) ms after the first speaker of run \(room.run)")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
