internal import LocalOutput
internal import MediaCore
internal import Playback
internal import Routing
internal import SyncRendering

/// Something that the session must act on, from whatever thread noticed it.
enum SessionEvent: Sendable {
    case player(PlayerNews)
    case screen(ScreenInput)
    /// A key pressed in the terminal.
    case terminalKey(String)
    case request(SignalWatch.Request)
    /// An output fell silent or came back.
    case output(OutputID, isLost: Bool)
    /// A sound card plays on another device than before, or on its own again.
    case outputMoved(OutputID)
    /// A card is heard at another sink of the sound server, or it has become known at which.
    case sinkChanged
    /// A speaker has lost the clock, or has it again, or its clock is doubted.
    case clock(OutputID, SpeakerClockState)
    /// Where the sound goes, or could go.
    case route(RouteController.News)
    /// A page turned out to be a list: what is behind its first film.
    case listed(page: String, [PlaylistLoader.Item])
    /// For a person to read.
    case remark(LogLevel, String)
    /// For a person to read, on the picture too.
    case done(String)
}

/// Events on their way to the session's thread. What comes while a thousand wait is a key held down, and is dropped.
typealias SessionMailbox = Mailbox<SessionEvent>

extension Mailbox where Event == SessionEvent {
    convenience init() {
        self.init { event in
            switch event {
            case .terminalKey, .screen(.key): true
            default: false
            }
        }
    }
}
