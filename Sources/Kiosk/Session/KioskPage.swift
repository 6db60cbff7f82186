internal import MediaCore
internal import Playback
internal import Remote
internal import Sockets
internal import Storage

/// The page for a phone of a kiosk.
enum KioskPage {
    /// Starts the server. Returns nil if the page cannot be served; the kiosk continues.
    ///
    /// - Parameter report: Receives the link, or the reason.
    static func start(
        _ settings: KioskConfiguration.Page, _ control: PlayerControl,
        screenshot: @escaping HTTPScreenshots.Capture, report: @escaping @Sendable (LogLevel, String) -> Void
    ) throws(ExhaustionError) -> RemotePage? {
        let link: RemotePageLink
        do throws(TalkieError) {
            let token = try settings.tokenFile.map { (file) throws(TalkieError) in try Self.token(file) }
            do throws(SocketError) {
                link = try RemotePageLink(at: settings.address, token: token ?? AccessToken())
            } catch { throw TalkieError(.failed, error.message) }
        } catch {
            report(.warning, "there is no page for remote control at \(settings.address): \(error.message)")
            return nil
        }
        let page = try link.serve(control, screenshot: screenshot) { report(.warning, $0) }
        report(.info, "remote control: \(link.text)")
        return page
    }

    /// Reads a token.
    static func token(_ file: String) throws(TalkieError) -> AccessToken {
        guard let token = AccessToken(try SecretFile.read(file)) else {
            throw TalkieError(
                .invalidArgument,
                "the first line of '\(file)' must have 16 to 22 letters, digits, - and _; make one with"
                    + " 'openssl rand -hex 10'")
        }
        return token
    }
}

extension ControlTable {
    /// Returns what a page can display and command: the properties of the player, `health`, and of a fleet's commands
    /// those of playback.
    static func kiosk(
        health: @escaping @Sendable () -> KioskHealth, _ mailbox: Mailbox<KioskEvent>
    ) -> ControlTable {
        let perform: @Sendable (FleetCommand.Action, @escaping ControlReply) -> Void = { action, reply in
            mailbox.post(
                .fleet(FleetCommand(id: "page", action: action)) { isDone, words in
                    let refusal = ControlError(.unavailable, words ?? "the kiosk refuses the command")
                    reply(isDone ? .success(.null) : .failure(refusal))
                })
        }
        // Never called: the command `set` posts to the kiosk.
        let write: ControlProperty.Write = { _, _ in }
        var table = ControlTable()
        for property in ControlTable.player.properties.values {
            table.add(property.writing(["pause", "volume"].contains(property.name) ? write : nil))
        }
        table.add(
            .text("health", "what the kiosk does, and its faults") { _ in
                String(MetricsText.healthz(health(), at: .now).text.dropLast())
            })
        table.add(
            ControlCommand("playlist-next", [], "plays the next film", perform: { perform(.next, $1) }))
        table.add(
            ControlCommand("playlist-prev", [], "plays the previous film", perform: { perform(.previous, $1) }))
        let parameters = [ControlCommand.Parameter("property", .property), ControlCommand.Parameter("value", .value)]
        table.add(
            ControlCommand(
                "set", parameters, "sets `pause` or `volume`",
                perform: { request, reply in
                    let value = request.arguments[1]
                    if request.property?.name == "pause" {
                        perform(value?.flag == true ? .pause : .play, reply)
                    } else {
                        perform(.volume(value?.number ?? 0), reply)
                    }
                }))
        return table
    }
}
