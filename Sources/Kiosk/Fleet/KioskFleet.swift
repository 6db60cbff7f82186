internal import MediaCore
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

    /// Connects to the broker, if there is one; commands are posted to `mailbox`.
    func join(_ settings: KioskConfiguration.Fleet?, _ mailbox: Mailbox<KioskEvent>) {
        guard let settings else { return }
        do throws(TalkieError) {
            let link = try FleetLink(
                settings, tell: { mailbox.post(.remark(.warning, $0)) },
                handle: { mailbox.post(.fleet($0, $1)) })
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
    func logCommand(_ action: FleetCommand.Action, at now: HostInstant) {
        if let line = log.line(for: action.words, at: now) { messages.say(.info, line) }
    }

    /// Takes a screenshot; `reply` receives its path. Returns at once.
    func takeScreenshot(_ reply: @escaping FleetLink.Reply) { screenshots.request(reply) }
}

extension FleetCommand.Action {
    /// The name of the command in the log.
    fileprivate var words: String {
        switch self {
        case .next: "next"
        case .previous: "previous"
        case .pause: "pause"
        case .play: "play"
        case .reload: "reload"
        case .screenshot: "screenshot"
        case .volume(let volume): "volume \(Decimals.text(volume, 0))"
        case .slate: "slate"
        }
    }
}
