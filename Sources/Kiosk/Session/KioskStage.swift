internal import CShim
internal import MediaCore
internal import Playback
internal import Routing
internal import ScreenOutput
internal import Telemetry

/// The objects and functions that the parts of a kiosk use.
struct KioskStage: Sendable {
    var player: Player
    /// The window; nil without video.
    var screen: ScreenControl?
    var distributor: EventDistributor
    var registry: OutputRegistry
    var resumePositions: KioskResumePositions
    /// The record of items that were open when earlier processes ended.
    var crashes: CrashRecord
    /// Reads the configuration from its file again.
    var reload: @Sendable () throws(KioskConfigurationError) -> KioskConfiguration
    var log: KioskLog
    /// The service manager, notified of the kiosk's state.
    var manager: ServiceManager
    /// The published health, read by the metrics server's thread.
    var health: Lock<KioskHealth>
    /// Captures the screen as a PNG; nil without an image.
    var screenshot: @Sendable () async -> [UInt8]? = { nil }
    /// Returns the extent of a film, exact to the frame. Blocks.
    var measure: @Sendable (String) throws(MediaError) -> FilmExtent = { (address) throws(MediaError) in
        throw MediaError(.cannotOpen, "the duration of '\(address)' is unknown")
    }
    /// Sets the display duration of image files that are opened or measured later.
    var setImageDuration: @Sendable (Duration) -> Void = { _ in }
    /// Whether the EDID of the named display states overscan. Reads a small file.
    var isOverscanning: @Sendable (String) -> Bool = { DisplayIdentification.isOverscanning($0) }
    /// The clock of schedules.
    var now: @Sendable () -> WallTime = { .now }
    /// The clock of all deadlines. If it does not advance automatically, `start` starts no thread; the caller calls
    /// `turn` and `finish`.
    var clock: any HostClock = MonotonicClock()
    var calendar: any WallCalendar = SystemCalendar()
    /// Runs work that may block, on a thread of this name and priority.
    var run: BackgroundWork = { (name, priority, body) throws(ExhaustionError) in
        _ = try WorkerThread.start(name: name, priority: priority, body)
    }
    /// The work of the program for controllers.
    var tasks = KioskTasks.none
    /// Returns free memory to the system.
    var releaseFreeMemory: @Sendable () -> Void = { cshim_release_free_memory() }
    /// The seed of shuffled playlists.
    var seed: UInt64 = .random(in: 0 ... .max)
}
