internal import AirPlay
internal import CardOutput
internal import Glibc
internal import Kiosk
internal import MediaCodecs
package import MediaCore
internal import Routing
internal import ScreenOutput
internal import Storage
internal import SyncRendering
internal import Talkie

/// Runs `talkie kiosk`. Uses the main thread.
package enum KioskProgram {
    /// EX_TEMPFAIL of sysexits.h(3head): requests a restart by the supervisor.
    static let startMeAgain: Int32 = 75
    private static let maxBytes = 1 << 20

    /// Prints all mistakes of a configuration. Without mistakes, prints warnings about missing resources of this
    /// computer.
    ///
    /// - Returns: The exit status: 2 for mistakes, otherwise 0.
    package static func check(_ path: String) throws(TalkieError) -> Int32 {
        let terminal = Terminal()
        guard let configuration = try configuration(path, terminal) else { return ExitStatus.usage }
        for sentence in ConfigMistake.messages(for: configuration.remarks) { terminal.say("talkie: " + sentence) }
        let displays: Result<[ConnectedDisplay], OutputError>
        do throws(OutputError) {
            displays = .success(try ScreenProbe.examine(converter: SoftwareFrameConverter()).displays)
        } catch { displays = .failure(error) }
        let warnings = configuration.machineWarnings(file: path, displays: displays)
        for sentence in ConfigMistake.messages(for: warnings) { terminal.say("talkie: on this computer: " + sentence) }
        let count = warnings.count == 1 ? "one warning" : "\(warnings.count) warnings"
        Terminal(descriptor: 1).say(
            warnings.isEmpty ? "'\(path)' is valid" : "'\(path)' is valid; \(count) about this computer")
        return ExitStatus.done
    }

    /// Runs the kiosk until it ends.
    ///
    /// - Returns: The exit status; errors have been printed.
    /// - Throws: `TalkieError` if it cannot start.
    package static func run(_ path: String, isVerbose: Bool) throws(TalkieError) -> Int32 {
        let terminal = Terminal()
        guard let configuration = try configuration(path, terminal) else { return ExitStatus.usage }
        let manager = ServiceManager.readFromEnvironment()
        let kiosk = Kiosk(configuration, file: path)
        MainQueue.acquire()
        // Called before any other thread is started: all threads inherit the blocked signals.
        let signals = try SignalWatch.begin(reloads: true, beforeExit: { kiosk.closeScreen() }) { request in
            switch request {
            case .end(let status): kiosk.ask(.end(status: status))
            case .reload: kiosk.ask(.reload)
            case .halt: break
            }
        }
        defer { signals.stop() }
        let card = SoundCardProvider()
        let registry = OutputRegistry(card: card, saying: .commands)
        let components = Kiosk.Components(
            registry: registry, home: card.thisComputer,
            reload: { () throws(KioskConfigurationError) in try Self.reading(path) },
            log: KioskLog(maxLevel: isVerbose ? .info : .warning, journal: .ofStandardError()) { _, text in
                terminal.say("talkie: " + PrintableText.sentence(text))
            }, tasks: KioskTasks(registry), manager: manager)
        let (end, isDown) = try kiosk.run(components)
        let status = self.status(of: end, terminal)
        if !isDown { _exit(status) }
        return status
    }

    private static func status(of end: KioskEnd, _ terminal: Terminal) -> Int32 {
        switch end {
        case .done: return ExitStatus.done
        case .asked(let status): return status
        case .needsRestart(let why):
            terminal.say("talkie: " + PrintableText.sentence(why))
            return startMeAgain
        case .broken(let error): return error.exitStatus
        }
    }

    /// Returns the configuration; nil after printing its mistakes.
    private static func configuration(_ path: String, _ terminal: Terminal) throws(TalkieError) -> KioskConfiguration? {
        // An unreadable file has no line numbers and is reported as one error.
        let bytes = try InputBytes.read(path, maxBytes: maxBytes, what: "the configuration")
        do throws(KioskConfigurationError) { return try understanding(bytes, path) } catch {
            for sentence in ConfigMistake.messages(for: error.mistakes) { terminal.say("talkie: " + sentence) }
            return nil
        }
    }

    private static func reading(_ path: String) throws(KioskConfigurationError) -> KioskConfiguration {
        let bytes: [UInt8]
        do throws(TalkieError) {
            bytes = try InputBytes.read(path, maxBytes: maxBytes, what: "the configuration")
        } catch {
            throw KioskConfigurationError(mistakes: [ConfigMistake(path, line: 0, error.message)])
        }
        return try understanding(bytes, path)
    }

    private static func understanding(
        _ bytes: [UInt8], _ path: String
    ) throws(KioskConfigurationError) -> KioskConfiguration {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return try KioskConfiguration(bytes, file: path, folder: folder.isEmpty ? "/" : folder)
    }
}
