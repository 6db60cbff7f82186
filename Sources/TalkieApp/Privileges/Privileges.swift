internal import CPrivileges
internal import MediaCore
internal import PTP
internal import Sockets

/// The capabilities of this process and the sockets passed to it. A player holds no capabilities, because it loads
/// libraries named by the environment and the home folder (docs/decisions/0015-privileges.md).
package enum Privileges {
    /// Takes over sockets from the service manager. Must be called once at the start, while there is one thread.
    ///
    /// - Returns: Messages for the user, without final full stops.
    package static func adoptSockets() -> [String] {
        let handed = ServiceDescriptors.readFromEnvironment()
        let objections = (handed.objection.map { [$0] } ?? []) + HandedPorts.ofProcess.adopt(handed.items)
        let refused = objections.map { "the service manager's sockets are not used: \($0)" }
        let notice = notice(ofGivenUp: givenUp, file: file, hasSome: fileHasSome)
        return [notice].compactMap { $0 } + refused
    }

    /// Returns a message about the capabilities dropped before `main`, with the remedy; nil if there were none.
    ///
    /// - Parameters:
    ///   - capabilities: One bit each, in the kernel's numbering.
    ///   - hasSome: Whether they come from the program's file.
    static func notice(ofGivenUp capabilities: UInt64, file: String, hasSome: Bool) -> String? {
        guard capabilities != 0 else { return nil }
        return
            "dropped the capabilities that it was started with (\(names(of: capabilities))), because every library that it "
            + "loads would have them; \(remedy(of: file, hasSome: hasSome)), and `talkie doctor` shows the alternatives"
    }

    /// Returns how to start the program without capabilities.
    static func remedy(of file: String, hasSome: Bool) -> String {
        hasSome
            ? "`sudo setcap -r \(ShellArgument.quoted(file))` removes them from its file"
            : "remove AmbientCapabilities= from its service"
    }

    /// Returns the names of the capabilities Talkie used to need; others by number (linux/capability.h).
    static func names(of capabilities: UInt64) -> String {
        let usual = [10: "cap_net_bind_service", 23: "cap_sys_nice"]
        let held = (0..<64).filter { capabilities >> UInt64($0) & 1 == 1 }
        guard held.count <= 8 else { return "\(held.count) of them" }
        return held.map { usual[$0] ?? "number \($0)" }.joined(separator: ", ")
    }

    /// The capabilities that this process dropped, one bit each.
    static var givenUp: UInt64 { cpriv_given_up() }

    static var file: String { ProgramFile.path ?? "talkie" }

    /// Whether the program's file has capabilities (capabilities(7), "File capabilities").
    static var fileHasSome: Bool { cpriv_file_has_capabilities(file) != 0 }
}
