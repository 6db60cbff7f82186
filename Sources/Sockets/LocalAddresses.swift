internal import Glibc
internal import MediaCore

/// Lists the IPv4 addresses of the interfaces that are up, and the names of this computer.
package enum LocalAddresses {
    /// Returns the addresses, loopback first: a bind there conflicts with every socket on it or on the wildcard
    /// address.
    package static func all() -> [NetworkAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [.loopback] }
        defer { freeifaddrs(list) }
        var found = [NetworkAddress.loopback]
        var item = list
        while let current = item {
            item = current.pointee.ifa_next
            guard current.pointee.ifa_flags & UInt32(IFF_UP) != 0, let address = current.pointee.ifa_addr,
                Int32(address.pointee.sa_family) == AF_INET
            else { continue }
            let own = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                NetworkAddress(ipv4: UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
            if !found.contains(own) { found.append(own) }
        }
        return found
    }

    /// The host name; empty if unknown.
    package static var hostName: String {
        // HOST_NAME_MAX is 64 (gethostname(2)).
        var buffer = [CChar](repeating: 0, count: 65)
        guard gethostname(&buffer, 64) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Returns the names of this computer in the local network, in lower case. Reads hosts(5).
    package static func names() -> Set<String> {
        names(of: hostName, hosts: TextFile.contents("/etc/hosts", limit: 1 << 20), addresses: all())
    }

    /// Returns the names of a host: its configured name, the first label alone and with `.local`, and the names that
    /// hosts(5) configures for its addresses. Search domains do not count: DHCP sets them.
    ///
    /// - Parameters:
    ///   - hosts: The text of hosts(5).
    ///   - addresses: The addresses of the host.
    package static func names(of host: String, hosts: String, addresses: [NetworkAddress]) -> Set<String> {
        let host = host.lowercased()
        let label = host.prefix { $0 != "." }
        guard !label.isEmpty else { return [] }
        var names: Set = [host, String(label), "\(label).local"]
        for line in hosts.lowercased().split(separator: "\n") {
            let fields = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            guard let address = fields.first.flatMap({ NetworkAddress(String($0)) }),
                address.isIPv4 && address.isLoopback || addresses.contains(address)
            else { continue }
            names.formUnion(fields.dropFirst().map(String.init))
        }
        return names
    }
}
