internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import SyncRendering

/// An event for the session, posted from any thread.
enum SessionEvent: Sendable {
    case player(PlayerEvent)
    case screen(ScreenInput)
    /// A key pressed in the terminal.
    case terminalKey(String)
    case request(SignalWatch.Request)
    /// A command of the session from another controller.
    case command(ControlRequest, ControlReply)
    /// A controller has chosen these destinations, by identifier.
    case rooms([String])
    /// A command of the user has changed a property.
    case changed(String)
    /// A command of the user was refused, with the reason.
    case refused(String)
    /// The sink of a card has changed or become known.
    case sinkChanged
    /// The state of a speaker's clock has changed.
    case clock(OutputID, SpeakerClockState)
    /// The available or current outputs have changed.
    case route(RouteController.Event)
    /// A page is a playlist: its items after the first one.
    case listed(page: String, [PlaylistLoader.Item])
    /// So many items of a page were inserted.
    case inserted(Int)
    /// The playlist has no item at this distance from the current one.
    case stepRefused(Int)
    /// A message for the user.
    case remark(LogLevel, String)
    /// A message for the user, also displayed over the video.
    case done(String)
}

/// The event queue of the session thread. Key events are dropped while a thousand are queued: a key is held.
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
