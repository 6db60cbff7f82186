internal import CCrash
internal import Glibc
internal import MediaCore
internal import Storage

/// How a process of a kiosk ended, in a file that is mapped into memory: a signal handler can store there.
///
/// A process that is killed leaves no mark, and one that ends with the computer leaves the identifier of an earlier
/// boot. `@unchecked Sendable`: `page` is constant; the mark is one byte.
final class CrashMark: @unchecked Sendable {
    /// The length of the file: the identifier of the boot, which has 36 bytes, zeros, and the mark.
    private static let size = 64
    private static let offset = size - 1
    /// The mark of an end that a repair has caused; others are numbers of signals.
    private static let fault: UInt8 = 255

    private let page: UnsafeMutableRawPointer

    /// Returns true if the previous process ended by its own fault since the computer started. Blocks on the disk.
    static func wasCrash(_ name: String, in folder: StateFolder) -> Bool {
        // ignored: without the file nothing is blamed.
        guard let bytes = (try? folder.read(name)) ?? nil, bytes.count == size else { return false }
        return bytes[offset] != 0 && bytes.starts(with: boot)
    }

    /// Replaces the file and maps it; nil if that fails.
    init?(_ name: String, in folder: StateFolder) {
        let empty = Self.boot + [UInt8](repeating: 0, count: Self.size - Self.boot.count)
        // ignored: `KioskResumePositions` writes to the same folder and reports a disk that cannot be written.
        guard (try? folder.write(name, empty, syncsFolder: false)) != nil else { return nil }
        let descriptor = open("\(folder.path)/\(name)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let page = mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), page != MAP_FAILED
        else { return nil }
        self.page = page
    }

    private var mark: UnsafeMutablePointer<UInt8> { (page + Self.offset).assumingMemoryBound(to: UInt8.self) }

    /// Marks the end of this process if a signal of its own causes it.
    func markSignals() { ccrash_mark(mark) }

    /// Marks the end of this process as a fault.
    func markFault() { mark.pointee = Self.fault }

    deinit {
        ccrash_unmark(mark)
        munmap(page, Self.size)
    }

    /// The identifier of the boot (proc_sys_kernel(5), random/boot_id), of at most `offset` bytes.
    private static let boot: [UInt8] = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        // ignored: without /proc all ends count as those of one boot.
        return Array(((try? FileBytes.read(descriptor, maxBytes: 36)) ?? []).prefix(36))
    }()
}
