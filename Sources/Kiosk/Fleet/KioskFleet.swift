internal import MediaCore
internal import Playback
internal import Storage

/// Remote control and monitoring of a kiosk over MQTT: its connection, the log of commands, and screenshots. Used on
/// the kiosk's thread only.
final class KioskFleet {
    private let messages: KioskMessages
    private let screenshots: ScreenshotQueue
    /// Nil without `[fleet]`.
    private var link: FleetLink?
    private var log = CommandLog()

    /// - Parameter screenshot: Captures the screen as a PNG; nil without an image.
    init(screenshot: @escaping @Sendable () async -> [UInt8]?, messages: KioskMessages) {
        self.messages = messages
        screenshots = ScreenshotQueue(.standard(), screenshot: screenshot)
    }

    /// Connects to the broker, whose commands `control` performs.
    func join(_ settings: KioskConfiguration.Fleet, _ control: PlayerControl, _ mailbox: Mailbox<KioskEvent>) {
        do throws(TalkieError) {
            let link = try FleetLink(
                settings, table: control.table, report: { mailbox.post(.remark(.warning, $0)) },
                handle: { control.perform($0.request, reply: $1) })
            do throws(ExhaustionError) { try link.start() } catch { throw TalkieError(error) }
            self.link = link
        } catch {
            // Films are shown even without the broker.
            messages.say(.error, error.message, KioskNote(.fault))
        }
    }

    func stop() { link?.stop() }

    /// Publishes the state; it is not evaluated without a broker.
    func publish(_ state: @autoclosure () -> KioskStateMessage) { link?.publish(state()) }

    /// Logs a command, up to the limit of `CommandLog`.
    func logCommand(_ request: ControlRequest, at now: HostInstant) {
        if let line = log.line(for: request.logText, at: now) { messages.say(.info, line) }
    }

    /// Takes a screenshot; `reply` receives its path. Returns at once.
    func captureScreenshot(_ reply: @escaping ControlReply) { screenshots.request(reply) }
}
