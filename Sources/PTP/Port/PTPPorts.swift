/// Asks whether this computer can take part in PTP, without doing so.
package enum PTPPorts {
    /// Binds both ports on a local address and lets them go again.
    ///
    /// - Throws: `PTPError` that says why not and what to do.
    package static func check(
        on address: IPv4Address, eventPort: UInt16 = 319, generalPort: UInt16 = 320
    ) throws(PTPError) {
        _ = try PTPSocket(address: address, port: eventPort)
        _ = try PTPSocket(address: address, port: generalPort)
    }
}
