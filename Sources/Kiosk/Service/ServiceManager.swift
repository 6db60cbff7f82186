internal import Glibc
package import MediaCore
internal import Sockets

/// Who started this program and wants to know how it is: systemd, or whoever speaks as it does (sd_notify(3)). Any thread.
///
/// Nothing here ever waits or fails: where nobody listens nothing is sent, and a manager that is away for a while is told of the last state when
/// it is back.
package final class ServiceManager: Sendable {
    /// What can be told, by the names of sd_notify(3).
    package enum News: Sendable, Equatable {
        /// The start is over, or the reload: what was to be shown is shown.
        case ready
        /// The configuration is read anew; ends with `ready`.
        case reloading(at: HostInstant)
        case stopping
        /// One line for people (`systemctl status`).
        case status(String)
        /// `WATCHDOG=1`; `Watchdog` knows when.
        case alive
        /// Another process is the service's from now on.
        case mainProcess(Int32)
    }

    /// The variables that are read and removed.
    private static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    private let address: LocalSocketAddress?
    private let socket: LocalDatagramSocket?
    /// What the manager had no ear for yet, the latest of each kind; sent before anything else.
    private let unsent = Lock<[News]>([])
    /// How long the manager waits for a sign of life before it ends this process; nil when it does not.
    package let watchdogTime: Duration?
    /// What of the environment cannot be understood, as a sentence.
    package let objection: String?

    /// Reads the variables of this process and removes them, so that no program it starts speaks in its name. Once, before there are other
    /// threads, because the environment has no lock.
    package static func take() -> ServiceManager {
        var found: [String: String] = [:]
        for name in variables {
            found[name] = getenv(name).map { String(cString: $0) }
            unsetenv(name)
        }
        return ServiceManager(environment: found, process: getpid())
    }

    /// - Parameter process: whose sign of life has to be meant (`WATCHDOG_PID`).
    package init(environment: [String: String], process: Int32) {
        let text = environment["NOTIFY_SOCKET"] ?? ""
        address = LocalSocketAddress(text)
        socket = address == nil ? nil : LocalDatagramSocket()
        var objection: String?
        if address == nil, !text.isEmpty {
            objection =
                "NOTIFY_SOCKET is '\(PrintableText.of(text))', and neither a path nor @name; the service manager hears nothing"
        }
        var time: Duration?
        // sd_watchdog_enabled(3)
        if address != nil, let text = environment["WATCHDOG_USEC"],
            environment["WATCHDOG_PID"] ?? "\(process)" == "\(process)"
        {
            if let microseconds = Int64(text), microseconds > 0, microseconds <= .max / 1000 {
                time = .microseconds(microseconds)
            } else {
                objection =
                    "WATCHDOG_USEC is '\(PrintableText.of(text))', and no number of microseconds; there is no watchdog"
            }
        }
        watchdogTime = time
        self.objection = objection
    }

    /// Whether anybody wants to know.
    package var isPresent: Bool { address != nil }

    /// Tells all of it at once.
    package func tell(_ news: News...) {
        guard let address, let socket else { return }
        unsent.withLock { unsent in
            for item in news {
                unsent.removeAll { $0.isOutdone(by: item) }
                unsent.append(item)
            }
            let text = unsent.map(\.text).joined(separator: "\n")
            // A sign of life is worth nothing later.
            if socket.send(text, to: address) == nil { unsent = [] } else { unsent.removeAll { $0 == .alive } }
        }
    }
}

extension ServiceManager.News {
    /// As it stands in the datagram.
    var text: String {
        switch self {
        case .ready: "READY=1"
        // Both in one datagram: the manager takes the end of a reload by the later time.
        case .reloading(let instant): "RELOADING=1\nMONOTONIC_USEC=\(instant.nanoseconds / 1000)"
        case .stopping: "STOPPING=1"
        case .status(let line): "STATUS=\(PrintableText.of(line))"
        case .alive: "WATCHDOG=1"
        case .mainProcess(let process): "MAINPID=\(process)"
        }
    }

    /// Whether this one says nothing any more beside a later one.
    fileprivate func isOutdone(by later: Self) -> Bool {
        switch (self, later) {
        case (.ready, .ready), (.ready, .stopping), (.status, .status), (.alive, .alive), (.mainProcess, .mainProcess):
            true
        case (.reloading, .reloading), (.reloading, .stopping), (.stopping, .stopping): true
        default: false
        }
    }
}
