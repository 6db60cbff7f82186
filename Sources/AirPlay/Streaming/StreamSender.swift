internal import AirPlayTransport
internal import AirPlayWire
internal import MediaCore
internal import PTP
internal import Sockets

/// Starts the sending thread of a stream that the speaker has accepted.
struct StreamSender {
    let format: StreamFormat
    let store: PacketStore
    let key: SecretBytes
    let counters: StreamCounters
    /// Called on the sending thread once there is space again.
    let onWritable: @Sendable () -> Void

    /// Connects to the data port of a buffered stream.
    ///
    /// - Parameter ended: Called when the speaker closes the stream.
    func buffered(
        to remote: NetworkAddress, _ setup: StreamSetup, connectTimeout: Duration, ended: @escaping @Sendable () -> Void
    ) throws(AirPlayError) -> BufferedWriter {
        let socket = try TCPSocket.speaker(
            at: remote, port: setup.dataPort, deadline: .now.advanced(by: connectTimeout))
        socket.setPersistence(.audio)
        do {
            return try BufferedWriter(
                socket: socket, key: key, format: format, counters: counters, store: store, onWritable: onWritable,
                ended: ended)
        } catch {
            throw AirPlayError(error)
        }
    }

    /// Opens the data socket of a realtime stream.
    ///
    /// - Parameters:
    ///   - control: The socket for sync packets and retransmit requests.
    ///   - source: The synchronization source.
    ///   - clock: Returns the timeline of the speaker; nil while unknown.
    func realtime(
        to remote: NetworkAddress, _ setup: StreamSetup, from local: NetworkAddress, control: DatagramSocket,
        source: UInt32, host: any HostClock, clock: @escaping @Sendable () -> PTPTimeline?
    ) throws(AirPlayError) -> RealtimeSender {
        guard let controlPort = setup.controlPort, controlPort != 0 else {
            throw AirPlayError(.protocolViolation, "The speaker did not specify a timing port.")
        }
        // Send-only: nothing is received on this socket.
        let data: DatagramSocket
        do { data = try PTPPorts.open(local, 0) } catch { throw AirPlayError(.unreachable, error.message) }
        let ends = RealtimeSender.Ends(
            control: control, data: data, remote: remote, dataPort: setup.dataPort, controlPort: controlPort)
        do {
            return try RealtimeSender(
                ends: ends,
                packetizer: RealtimePacketizer(
                    key: key, source: source, firstSequence: UInt16(truncatingIfNeeded: counters.sequence),
                    firstNonce: counters.nonce),
                format: format, depth: RealtimeSender.depth(arrivalToRender: setup.arrivalToRender), store: store,
                host: host, clock: clock, onWritable: onWritable)
        } catch {
            throw AirPlayError(error)
        }
    }
}
