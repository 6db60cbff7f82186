internal import CPrivileges
internal import MediaCore
internal import PTP
internal import Sockets

/// What this process may do that others may not. A player holds nothing of the kind: it loads what the environment and the
/// home folder name (docs/decisions/0015-privileges.md).
package enum Privileges {
    /// Takes the service manager's sockets over. Once, at the beginning, while there is one thread.
    ///
    /// - Returns: what a person should know, as sentences without their full stops.
    package static func settle() -> [String] {
        let handed = ServiceDescriptors.take()
        let objections = (handed.objection.map { [$0] } ?? []) + HandedPorts.ofProcess.take(handed.items)
        let refused = objections.map { "what the service manager handed over is not taken: \($0)" }
        let notice = notice(ofGivenUp: givenUp, file: file, hasSome: fileHasSome)
        return [notice].compactMap { $0 } + refused
    }

    /// What was given up before `main`, and what takes its place; nil when there was nothing.
    ///
    /// - Parameters:
    ///   - capabilities: one bit each, as the kernel numbers them.
    ///   - hasSome: they are its file's.
    static func notice(ofGivenUp capabilities: UInt64, file: String, hasSome: Bool) -> String? {
        guard capabilities != 0 else { return nil }
        return
            "gave up the capabilities that it was started with (\(names(of: capabilities))), because every library that it "
            + "loads would have them; \(remedy(of: file, hasSome: hasSome)), and `talkie doctor` says what takes their place"
    }

    /// How to start it without.
    static func remedy(of file: String, hasSome: Bool) -> String {
        hasSome
            ? "`sudo setcap -r \(ShellWord.quoted(file))` takes them off its file"
            : "leave AmbientCapabilities= out of its service"
    }

    /// Those that were usual for Talkie by name, others by number (linux/capability.h).
    static func names(of capabilities: UInt64) -> String {
        let usual = [10: "cap_net_bind_service", 23: "cap_sys_nice"]
        let held = (0..<64).filter { capabilities >> UInt64($0) & 1 == 1 }
        guard held.count <= 8 else { return "\(held.count) of them" }
        return held.map { usual[$0] ?? "number \($0)" }.joined(separator: ", ")
    }

    /// Bits of those that this process gave up.
    static var givenUp: UInt64 { cpriv_given_up() }

    static var file: String { ProgramFile.path ?? "talkie" }

    /// Whether the program's file has capabilities, for whoever starts it (capabilities(7), "File capabilities").
    static var fileHasSome: Bool { cpriv_file_has_capabilities(file) != 0 }
}
