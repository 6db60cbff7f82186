internal import Glibc
internal import MediaCore

/// Finds the program that uses a port, as far as this user has access (proc(5)).
package enum PortHolder {
    /// Maximum number of directory entries to examine, per folder.
    private static let maxDescriptors = 65_536

    /// Returns for instance `ptp4l (1234)` for a UDP port; nil if it is unused or the program cannot be determined.
    package static func name(ofUDP port: UInt16) -> String? { name(port, of: "/proc/net/udp", state: nil) }

    /// Returns the same for the program that listens on a TCP port.
    package static func name(ofTCP port: UInt16) -> String? { name(port, of: "/proc/net/tcp", state: listening) }

    /// TCP_LISTEN of the kernel's `net/tcp_states.h`.
    package static let listening = "0A"

    private static func name(_ port: UInt16, of table: String, state: String?) -> String? {
        guard let inode = inode(port, in: lines(of: table), state: state) else { return nil }
        return holder(of: "socket:[\(inode)]")
    }

    /// Returns the inode of the socket on a local port from the kernel's table. The second column ends in the
    /// hexadecimal port, the fourth is the state, the tenth the inode.
    ///
    /// - Parameter state: nil for sockets in any state.
    package static func inode(_ port: UInt16, in table: [String], state: String? = nil) -> String? {
        let digits = String(port, radix: 16, uppercase: true)
        let suffix = ":" + String(repeating: "0", count: 4 - digits.count) + digits
        for line in table.dropFirst() {
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[1].hasSuffix(suffix), columns[9] != "0" else { continue }
            if state.map({ columns[3] == $0 }) ?? true { return String(columns[9]) }
        }
        return nil
    }

    private static func holder(of link: String) -> String? {
        for process in names(in: "/proc") where process.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            for descriptor in names(in: "/proc/\(process)/fd") {
                var buffer = [CChar](repeating: 0, count: 64)
                let count = readlink("/proc/\(process)/fd/\(descriptor)", &buffer, buffer.count)
                guard count > 0 else { continue }
                if String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) == link {
                    return "\(TextFile.firstLine(of: "/proc/\(process)/comm") ?? "a program") (\(process))"
                }
            }
        }
        return nil
    }

    private static func names(in folder: String) -> [String] {
        var names: [String] = []
        FolderEntries.forEachName(in: folder) { name in
            names.append(name)
            return names.count < maxDescriptors
        }
        return names
    }

    private static func lines(of path: String) -> [String] {
        TextFile.contents(path, limit: 4 << 20).split(separator: "\n").map(String.init)
    }
}
