package import MediaCore
package import Sockets

/// An address of this computer and a port at which a server listens.
package struct HTTPAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address, of IPv4; 0.0.0.0: all of this computer.
    package var address: NetworkAddress
    /// The port; 0: chosen by the system.
    package var port: UInt16

    package init(address: NetworkAddress, port: UInt16) { (self.address, self.port) = (address, port) }

    /// Parses `127.0.0.1:9595`.
    package init(parsing text: String) throws(ValueError) {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 2, let address = NetworkAddress(String(fields[0])), address.isIPv4,
            let port = DecimalNumber.integer(fields[1]),
            (1...65535).contains(port)
        else { throw ValueError("an address with a port looks like \"127.0.0.1:9595\"") }
        self.init(address: address, port: UInt16(port))
    }

    package var description: String { "\(address):\(port)" }
}
