internal import Glibc
internal import MediaCore

/// Collects lines and writes them to a descriptor in large pieces. Used by one thread; allocates once.
struct LineBuffer {
    /// A piece that one write(2) hands to the kernel.
    static let capacity = 64 * 1024

    private var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(Self.capacity * 2) }

    var isEmpty: Bool { bytes.isEmpty }
    /// Time to write: another line may exceed the capacity.
    var isFull: Bool { bytes.count >= Self.capacity - 4096 }

    /// Adds what `body` writes as one line.
    mutating func line(_ body: (inout JSONLine) -> Void) {
        var line = JSONLine(bytes: bytes)
        // The line works on the only copy of the storage, so nothing is duplicated.
        bytes = []
        body(&line)
        bytes = line.finish()
    }

    /// Writes everything out. On failure the rest is dropped and the errno value returned.
    mutating func flush(to descriptor: Int32) -> Int32? {
        defer { bytes.removeAll(keepingCapacity: true) }
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + offset, $0.count - offset) }
            if count > 0 {
                offset += count
            } else if count == 0 {
                return ENOSPC
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}
