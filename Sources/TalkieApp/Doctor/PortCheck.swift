internal import AirPlay
internal import Glibc
internal import MediaCore
internal import PTP
internal import Sockets

/// Checks whether the PTP ports can be bound, which are privileged (IEEE 1588-2008, Annex D.2).
enum PortCheck {
    static func findings() -> [Finding] {
        findings(
            on: LocalAddresses.all() + addresses(in: TextFile.contents("/proc/net/if_inet6", limit: 1 << 20)),
            check: { (address) throws(PTPError) in try PTPPorts.check(on: address) },
            holder: { PortHolder.name(ofUDP: 319) ?? PortHolder.name(ofUDP: 320) })
    }

    /// Returns the IPv6 addresses of the kernel's table, whose columns are address, interface, prefix length, scope,
    /// flags and name, in hexadecimal. Those not verified as unique cannot be bound (RFC 4862, section 5.4).
    static func addresses(in table: String) -> [NetworkAddress] {
        table.split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count == 6, columns[0].utf8.count == 32, let interface = UInt32(columns[1], radix: 16),
                let flags = UInt32(columns[4], radix: 16), flags & (tentative | duplicate) == 0
            else { return nil }
            let digits = columns[0].compactMap { UInt8(String($0), radix: 16) }
            guard digits.count == 32 else { return nil }
            return NetworkAddress(
                bytes: stride(from: 0, to: 32, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }, scope: interface)
        }
    }

    /// IFA_F_TENTATIVE and IFA_F_DADFAILED of the kernel's `if_addr.h`.
    private static let tentative: UInt32 = 0x40
    private static let duplicate: UInt32 = 0x08

    /// Returns one finding: that of the first address whose ports cannot be bound, otherwise success.
    ///
    /// - Parameters:
    ///   - check: Binds the ports on an address and releases them.
    ///   - holder: Returns the program that holds them, if known.
    static func findings(
        on addresses: [NetworkAddress], check: (NetworkAddress) throws(PTPError) -> Void, holder: () -> String?
    ) -> [Finding] {
        for address in addresses {
            do throws(PTPError) {
                try check(address)
            } catch {
                return [finding(error, on: address, holder: holder)]
            }
        }
        return [Finding("PTP ports", .good, "UDP 319 and 320 can be bound: time can be served to speakers")]
    }

    private static func finding(_ error: PTPError, on address: NetworkAddress, holder: () -> String?) -> Finding {
        switch error.code {
        case .notPermitted:
            Finding(
                "PTP ports", .missing, "UDP 319 and 320 may not be bound: speakers that need PTP cannot be used",
                remedy: PTPPorts.remedies.joined(separator: "; or: "))
        case .portsBusy:
            Finding(
                "PTP ports", .missing,
                "\(holder() ?? "another program") holds UDP 319 or 320 on \(address): "
                    + "speakers that need PTP cannot be used from there",
                remedy: "end that program; sudo ss -ulpn '( sport = :319 or sport = :320 )' shows it")
        default:
            Finding("PTP ports", .missing, error.message, remedy: "check the network of this machine")
        }
    }
}
