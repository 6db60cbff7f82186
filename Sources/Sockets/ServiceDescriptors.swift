internal import Glibc

/// Descriptors that a service manager handed to this process, as it says in the environment (sd_listen_fds(3)): they
/// follow one another from 3 on.
package struct ServiceDescriptors: Equatable, Sendable {
    /// A file descriptor with the name that the service manager calls it by.
    package struct Item: Equatable, Sendable {
        package let descriptor: Int32
        /// Empty when it has none.
        package let name: String

        package init(descriptor: Int32, name: String) {
            self.descriptor = descriptor
            self.name = name
        }
    }

    /// SD_LISTEN_FDS_START of the same page.
    private static let first: Int32 = 3
    /// More than a unit would ever list.
    private static let most = 64
    private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PIDFDID"]

    package var items: [Item] = []
    /// What of it cannot be understood, as a sentence.
    package var objection: String?

    /// Reads the variables of this process and removes them, so that no program it starts takes them for its own; the
    /// descriptors are closed on exec from now on. Once, before there are other threads, because the environment has
    /// no lock.
    package static func take() -> ServiceDescriptors {
        var found: [String: String] = [:]
        for name in variables {
            found[name] = getenv(name).map { String(cString: $0) }
            unsetenv(name)
        }
        let taken = ServiceDescriptors(environment: found, process: getpid())
        for item in taken.items { _ = fcntl(item.descriptor, F_SETFD, FD_CLOEXEC) }
        return taken
    }

    /// - Parameter process: whose they have to be; those of another, which inherited the environment only, are nobody's.
    package init(environment: [String: String], process: Int32) {
        guard let owner = environment["LISTEN_PID"], owner == String(process),
            let text = environment["LISTEN_FDS"]
        else { return }
        guard let count = Int(text), (0...Self.most).contains(count) else {
            objection = "LISTEN_FDS is '\(text)', and not a number up to \(Self.most)"
            return
        }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
        items = (0..<count).map {
            Item(descriptor: Self.first + Int32($0), name: $0 < names.count ? String(names[$0]) : "")
        }
    }
}
