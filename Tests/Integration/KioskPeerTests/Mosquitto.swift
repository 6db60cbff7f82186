import Glibc
import MediaCore
import TalkieTestKit

/// A real broker on loopback with a reserved port.
final class Mosquitto {
    static let program = "/usr/sbin/mosquitto"
    /// The reason why no broker can run here; nil if one can.
    static var obstacle: String? { access(program, X_OK) == 0 ? nil : "\(program) is not installed" }

    private let reserved: ReservedPort
    var port: Int { reserved.number }
    let folder: String
    private var process: ChildProcess?

    init(_ settings: String = "allow_anonymous true") throws {
        var template = Array("/tmp/tkmqtt-XXXXXX".utf8CString)
        folder = String(cString: mkdtemp(&template))
        reserved = try ReservedPort()
        try write(
            "mosquitto.conf", "listener \(port) 127.0.0.1\nuser root\n\(settings)\n".replacing("FOLDER", with: folder))
    }

    deinit {
        process?.end()
        for file in ["mosquitto.conf", "secret", "passwords", "lines"] { unlink("\(folder)/\(file)") }
        rmdir(folder)
    }

    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        let path = "\(folder)/\(name)"
        guard let file = fopen(path, "w") else { throw ValueError("cannot write \(path)") }
        fputs(text, file)
        fclose(file)
        return path
    }

    func start() throws {
        process = try ChildProcess(Self.program, ["-c", "\(folder)/mosquitto.conf"])
        let deadline = HostInstant.now.advanced(by: .seconds(10))
        while !Self.isOpen(port) {
            guard HostInstant.now < deadline else { throw ValueError("mosquitto does not start") }
            HostInstant.now.advanced(by: .milliseconds(20)).sleep()
        }
    }

    func end() {
        process?.end()
        process = nil
    }

    private static func address(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    private static func with<Result>(_ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>) -> Result)
        -> Result
    {
        withUnsafeMutablePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body) }
    }

    static func isOpen(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = address(port)
        return with(&address) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) } == 0
    }

    /// Returns a listening socket and its port, assigned by the kernel.
    static func listener() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        guard with(&address, { bind(descriptor, $0, length) }) == 0, listen(descriptor, 8) == 0,
            with(&address, { getsockname(descriptor, $0, &length) }) == 0
        else { throw ValueError("there is no free port") }
        return (descriptor, Int(in_port_t(bigEndian: address.sin_port)))
    }

    static func freePort() throws -> Int {
        let (descriptor, port) = try listener()
        close(descriptor)
        return port
    }

    // MARK: Other clients of the fleet

    /// Starts a subscriber that prints the next messages of a topic as `topic payload`.
    func watch(_ topic: String, count: Int, _ words: [String] = []) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/mosquitto_sub",
            ["-p", "\(port)", "-t", topic, "-v", "-C", "\(count)", "-W", "15"] + words, keepsOutput: true)
    }

    func send(_ topic: String, _ payload: String, _ words: [String] = []) throws {
        let sender = try ChildProcess(
            "/usr/bin/mosquitto_pub", ["-p", "\(port)", "-t", topic, "-q", "1", "-m", payload] + words)
        sender.wait()
    }

    /// Publishes each line as a message, as fast as the broker accepts them.
    func send(_ topic: String, lines: [String]) throws {
        let file = try write("lines", lines.map { $0 + "\n" }.joined())
        try ChildProcess(
            "/bin/sh", ["-c", "/usr/bin/mosquitto_pub -p \(port) -t '\(topic)' -q 1 -l < '\(file)'"]
        ).wait()
    }
}

/// Polls a condition every 10 ms; returns false on timeout.
func eventually(_ limit: Duration = .seconds(15), _ condition: () -> Bool) -> Bool {
    let deadline = HostInstant.now.advanced(by: limit)
    while !condition() {
        guard HostInstant.now < deadline else { return false }
        HostInstant.now.advanced(by: .milliseconds(10)).sleep()
    }
    return true
}
