package import MediaCore
internal import Playback
internal import Remote
internal import ScreenOutput
internal import SyncRendering

/// An event for the kiosk's thread, posted by any thread.
enum KioskEvent: Sendable {
    case player(PlayerEvent)
    case screen(ScreenInput)
    /// An output was lost or has recovered.
    case output(OutputID, isLost: Bool)
    case route(KioskRouteSupervisor.Event)
    case calibration(KioskCalibration.Event)
    case found(ItemsWatch.Found)
    case request(KioskRequest)
    case measured(KioskWall.Measured)
    /// A command of `ControlTable.kiosk`.
    case command(ControlRequest, ControlReply)
    case sleep(SleepInhibitor.Event)
    /// The failure that prevents writing the state; nil once writing succeeds again.
    case stateFailure(String?)
    /// A text for the log.
    case remark(LogLevel, String)
}

/// A request from outside to a running kiosk.
package enum KioskRequest: Sendable {
    /// Ends the kiosk with this exit status.
    case end(status: Int32)
    /// Reads the configuration again.
    case reload
}

/// The reason why a kiosk ended.
package enum KioskEnd: Sendable, Equatable {
    /// The playlist has ended, or the window was closed.
    case done
    /// Requested, with this exit status.
    case asked(status: Int32)
    /// No repair helped; the supervisor must restart the program.
    case needsRestart(String)
    /// An item cannot be played, and `on_broken_item` is "stop".
    case broken(TalkieError)
}
