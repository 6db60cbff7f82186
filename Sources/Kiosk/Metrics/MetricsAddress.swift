import MediaCore
import Sockets

/// The address of this computer and the port at which health is served.
struct MetricsAddress: Sendable, Hashable, CustomStringConvertible {
    var address: IPv4Address
    var port: UInt16

    /// Accessible from this computer only.
    static let standard = MetricsAddress(address: IPv4Address(rawValue: 0x7F00_0001), port: 9595)

    init(address: IPv4Address, port: UInt16) { (self.address, self.port) = (address, port) }

    /// Parses `127.0.0.1:9595`.
    init(parsing text: String) throws(ValueError) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = IPv4Address(String(parts[0])), let port = DecimalNumber.whole(parts[1]),
            (1...65535).contains(port)
        else { throw ValueError("an address with a port looks like \"127.0.0.1:9595\"") }
        self.init(address: address, port: UInt16(port))
    }

    package var description: String { "\(address):\(port)" }
}
