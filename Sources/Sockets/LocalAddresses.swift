internal import Glibc

/// The IPv4 addresses of this computer's interfaces that are up.
package enum LocalAddresses {
    /// The loopback address first: it conflicts with every other holder there or on the wildcard.
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
