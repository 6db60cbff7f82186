internal import Glibc
package import MediaCore
package import ScreenOutput
internal import Storage
package import SyncRendering
internal import Telemetry

extension KioskConfiguration {
    /// Returns warnings about configured files and devices that are missing at present, each with its line. The kiosk
    /// starts nevertheless and waits for them. Blocks on the disk.
    ///
    /// - Parameters:
    ///   - file: The configuration's name for messages.
    ///   - displays: The connected displays, or the reason why there are none.
    package func machineWarnings(
        file: String, displays: Result<[ConnectedDisplay], OutputError>
    ) -> [ConfigMistake] {
        var warnings: [ConfigMistake] = []
        func warn(_ path: String, _ sentence: String) {
            warnings.append(ConfigMistake(file, line: lines.line(path), sentence))
        }
        check(settings, in: "", warn)
        // A part without a playlist inherits the outer one, which is already checked.
        for part in periods where part.settings.playlist != settings.playlist {
            check(part.settings, in: "day_parts.\(part.name).", warn)
        }
        if let slate, let objection = InputCheck.objection(to: slate, what: .file) { warn("slate", objection.message) }
        for (index, span) in quietHours.enumerated() where span.from == span.to {
            let path = lines.line("quiet_hours[\(index)]") > 0 ? "quiet_hours[\(index)]" : "quiet_hours"
            warn(path, "quiet_hours: \(span.text) is the whole day: screen and sound are never on")
        }
        if let file = fleet?.passwordFile {
            do throws(TalkieError) { _ = try SecretFile.read(file) } catch {
                warn("fleet.password_file", error.message)
            }
        }
        if let file = remote?.tokenFile {
            do throws(TalkieError) { _ = try KioskConfiguration.Page.token(file) } catch {
                warn("remote.token_file", error.message)
            }
        }
        if let file = fleet?.authorities, let objection = InputCheck.objection(to: file, what: .file) {
            warn("fleet.ca_file", objection.message)
        }
        if let timeline {
            let folder = timeline.file.lastIndex(of: "/").map { String(timeline.file[..<$0]) } ?? "."
            if access(folder.isEmpty ? "/" : folder, W_OK) != 0 {
                warn("timeline.file", "timeline: '\(folder)' cannot be written (\(SystemCause.text(errno)))")
            }
            if let objection = TimelineFile.objection(to: timeline.file) { warn("timeline.file", objection) }
        }
        checkScreens(displays, warn)
        return warnings
    }

    private func check(_ settings: DaySettings, in table: String, _ warn: (String, String) -> Void) {
        for (index, word) in settings.playlist.enumerated() where !InputCheck.isAddress(word) {
            guard let failure = ItemsWatch.findItems(for: [word], search: 0).found.failure else { continue }
            let path = "\(table)playlist[\(index)]"
            warn(lines.line(path) > 0 ? path : "\(table)playlist", failure)
        }
    }

    private func checkScreens(
        _ displays: Result<[ConnectedDisplay], OutputError>, _ warn: (String, String) -> Void
    ) {
        let connected: [ConnectedDisplay]
        switch displays {
        case .success(let found): connected = found
        case .failure(let error): return warn("screen", error.message)
        }
        if let screen, !screen.isAmong(connected) { warn("screen", screen.absence(among: connected)) }
        switch operatorScreen {
        case .chosen(let screen)? where !screen.isAmong(connected):
            warn("operator_screen", screen.absence(among: connected))
        case .other? where connected.count < 2: warn("operator_screen", "no second display is connected at present")
        default: break
        }
    }
}

extension KioskConfiguration.Screen {
    fileprivate func isAmong(_ displays: [ConnectedDisplay]) -> Bool {
        switch self {
        case .number(let index): displays.contains { $0.index == index }
        case .named(let name): displays.contains { $0.name.lowercased().contains(name.lowercased()) }
        }
    }

    fileprivate func absence(among displays: [ConnectedDisplay]) -> String {
        let name =
            switch self {
            case .number(let index): "\(index)"
            case .named(let name): "'\(name)'"
            }
        let known = displays.map { "\($0.index) ('\($0.name)')" }.joined(separator: ", ")
        return "the screen \(name) is not connected; \(known.isEmpty ? "none is" : "connected: \(known)")"
    }
}
