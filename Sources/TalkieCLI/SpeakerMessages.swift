internal import MediaCore
internal import VirtualSpeaker

/// The messages of a software speaker for the user.
enum SpeakerMessages {
    static func printEvent(_ event: SpeakerEvent) {
        guard let text = text(event) else { return }
        StandardStream.output.write(PrintableText.sentence(text) + "\n")
    }

    /// Returns the message of an event; nil for events that are only recorded.
    static func text(_ event: SpeakerEvent) -> String? {
        switch event {
        case .connected(let from): "\(from) connected"
        case .disconnected(let from, let reason): "\(from) disconnected: \(reason)"
        case .stream(let kind, let format, _): "\(kind.rawValue) stream, \(format)"
        case .clock(let locked, _, _): locked ? "the sender's clock is known" : "the sender's clock is lost"
        case .anchor: "playing"
        case .paused: "paused"
        case .volume(let decibels): decibels <= -144 ? "muted" : "volume \(Decimals.text(decibels, 1)) dB"
        case .track(let title, let artist, _, _):
            "the title is \"\(title)\"" + (artist.isEmpty ? "" : " by \(artist)")
        case .underrun: "underrun"
        case .lost(let packets): "\(packets) packets lost"
        case .late(let packets): "\(packets) packets late"
        case .damaged(let reason): reason
        case .notAnnounced(let reason): "not announced by mDNS: \(reason)"
        case .pressed(let command): "the remote command \(command) was sent"
        case .takenOver: "another sender takes over"
        case .tornDown: "the session has ended"
        case .died: "the speaker stopped abruptly"
        case .request, .flushed, .metadata, .progress, .resendRequested: nil
        }
    }
}
