internal import Glibc

/// The descriptors that a service manager passed to this process (sd_listen_fds(3)). They are consecutive, starting at
/// 3.
package struct ServiceDescriptors: Equatable, Sendable {
    /// A descriptor and its name in the unit.
    package struct Item: Equatable, Sendable {
        package let descriptor: Int32
        /// Empty if there is none.
        package let name: String

        package init(descriptor: Int32, name: String) {
            self.descriptor = descriptor
            self.name = name
        }
    }

    /// SD_LISTEN_FDS_START in sd_listen_fds(3).
    private static let first: Int32 = 3
    /// Maximum number of descriptors; no unit lists more.
    private static let maxDescriptors = 64
    private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"]

    package var items: [Item] = []
    /// A sentence about variables that cannot be parsed; nil without errors.
    package var objection: String?

    /// Reads and removes the variables of this process, so that child processes do not use them. Sets close-on-exec. To
    /// be called once, before other threads start, because the environment has no lock.
    package static func readFromEnvironment() -> ServiceDescriptors {
        var found: [String: String] = [:]
        for name in variables {
            found[name] = getenv(name).map { String(cString: $0) }
            unsetenv(name)
        }
        let taken = ServiceDescriptors(environment: found, process: getpid())
        for item in taken.items { _ = fcntl(item.descriptor, F_SETFD, FD_CLOEXEC) }
        return taken
    }

    /// Parses the variables.
    ///
    /// - Parameter process: the required owner. Another one means that only the environment was inherited; the
    ///   variables are ignored.
    package init(environment: [String: String], process: Int32) {
        guard let owner = environment["LISTEN_PID"], owner == String(process),
            let text = environment["LISTEN_FDS"]
        else { return }
        guard let count = Int(text), (0...Self.maxDescriptors).contains(count) else {
            objection = "LISTEN_FDS is '\(text)', which is not a number up to \(Self.maxDescriptors)"
            return
        }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        items = (0..<count).map {
            Item(descriptor: Self.first + Int32($0), name: $0 < names.count ? String(names[$0]) : "")
        }
    }
}
