internal import Glibc

/// Lists the IPv4 addresses of the interfaces that are up.
package enum LocalAddresses {
    /// Returns the addresses, loopback first: a bind there conflicts with every socket on it or on the wildcard
    /// address.
    package static func all() -> [IPv4Address] {
        let loopback = IPv4Address(rawValue: 0x7F00_0001)
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [loopback] }
        defer { freeifaddrs(list) }
        var found = [loopback]
        var item = list
        while let current = item {
            item = current.pointee.ifa_next
            guard current.pointee.ifa_flags & UInt32(IFF_UP) != 0, let address = current.pointee.ifa_addr,
                Int32(address.pointee.sa_family) == AF_INET
            else { continue }
            let own = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { IPv4Address($0.pointee) }
            if !found.contains(own) { found.append(own) }
        }
        return found
    }
}
