package import MediaCore
internal import Remote
internal import Sockets

/// The address of the page for remote control, as given with `--remote`: `ADDRESS` or `ADDRESS:PORT`.
package struct RemoteArgument: Sendable, Hashable {
    /// All addresses of this computer.
    package static let standard = RemoteArgument(RemotePageLink.standardAddress)

    let address: HTTPAddress

    private init(_ address: HTTPAddress) { self.address = address }

    /// Parses an address.
    package init(parsing text: String) throws(ValueError) {
        if let address = NetworkAddress(text), address.isIPv4 {
            self.init(HTTPAddress(address: address, port: Self.standard.address.port))
            return
        }
        do throws(ValueError) { self.init(try HTTPAddress(parsing: text)) } catch {
            throw ValueError("the page needs an IPv4 address of this computer, 192.168.1.10 or 192.168.1.10:9596")
        }
    }

    /// The address as an argument.
    package var text: String { address.description }
}
