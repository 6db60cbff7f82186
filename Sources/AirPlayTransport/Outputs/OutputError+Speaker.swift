package import AirPlayWire
internal import MediaCore
package import SyncRendering

// Conversion of errors and commands of speakers to those of outputs.

extension OutputError {
    /// Converts a session's error, and replaces "The speaker" by its name: sessions only know its address.
    package init(_ error: AirPlayError, of speaker: String) {
        let code: Code
        switch error.code {
        case .busy: code = .busy
        case .pairingRequired, .notAuthentic, .timingUnavailable: code = .notPermitted
        case .unreachable, .timedOut: code = .unavailable
        case .lost, .ended: code = .lost
        default: code = error.status == 403 ? .notPermitted : .failed
        }
        var problem = error.problem
        let subject = "The speaker "
        if problem.hasPrefix(subject), !problem.hasPrefix(subject + "at ") {
            problem = "'\(speaker)' " + problem.dropFirst(subject.count)
        }
        self.init(code, problem, remedy: error.remedy)
    }
}

extension OutputCommand {
    /// The volume step of the buttons: that of mpv's keys 9 and 0.
    private static let volumeStep: Double = 2
    /// The distance of a skip, as that of usual skip buttons.
    private static let skip = MediaTime(value: 10, timescale: 1)

    package init(_ command: RemoteCommand) {
        switch command {
        case .play: self = .play
        case .pause: self = .pause
        case .togglePause: self = .togglePause
        case .stop: self = .stop
        case .next: self = .next
        case .previous: self = .previous
        case .fastForward: self = .seek(by: Self.skip)
        case .rewind: self = .seek(by: .zero - Self.skip)
        case .volumeUp: self = .changeVolume(by: Self.volumeStep)
        case .volumeDown: self = .changeVolume(by: -Self.volumeStep)
        case .toggleMute: self = .toggleMute
        case .volume(let decibels): self = .setVolume(VolumeCurve.volume(decibels: decibels))
        }
    }
}
