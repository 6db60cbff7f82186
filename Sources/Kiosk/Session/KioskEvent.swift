internal import LocalOutput
package import MediaCore
internal import Playback
internal import SyncRendering

/// Something that the kiosk must act on, from whatever thread noticed it.
enum KioskEvent: Sendable {
    case player(PlayerNews)
    case screen(ScreenInput)
    /// An output fell silent or came back.
    case output(OutputID, isLost: Bool)
    case sound(SoundKeeper.News)
    case found(ItemsWatch.Found)
    case request(KioskRequest)
    case measured(WallSteps.Measured)
    case fleet(FleetCommand, FleetLink.Reply)
    case sleep(SleepInhibitor.News)
    /// Why it cannot be kept where the kiosk is; nil once it can again.
    case places(String?)
    /// For a person to read.
    case remark(LogLevel, String)
}

/// What somebody wants of a kiosk that runs.
package enum KioskRequest: Sendable {
    /// End, and say so with this status.
    case end(status: Int32)
    /// Read the configuration again.
    case reload
}

/// How a kiosk came to its end.
package enum KioskEnd: Sendable, Equatable {
    /// The list was played to its end, or the window was closed.
    case done
    /// Somebody asked for it.
    case asked(status: Int32)
    /// Nothing that it could do itself helped: whoever supervises it starts it anew.
    case needsRestart(String)
    /// A film could not be played, and the configuration says that this ends it.
    case broken(TalkieError)
}
