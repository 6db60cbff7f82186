internal import Glibc
internal import MediaCore
internal import Playback
internal import Remote
internal import Sockets

/// The socket of a running kiosk for programs of its user, of root and of a configured group, with mpv's JSON
/// commands. Its name is that of the configuration without `.toml`.
package enum KioskSocket {
    /// Returns the path of a kiosk's own socket; nil without a folder for it.
    ///
    /// - Parameters:
    ///   - configuration: The path of the configuration.
    ///   - serviceFolder: `RUNTIME_DIRECTORY`, which the service manager sets.
    ///   - sessionFolder: `XDG_RUNTIME_DIR`.
    static func path(
        configuration: String, serviceFolder: String? = value("RUNTIME_DIRECTORY"),
        sessionFolder: String? = value("XDG_RUNTIME_DIR")
    ) -> String? {
        if let folder = serviceFolder?.split(separator: ":").first { return "\(folder)/control" }
        var name = configuration.split(separator: "/").last.map(String.init) ?? ""
        if name.hasSuffix(".toml") { name.removeLast(5) }
        return sessionFolder.map { "\($0)/talkie-kiosk-\(name)" }
    }

    private static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Returns where the socket of a kiosk may be, that of the system's service first.
    package static func paths(of name: String, sessionFolder: String?) -> [String] {
        ["/run/talkie-kiosk/\(name)/control"] + [sessionFolder].compactMap { $0 }.map { "\($0)/talkie-kiosk-\(name)" }
    }

    /// Starts to serve a kiosk's socket; nil if that fails, which is reported.
    ///
    /// - Parameter group: The group that may use it as well, which this process must belong to; nil: none.
    static func serve(
        _ control: PlayerControl, at path: String, group: String? = nil, report: (String) -> Void
    ) throws(ExhaustionError) -> IPCServer? {
        let listener: LocalListener
        do throws(SocketError) { listener = try LocalListener(path: path) } catch {
            report("the kiosk's socket '\(path)' cannot be created (\(error.message)); 'talkie … --kiosk' needs it")
            return nil
        }
        if let group {
            do throws(SocketError) { try listener.admit(group: group) } catch {
                report(
                    "control.group: the group '\(PrintableText.of(group))' cannot use the kiosk's socket:"
                        + " \(error.message)")
            }
        }
        return try IPCServer.start(on: listener, control: control)
    }
}
