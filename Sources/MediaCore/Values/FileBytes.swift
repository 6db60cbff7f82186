internal import CShim
internal import Glibc

/// Opens and reads files of which only the complete contents count.
package enum FileBytes {
    /// A failed call, as an errno value.
    package struct Failure: Error { package var code: Int32 }
    /// Replaces read(2) in tests.
    package typealias Read = (Int32, UnsafeMutableRawPointer, Int) -> Int

    /// Opens a regular file for reading. Blocks on the disk only: neither is a FIFO waited for nor a device opened.
    /// What was checked is what is read, even if the path names another file meanwhile.
    ///
    /// - Returns: A descriptor, or -1 with errno set: EISDIR for a folder, ENOTSUP for another kind of file.
    package static func openRegular(_ path: String) -> Int32 { cshim_open_regular(path.systemPath) }

    /// Reads up to the end of a file or to a limit.
    ///
    /// - Throws: The error of a read, also after some bytes: a part is not the file.
    package static func read(
        _ descriptor: Int32, maxBytes: Int, by read: Read? = nil
    ) throws(Failure) -> [UInt8] {
        let read = read ?? { Glibc.read($0, $1, $2) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: min(maxBytes, 65_536)))
        while bytes.count < maxBytes {
            let wanted = min(piece.count, maxBytes - bytes.count)
            let count = piece.withUnsafeMutableBytes { read(descriptor, $0.baseAddress!, wanted) }
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw Failure(code: errno) }
            if count == 0 { break }
            bytes += piece[..<count]
        }
        return bytes
    }

    /// Returns the first bytes of a regular file.
    ///
    /// - Throws: The error of opening or reading it.
    package static func readRegular(_ path: String, maxBytes: Int) throws(Failure) -> [UInt8] {
        let descriptor = openRegular(path)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        defer { close(descriptor) }
        return try read(descriptor, maxBytes: maxBytes)
    }
}
