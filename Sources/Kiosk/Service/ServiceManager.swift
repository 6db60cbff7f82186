internal import Glibc
import MediaCore
internal import Sockets

/// The service manager that started the program: systemd, or one with the same protocol (sd_notify(3)). Any thread.
///
/// Notifications neither block nor fail. Without a manager, nothing is sent. A manager that is temporarily unavailable
/// receives the last state later.
package final class ServiceManager: Sendable {
    /// The notifications, named as in sd_notify(3).
    enum Event: Sendable, Equatable {
        /// The start or the reload is complete.
        case ready
        /// The configuration is being reloaded; ends with `ready`.
        case reloading(at: HostInstant)
        case stopping
        /// One line for the user (`systemctl status`).
        case status(String)
        /// `WATCHDOG=1`; `Watchdog` schedules it.
        case alive
        /// Another process becomes the main process of the service.
        case mainProcess(Int32)
    }

    /// The variables that are read and removed.
    private static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]

    private let address: LocalSocketAddress?
    private let socket: LocalDatagramSocket?
    /// The notifications that could not be sent, the latest of each kind. Sent before later ones.
    private let unsent = Lock<[Event]>([])
    /// The watchdog timeout, after which the manager ends this process; nil without a watchdog.
    let watchdogTime: Duration?
    /// A sentence about invalid variables; nil if there are none.
    let objection: String?

    /// Reads the variables of this process and removes them, so that child processes cannot notify in its name. Must be
    /// called once, before other threads start: the environment has no lock.
    package static func readFromEnvironment() -> ServiceManager {
        var found: [String: String] = [:]
        for name in variables {
            found[name] = getenv(name).map { String(cString: $0) }
            unsetenv(name)
        }
        return ServiceManager(environment: found, process: getpid())
    }

    /// Creates a manager from environment variables.
    ///
    /// - Parameter process: The process that `WATCHDOG_PID` must name for a watchdog.
    init(environment: [String: String], process: Int32) {
        let text = environment["NOTIFY_SOCKET"] ?? ""
        address = LocalSocketAddress(text)
        socket = address == nil ? nil : LocalDatagramSocket()
        var objection: String?
        if address == nil, !text.isEmpty {
            objection =
                "NOTIFY_SOCKET is '\(PrintableText.of(text))', which is neither a path nor @name; the service manager is not notified"
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
                    "WATCHDOG_USEC is '\(PrintableText.of(text))', which is not a number of microseconds; there is no watchdog"
            }
        }
        watchdogTime = time
        self.objection = objection
    }

    /// Whether there is a service manager.
    var isPresent: Bool { address != nil }

    /// Sends all notifications in one datagram. Never blocks.
    func notify(_ event: Event...) {
        guard let address, let socket else { return }
        unsent.withLock { unsent in
            for item in event {
                unsent.removeAll { $0.isOutdone(by: item) }
                unsent.append(item)
            }
            let text = unsent.map(\.text).joined(separator: "\n")
            // A watchdog notification is useless later.
            if socket.send(text, to: address) == nil { unsent = [] } else { unsent.removeAll { $0 == .alive } }
        }
    }
}

extension ServiceManager.Event {
    /// The text of the datagram.
    var text: String {
        switch self {
        case .ready: "READY=1"
        // Both in one datagram: the manager determines the end of a reload by the later time.
        case .reloading(let instant): "RELOADING=1\nMONOTONIC_USEC=\(instant.nanoseconds / 1000)"
        case .stopping: "STOPPING=1"
        case .status(let line): "STATUS=\(PrintableText.of(line))"
        case .alive: "WATCHDOG=1"
        case .mainProcess(let process): "MAINPID=\(process)"
        }
    }

    /// Returns true if a later notification makes this one obsolete.
    fileprivate func isOutdone(by later: Self) -> Bool {
        switch (self, later) {
        case (.ready, .ready), (.ready, .stopping), (.status, .status), (.alive, .alive), (.mainProcess, .mainProcess):
            true
        case (.reloading, .reloading), (.reloading, .stopping), (.stopping, .stopping): true
        default: false
        }
    }
}
