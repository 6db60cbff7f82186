internal import Glibc
internal import MediaCore

/// The file of the current cover, which only its owner can read: clients open it by its address. Used by one thread.
final class MPRISArtworkFile {
    /// The maximum size in bytes.
    private static let maxBytes = 8 << 20

    private let folder: String?
    private var path: String?
    private var count = 0

    /// - Parameter folder: The folder; by default XDG_RUNTIME_DIR, which is in memory and private (XDG Base Directory
    ///   Specification). Nil: there is no file.
    init(folder: String? = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }) {
        self.folder = folder.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    deinit { remove() }

    private func remove() {
        if let path { unlink(path) }
        path = nil
    }

    /// Replaces the file by another image; nil removes it.
    ///
    /// - Returns: The URL of the file; nil if there is none, because the image is too large or cannot be written.
    func replace(by image: [UInt8]?) -> String? {
        remove()
        guard let folder, let image, !image.isEmpty, image.count <= Self.maxBytes else { return nil }
        count += 1
        // Another name for each cover: clients keep what they have read from an address.
        let path = "\(folder)/talkie-cover-\(getpid())-\(count)"
        // A file or link of the same name is from a process that was killed.
        unlink(path)
        let descriptor = PrivateFile.create(path, O_EXCL | O_WRONLY | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        self.path = path
        guard CompleteWrite.write(image, to: descriptor) == nil else {
            remove()
            return nil
        }
        return MPRISState.fileURL(path)
    }
}
